//! Signals: two that end the run, two that ask for the status.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::termination::on_every_termination_signal;
use howlate_procfs::{Root, Status};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::flag;

use crate::cyclictest::failure::Failure;

/// What has been asked for by signals.
pub(crate) struct Signals {
    interrupted: Arc<AtomicBool>,
    print: Arc<AtomicBool>,
    store: Arc<AtomicBool>,
}

impl Signals {
    /// Receives `SIGINT`, `SIGTERM`, `SIGUSR1` and `SIGUSR2` from now on; `SIGHUP` too, so that
    /// idle states are restored when a terminal goes away, unless `nohup` made it ignored.
    pub(crate) fn receive() -> Result<Self, Failure> {
        let (interrupted, print, store) = <(Arc<AtomicBool>, Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        let hangup = (!Status::read_own(&Root::live()).ignores(SIGHUP)).then_some(SIGHUP);
        let ending: Vec<i32> = [SIGINT, SIGTERM].into_iter().chain(hangup).collect();
        on_every_termination_signal(&ending, &interrupted).map_err(Failure::Signals)?;
        for (signal, set) in [(SIGUSR1, &print), (SIGUSR2, &store)] {
            flag::register(signal, Arc::clone(set)).map_err(Failure::Signals)?;
        }
        Ok(Self { interrupted, print, store })
    }

    /// Set to end the run.
    pub(crate) fn interrupted(&self) -> &Arc<AtomicBool> {
        &self.interrupted
    }

    /// Whether `SIGUSR1` came since the last call.
    pub(crate) fn take_print(&self) -> bool {
        self.print.swap(false, Ordering::Relaxed)
    }

    /// Whether `SIGUSR2` came since the last call.
    pub(crate) fn take_store(&self) -> bool {
        self.store.swap(false, Ordering::Relaxed)
    }
}
