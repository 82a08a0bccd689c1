//! What a command begins with: signals that end it, what killed howlates have left, and a look at the machine.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_guard::{SettingRequest, restore_leftovers};
use howlate_linux::termination::on_termination_signal;
use howlate_model::Caveat;
use howlate_procfs::{Root, Status};
use howlate_session::Environment;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR2};

use crate::error::Error;

/// Listens for signals first, so that none ends the program without a word, then looks.
pub(crate) fn begin() -> Result<Environment, Error> {
    Ok(Environment::begin(on_interrupt()?, clear_up()))
}

/// The same with settings of the machine changed before it is looked at.
pub(crate) fn begin_with(wanted: &[SettingRequest]) -> Result<Environment, Error> {
    Ok(Environment::begin_with(wanted, on_interrupt()?, clear_up()))
}

/// Has `SIGUSR2` ask for what all CPUs have done just now, where that is remembered: whoever else asks for it sets the same.
pub(crate) fn on_timeline_asked(asked: &Arc<AtomicBool>) -> Result<Arc<AtomicBool>, Error> {
    signal_hook::flag::register(SIGUSR2, Arc::clone(asked))?;
    Ok(Arc::clone(asked))
}

/// Removes what killed howlates have left, and puts their settings back; tells which.
pub(crate) fn clear_up() -> Vec<Caveat> {
    howlate_safe_path::sweep(&std::env::temp_dir());
    howlate_cyclictest_run::sweep();
    howlate_trace::clear_up();
    restore_leftovers()
}

/// What a shell makes of a program that Ctrl-C ends.
const INTERRUPTED_TWICE: i32 = 130;

/// Set by Ctrl-C, `SIGTERM` and a closed terminal; another request, a second or more later, ends the
/// program at once. What was recorded until then stays.
pub(crate) fn on_interrupt() -> Result<Arc<AtomicBool>, Error> {
    let interrupted = Arc::new(AtomicBool::new(false));
    // Whoever started this, such as `nohup`, may want it to outlive its terminal.
    let ignored = Status::read_own(&Root::live()).ignores(SIGHUP);
    let hangup = (!ignored).then_some(SIGHUP);
    let signals: Vec<i32> = [SIGINT, SIGTERM].into_iter().chain(hangup).collect();
    on_termination_signal(&signals, &interrupted, INTERRUPTED_TWICE)?;
    Ok(interrupted)
}
