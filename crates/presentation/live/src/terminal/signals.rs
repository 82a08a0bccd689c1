//! Job control: SIGTSTP (Ctrl-Z) and SIGCONT (`fg`).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::SigId;
use signal_hook::consts::{SIGCONT, SIGTSTP};
use signal_hook::flag::register;
use signal_hook::low_level::{emulate_default_handler, unregister};

/// Records both signals, so that the terminal can be restored before the process stops.
#[derive(Debug)]
pub(crate) struct JobControl {
    stop: Arc<AtomicBool>,
    continued: Arc<AtomicBool>,
    registered: Vec<SigId>,
}

impl JobControl {
    pub(crate) fn listen() -> io::Result<Self> {
        let mut signals =
            Self { stop: Arc::default(), continued: Arc::default(), registered: Vec::with_capacity(2) };
        signals.registered.push(register(SIGTSTP, Arc::clone(&signals.stop))?);
        signals.registered.push(register(SIGCONT, Arc::clone(&signals.continued))?);
        Ok(signals)
    }

    /// Ctrl-Z in raw mode is an ordinary key: stops the whole process group, as the terminal would.
    pub(crate) fn suspend_process_group() {
        let _no_group = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
    }

    /// Whether SIGTSTP has come since the last call.
    pub(crate) fn take_stop(&self) -> bool {
        self.stop.swap(false, Ordering::Relaxed)
    }

    /// Stops the process until SIGCONT.
    pub(crate) fn stop() {
        drop(emulate_default_handler(SIGTSTP));
    }

    /// Whether SIGCONT has come since the last call: another program may have changed the terminal's state.
    pub(crate) fn take_continue(&self) -> bool {
        self.continued.swap(false, Ordering::Relaxed)
    }
}

impl Drop for JobControl {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            unregister(id);
        }
    }
}
