//! The alternate screen of the terminal. Nothing else in this crate writes to the terminal.
//!
//! It is on standard error, so that `howlate … --live > result.txt` works. The terminal is restored on drop, in a panic, and before the
//! process is suspended. The first signal to end restores it too; only the second kills the process at once.

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

use super::signals::JobControl;

/// Whether the terminal is in raw mode on its alternate screen. Global for the panic hook.
static IS_ACTIVE: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();
/// Buffer size in bytes: a large screen with its styles.
const BUFFER_BYTES: usize = 64 << 10;

pub(crate) struct AlternateScreen {
    /// Buffered, so that a frame is written at once.
    terminal: Terminal<CrosstermBackend<BufWriter<Stderr>>>,
    signals: JobControl,
}

impl AlternateScreen {
    /// Switches to the alternate screen.
    pub(crate) fn enter() -> io::Result<Self> {
        install_panic_hook();
        let signals = JobControl::listen()?;
        enter_raw_mode()?;
        match Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(BUFFER_BYTES, io::stderr()))) {
            Ok(terminal) => Ok(Self { terminal, signals }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    pub(crate) fn draw(&mut self, paint: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(paint).map(drop)
    }

    /// Suspends the process after SIGTSTP; takes the terminal again after SIGCONT.
    pub(crate) fn handle_signals(&mut self) -> io::Result<()> {
        if self.signals.take_stop() {
            restore();
            JobControl::stop();
        } else if !self.signals.take_continue() {
            return Ok(());
        }
        // SIGCONT after the own stop is recorded as well.
        self.signals.take_continue();
        enter_raw_mode()?;
        self.terminal.clear()
    }

    /// Suspends the whole process group, as the terminal does on Ctrl-Z.
    pub(crate) fn suspend_process_group() {
        JobControl::suspend_process_group();
    }

    /// Restores the terminal and prints the final screen as text.
    pub(crate) fn leave_with_text(mut self, paint: impl FnOnce(&mut Frame<'_>)) {
        let text = self.terminal.draw(paint).map(|frame| buffer_text(frame.buffer));
        drop(self);
        // Fails where the terminal is gone.
        drop(text.and_then(|text| io::stderr().lock().write_all(text.as_bytes())));
    }
}

impl Drop for AlternateScreen {
    fn drop(&mut self) {
        restore();
    }
}

fn enter_raw_mode() -> io::Result<()> {
    enable_raw_mode()?;
    IS_ACTIVE.store(true, Ordering::SeqCst);
    execute!(io::stderr(), EnterAlternateScreen, EnableMouseCapture, Hide).inspect_err(|_| restore())
}

/// Only the first call has an effect.
fn restore() {
    if IS_ACTIVE.swap(false, Ordering::SeqCst) {
        // Fails where the terminal is gone.
        drop(execute!(io::stderr(), DisableMouseCapture, LeaveAlternateScreen, Show));
        drop(disable_raw_mode());
    }
}

/// Panic messages must be printed on the normal screen.
fn install_panic_hook() {
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            previous(info);
        }));
    });
}

/// The cells as lines without styles, trailing spaces and empty lines at the end.
fn buffer_text(cells: &ratatui::buffer::Buffer) -> String {
    let columns = usize::from(cells.area.width.max(1));
    let line = |cells: &[ratatui::buffer::Cell]| {
        let text: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
        text.trim_end().to_owned()
    };
    let lines: Vec<String> = cells.content.chunks(columns).map(line).collect();
    format!("{}\n", lines.join("\n").trim_end())
}
