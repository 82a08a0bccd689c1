//! Signals that end a run.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_linux::termination::on_every_termination_signal;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::failure::Failure;

/// Set by `SIGINT` and `SIGTERM` from now on.
pub(crate) fn on_signals() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    on_every_termination_signal(&[SIGINT, SIGTERM], &interrupted).map_err(Failure::Signals)?;
    Ok(interrupted)
}
