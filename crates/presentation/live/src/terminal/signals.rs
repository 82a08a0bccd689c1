//! Being stopped and going on: Ctrl-Z, `kill -TSTP`, `fg`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::SigId;
use signal_hook::consts::{SIGCONT, SIGTSTP};
use signal_hook::flag::register;
use signal_hook::low_level::{emulate_default_handler, unregister};

/// Learns of both, so that the terminal is given back before the program stops.
#[derive(Debug)]
pub(crate) struct Signals {
    stop: Arc<AtomicBool>,
    went_on: Arc<AtomicBool>,
    registered: Vec<SigId>,
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        let mut signals =
            Self { stop: Arc::default(), went_on: Arc::default(), registered: Vec::with_capacity(2) };
        signals.registered.push(register(SIGTSTP, Arc::clone(&signals.stop))?);
        signals.registered.push(register(SIGCONT, Arc::clone(&signals.went_on))?);
        Ok(signals)
    }

    /// Ctrl-Z, which is a key like any other while keys are taken one by one: the whole job stops, as it would have.
    pub(crate) fn stop_the_job() {
        let _no_group = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
    }

    /// Whether the program is to stop.
    pub(crate) fn is_to_stop(&self) -> bool {
        self.stop.swap(false, Ordering::Relaxed)
    }

    /// Stops until somebody lets it go on.
    pub(crate) fn stop() {
        drop(emulate_default_handler(SIGTSTP));
    }

    /// Whether the program was stopped and goes on: whoever had the terminal meanwhile has left it in some other state.
    pub(crate) fn has_gone_on(&self) -> bool {
        self.went_on.swap(false, Ordering::Relaxed)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for one in self.registered.drain(..) {
            unregister(one);
        }
    }
}
