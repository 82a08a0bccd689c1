//! Standard output and standard error. Only this file prints.

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

/// Greatest width of tables and pictures.
const MAX_WIDTH: usize = 300;
/// Width without a terminal.
const DEFAULT_WIDTH: usize = 100;

pub(crate) fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Prints a result on standard output; without styles where that is not a terminal.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(shown(text).as_bytes())?;
    out.flush()
}

/// Prints help, or the parser's error.
pub(crate) fn print_usage(error: &clap::Error) -> ExitCode {
    let text = error.render().ansi().to_string();
    match error.use_stderr() {
        true => eprint_wrapped(&text),
        // Fails where standard output is closed.
        false => drop(print(&text)),
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Prints a result as text or as JSON.
pub(crate) fn print_or_json(text: &str, is_json: bool) -> io::Result<()> {
    if is_json { print_as_is(&legible_json(text)) } else { print(text) }
}

/// Prints on standard output unchanged, including escape sequences: for programs.
pub(crate) fn print_as_is(text: &str) -> io::Result<()> {
    print_bytes(text.as_bytes())
}

pub(crate) fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Standard output as a stream for the log of a pod.
pub(crate) fn log() -> impl Write {
    io::stdout().lock()
}

/// Prints on standard error: everything that is not a result.
pub(crate) fn eprint(text: &str) {
    // Fails where standard error is closed.
    drop(anstream::stderr().lock().write_all(shown(text).as_bytes()));
}

/// Copies a whole file to standard error, unchanged.
pub(crate) fn eprint_file(mut file: File) {
    let copied = file.rewind().and_then(|()| io::copy(&mut file, &mut io::stderr().lock()));
    // Fails where standard error is closed.
    drop(copied);
}

/// Prints sentences on standard error, wrapped to the width of the terminal. Commands to copy go through `eprint`, as one line.
pub(crate) fn eprint_wrapped(text: &str) {
    eprint(&columns_for_errors().map_or_else(|| text.to_owned(), |columns| broken(text, columns)));
}

/// Whether progress can be shown: standard error is a terminal that moves its cursor.
pub(crate) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Columns of output: `COLUMNS`, the terminal's width, or the default.
pub(crate) fn width() -> usize {
    let from_environment = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
    from_environment
        .or_else(terminal)
        .filter(|columns| *columns > 0)
        .unwrap_or(DEFAULT_WIDTH)
        .clamp(40, MAX_WIDTH)
}

/// Width of the terminal on standard error.
fn columns_for_errors() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Lines of the terminal on standard error.
pub(crate) fn height() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    Some(usize::from(size.ws_row)).filter(|rows| *rows > 0)
}

/// Prints control sequences unfiltered.
fn eprint_control(text: &str) {
    drop(anstream::stderr().lock().write_all(text.as_bytes()));
}

/// Text on standard error that is replaced in place.
#[derive(Default)]
pub(crate) struct InPlace {
    lines: usize,
}

/// Display of progress in place, where standard error is a terminal.
pub(crate) fn screen(quiet: bool) -> Option<Box<dyn Screen>> {
    (!quiet && stderr_is_terminal()).then(|| Box::new(InPlace::default()) as Box<dyn Screen>)
}

/// The live view, or progress in place where it was not requested or cannot be shown. Keys of the live view set the interrupt flag of
/// `environment`, and `timeline`, where the activity of all CPUs is recorded.
pub(crate) fn display(
    is_live: bool,
    quiet: bool,
    environment: &Environment,
    timeline: Option<Arc<AtomicBool>>,
) -> Option<Box<dyn Screen>> {
    if is_live {
        match LiveRun::begin(&environment.interrupted) {
            Ok(live) => return Some(Box::new(live.with_timelines(timeline))),
            Err(error) => eprint_wrapped(&format!("No live view: {error}.\n")),
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
    /// Replaces the last text. Lines beyond the terminal's height are cut, since they could not be replaced, and lines are not wrapped.
    pub(crate) fn show(&mut self, text: &str) {
        let room = height().map_or(usize::MAX, |rows| rows.saturating_sub(1).max(1));
        let text = text.trim_end().lines().take(room).collect::<Vec<_>>().join("\n");
        eprint_control(&replacement(&shown(&text), self.lines));
        self.lines = text.lines().count();
    }

    pub(crate) fn clear(&mut self) {
        if self.lines > 0 {
            eprint_control(&format!("{}\x1b[A", replacement("", self.lines)));
            self.lines = 0;
        }
    }
}
