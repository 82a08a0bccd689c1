//! Signals that end the run or request the status.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::termination::on_every_termination_signal;
use howlate_procfs::{Root, Status};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};

use crate::cyclictest::error::CyclictestError;

/// Flags that signals set.
pub(crate) struct Signals {
    interrupted: Arc<AtomicBool>,
    /// `SIGUSR1`: print the status.
    print: Arc<AtomicBool>,
    /// `SIGUSR2`: store the status in shared memory.
    store: Arc<AtomicBool>,
}

impl Signals {
    /// Handles `SIGINT`, `SIGTERM`, `SIGUSR1` and `SIGUSR2` from now on; also `SIGHUP`, so that idle states are restored when
    /// the terminal is closed, unless `SIGHUP` is ignored, as under `nohup`.
    pub(crate) fn receive() -> Result<Self, CyclictestError> {
        let (interrupted, print, store) = <(Arc<AtomicBool>, Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        let hangup = (!Status::read_own(&Root::live()).ignores(SIGHUP)).then_some(SIGHUP);
        let termination: Vec<i32> = [SIGINT, SIGTERM].into_iter().chain(hangup).collect();
        on_every_termination_signal(&termination, &interrupted).map_err(CyclictestError::Signals)?;
        for (signal, flag) in [(SIGUSR1, &print), (SIGUSR2, &store)] {
            signal_hook::flag::register(signal, Arc::clone(flag)).map_err(CyclictestError::Signals)?;
        }
        Ok(Self { interrupted, print, store })
    }

    /// The flag that ends the run.
    pub(crate) fn interrupted(&self) -> &Arc<AtomicBool> {
        &self.interrupted
    }

    /// Whether `SIGUSR1` arrived since the last call.
    pub(crate) fn take_print(&self) -> bool {
        self.print.swap(false, Ordering::Relaxed)
    }

    /// Whether `SIGUSR2` arrived since the last call.
    pub(crate) fn take_store(&self) -> bool {
        self.store.swap(false, Ordering::Relaxed)
    }
}
