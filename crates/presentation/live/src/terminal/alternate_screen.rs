//! The terminal's other screen. The only place of this crate that writes to it.
//!
//! It is on standard error, which is for everything but results: `howlate … --live > result.txt` works. It is given back when this is
//! dropped, in a panic, and before the program is stopped; what ends the process at once comes only after the first request to end,
//! at which it has been given back already.

use std::io::{self, BufWriter, Stderr, Write};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::backend::CrosstermBackend;
use ratatui::{Frame, Terminal};

use super::signals::Signals;

/// Whether the terminal is in our hands, for whoever has to give it back without having this at hand.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();
/// Bytes of a large screen with its styles.
const ONE_SCREEN: usize = 64 << 10;

/// The terminal's other screen.
pub(crate) struct AlternateScreen {
    /// What is painted is written at once, so that nobody sees half of it.
    terminal: Terminal<CrosstermBackend<BufWriter<Stderr>>>,
    signals: Signals,
}

impl AlternateScreen {
    /// Takes the terminal.
    pub(crate) fn enter() -> io::Result<Self> {
        give_back_in_a_panic();
        let signals = Signals::listen()?;
        take()?;
        match Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(ONE_SCREEN, io::stderr()))) {
            Ok(terminal) => Ok(Self { terminal, signals }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Shows what `paint` paints.
    pub(crate) fn draw(&mut self, paint: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(paint).map(drop)
    }

    /// Stops where that was asked for, takes the terminal again where it was somebody else's meanwhile.
    pub(crate) fn heed_signals(&mut self) -> io::Result<()> {
        if self.signals.is_to_stop() {
            give_back();
            Signals::stop();
        } else if !self.signals.has_gone_on() {
            return Ok(());
        }
        // Going on after a stop of our own is told as well.
        self.signals.has_gone_on();
        take()?;
        self.terminal.clear()
    }

    /// Stops the whole job as the terminal does at Ctrl-Z.
    pub(crate) fn stop_the_job() {
        Signals::stop_the_job();
    }

    /// Gives the terminal back, with what `paint` paints left standing above what is printed next.
    pub(crate) fn leave_standing(mut self, paint: impl FnOnce(&mut Frame<'_>)) {
        let shown = self.terminal.draw(paint).map(|frame| text_of(frame.buffer));
        drop(self);
        // Nobody is left to see it when the terminal is gone.
        drop(shown.and_then(|shown| io::stderr().lock().write_all(shown.as_bytes())));
    }
}

impl Drop for AlternateScreen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    IS_TAKEN.store(true, Ordering::SeqCst);
    execute!(io::stderr(), EnterAlternateScreen, EnableMouseCapture, Hide).inspect_err(|_| give_back())
}

/// Once, whoever comes first.
fn give_back() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        // There is nobody to tell when the terminal is gone.
        drop(execute!(io::stderr(), DisableMouseCapture, LeaveAlternateScreen, Show));
        drop(disable_raw_mode());
    }
}

/// What panics is to be read on the screen that stays.
fn give_back_in_a_panic() {
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            give_back();
            before(info);
        }));
    });
}

/// The cells as lines, without styles, and without what is empty at their ends and below.
fn text_of(cells: &ratatui::buffer::Buffer) -> String {
    let columns = usize::from(cells.area.width.max(1));
    let line = |cells: &[ratatui::buffer::Cell]| {
        let text: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
        text.trim_end().to_owned()
    };
    let lines: Vec<String> = cells.content.chunks(columns).map(line).collect();
    format!("{}\n", lines.join("\n").trim_end())
}
