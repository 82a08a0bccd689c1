//! Standard output and standard error. The only place that prints.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, IsTerminal, Seek, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anstyle::{AnsiColor, Style};
use howlate_live::LiveRun;
use howlate_render::{Screen, broken, legible_json, replacement, shown};
use howlate_session::Environment;

pub(crate) const ERROR: Style = AnsiColor::Red.on_default();
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default();

/// Tables and pictures gain nothing from more; sentences end sooner.
const WIDEST: usize = 300;
/// Where there is no terminal to ask.
const USUAL: usize = 100;

/// `text` in `style`.
pub(crate) fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Prints a result on standard output, without styles where it is no terminal.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(shown(text).as_bytes())?;
    out.flush()
}

/// Help, or what is wrong with a command line, as the parser words it.
pub(crate) fn explain(refused: &clap::Error) -> ExitCode {
    let text = refused.render().ansi().to_string();
    match refused.use_stderr() {
        true => tell(&text),
        // Nobody is left to be helped when standard output is gone.
        false => drop(print(&text)),
    }
    u8::try_from(refused.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Prints a result for people, or JSON if it is that.
pub(crate) fn print_or_json(text: &str, is_json: bool) -> io::Result<()> {
    if is_json { print_as_is(&legible_json(text)) } else { print(text) }
}

/// Prints on standard output exactly what is given, escape sequences too, for programs that read them.
pub(crate) fn print_as_is(text: &str) -> io::Result<()> {
    print_bytes(text.as_bytes())
}

/// Prints what need not be text, for programs.
pub(crate) fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Standard output for what is neither text nor for people: the log of a pod.
pub(crate) fn log() -> impl Write {
    io::stdout().lock()
}

/// Says something on standard error, which is for everything but results.
pub(crate) fn say(text: &str) {
    // Nobody is left to be told when standard error is gone.
    drop(anstream::stderr().lock().write_all(shown(text).as_bytes()));
}

/// Says all that is in a file, as it was written there.
pub(crate) fn say_all(mut file: File) {
    let copied = file.rewind().and_then(|()| io::copy(&mut file, &mut io::stderr().lock()));
    // Nobody is left to be told when standard error is gone.
    drop(copied);
}

/// The same for sentences, in lines that fit the terminal if there is one. What is to be typed is said as one line instead,
/// so that it can be copied.
pub(crate) fn tell(text: &str) {
    say(&columns_for_errors().map_or_else(|| text.to_owned(), |columns| broken(text, columns)));
}

/// Whether somebody watches standard error.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether standard output is a terminal.
pub(crate) fn shows_results() -> bool {
    io::stdout().is_terminal()
}

/// Columns to fill.
pub(crate) fn width() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
    asked.or_else(terminal).filter(|columns| *columns > 0).unwrap_or(USUAL).clamp(40, WIDEST)
}

/// Columns that errors have room for, where a terminal shows them.
fn columns_for_errors() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Lines that a terminal has room for; `None` where there is none to ask.
pub(crate) fn height() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    Some(usize::from(size.ws_row)).filter(|rows| *rows > 0)
}

/// Says what moves the cursor.
fn move_and_say(text: &str) {
    drop(anstream::stderr().lock().write_all(text.as_bytes()));
}

/// Text that is replaced in place, on standard error.
#[derive(Default)]
pub(crate) struct InPlace {
    lines: usize,
}

/// Where progress is shown, if somebody watches and wants it.
pub(crate) fn screen(quiet: bool) -> Option<Box<dyn Screen>> {
    (!quiet && is_watched()).then(|| Box::new(InPlace::default()) as Box<dyn Screen>)
}

/// The same, on the whole screen where that is wanted and can be: a key there ends the run as Ctrl-C does.
///
/// Another key sets `timeline`, where what all CPUs have done is remembered.
pub(crate) fn display(
    is_live: bool,
    quiet: bool,
    environment: &Environment,
    timeline: Option<Arc<AtomicBool>>,
) -> Option<Box<dyn Screen>> {
    if is_live {
        match LiveRun::begin(&environment.interrupted) {
            Ok(live) => return Some(Box::new(live.with_timelines(timeline))),
            Err(why) => tell(&format!("No live view: {why}.\n")),
        }
    }
    screen(quiet)
}

impl Screen for InPlace {
    fn show(&mut self, text: &str) {
        self.show(text);
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn width(&self) -> usize {
        width()
    }
}

impl InPlace {
    /// Shows `text` where the last one was, as far as there is room: what scrolls away cannot be replaced. Lines are
    /// not wrapped, so that each stays one line.
    pub(crate) fn show(&mut self, text: &str) {
        let room = height().map_or(usize::MAX, |rows| rows.saturating_sub(1).max(1));
        let text = text.trim_end().lines().take(room).collect::<Vec<_>>().join("\n");
        move_and_say(&replacement(&shown(&text), self.lines));
        self.lines = text.lines().count();
    }

    /// Removes the text.
    pub(crate) fn clear(&mut self) {
        if self.lines > 0 {
            move_and_say(&format!("{}\x1b[A", replacement("", self.lines)));
            self.lines = 0;
        }
    }
}
