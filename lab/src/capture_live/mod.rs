//! `cargo xtask capture-live FILE.svg`: four captures of the live view, as it is on this machine now, side by side.

mod picture;
mod styled;

use std::io;
use std::path::Path;
use std::process::Command;

use howlate_linux::clock;
use howlate_model::Span;

use crate::bench::{built, output};
use picture::Capture;

const COLUMNS: u16 = 100;
const ROWS: u16 = 26;

/// A screen to capture: the command, the time until the capture, the keys to press before, and the caption.
struct Shot {
    arguments: &'static str,
    after: Span,
    keys: &'static [&'static str],
}

const CYCLIC: &str = "cyclic --policy other,fifo:80 --load cpu --why --live --no-save --duration 12s";

const SHOTS: [Shot; 4] = [
    Shot { arguments: CYCLIC, after: Span::from_secs(30), keys: &[] },
    Shot { arguments: CYCLIC, after: Span::from_secs(40), keys: &["Enter"] },
    Shot { arguments: "top", after: Span::from_secs(14), keys: &["j", "j"] },
    Shot { arguments: "top --by culprit", after: Span::from_secs(8), keys: &[] },
];

/// Captures the screens and writes the picture.
pub fn capture(file: &Path) -> io::Result<()> {
    let howlate = built()?;
    let captures: Vec<Capture> = SHOTS.iter().map(|shot| take(&howlate, shot)).collect::<io::Result<_>>()?;
    std::fs::write(file, picture::svg(&captures, [COLUMNS, ROWS]))
}

fn take(howlate: &Path, shot: &Shot) -> io::Result<Capture> {
    let socket = format!("howlate-capture-{}", std::process::id());
    let tmux = |arguments: &[&str]| output(Command::new("tmux").args(["-L", &socket]).args(arguments));
    let (columns, rows) = (COLUMNS.to_string(), ROWS.to_string());
    let command = format!("exec {} {}", howlate.display(), shot.arguments);
    tmux(&["-f", "/dev/null", "new-session", "-d", "-s", "it", "-x", &columns, "-y", &rows, &command])?;
    drop(clock::sleep_for(shot.after));
    for key in shot.keys {
        tmux(&["send-keys", "-t", "it", key])?;
        drop(clock::sleep_for(Span::from_millis(500)));
    }
    let screen = tmux(&["capture-pane", "-e", "-p", "-t", "it"])?;
    tmux(&["kill-server"])?;
    let text = String::from_utf8_lossy(&screen.stdout).into_owned();
    Ok(Capture {
        arguments: shot.arguments.replace(" --no-save --duration 12s", ""),
        lines: styled::lines(&text),
    })
}
