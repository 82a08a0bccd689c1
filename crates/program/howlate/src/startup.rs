//! Start of a command: signals, leftovers of killed howlates, and the state of the machine.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_guard::{SettingRequest, restore_leftovers};
use howlate_linux::termination::on_termination_signal;
use howlate_model::Caveat;
use howlate_procfs::{Root, Status};
use howlate_session::Environment;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR2};

use crate::error::Error;

/// Registers signal handlers first, so that no signal ends the program silently, then reads the machine.
pub(crate) fn begin() -> Result<Environment, Error> {
    Ok(Environment::begin(on_interrupt()?, clean_up()))
}

/// Does not look for what makes wake-ups late: on a busy machine that takes half a second, in which a recorder would miss what is late.
pub(crate) fn begin_without_findings() -> Result<Environment, Error> {
    Ok(Environment::begin_without_findings(on_interrupt()?, clean_up()))
}

/// Also changes settings of the machine before it is read.
pub(crate) fn begin_with(settings: &[SettingRequest]) -> Result<Environment, Error> {
    Ok(Environment::begin_with(settings, on_interrupt()?, clean_up()))
}

/// Lets `SIGUSR2` set `request` as `howlate snap` does: it requests the recent activity of all CPUs.
pub(crate) fn on_timeline_request(request: &Arc<AtomicBool>) -> Result<Arc<AtomicBool>, Error> {
    signal_hook::flag::register(SIGUSR2, Arc::clone(request))?;
    Ok(Arc::clone(request))
}

/// Removes files and restores settings that killed howlates have left; returns notes about them.
pub(crate) fn clean_up() -> Vec<Caveat> {
    howlate_safe_path::sweep(&std::env::temp_dir());
    howlate_rt_tests_run::cyclictest::sweep();
    howlate_trace::remove_leftovers();
    restore_leftovers()
}

/// Exit status that shells report after Ctrl-C.
const INTERRUPTED_TWICE: i32 = 130;

/// Set by Ctrl-C, `SIGTERM` and a hang-up. A second signal, one second later or more, ends the program at once; what was recorded
/// until then remains.
pub(crate) fn on_interrupt() -> Result<Arc<AtomicBool>, Error> {
    let interrupted = Arc::new(AtomicBool::new(false));
    // An ignored SIGHUP stays ignored, as `nohup` demands.
    let ignored = Status::read_own(&Root::live()).ignores(SIGHUP);
    let hangup = (!ignored).then_some(SIGHUP);
    let signals: Vec<i32> = [SIGINT, SIGTERM].into_iter().chain(hangup).collect();
    on_termination_signal(&signals, &interrupted, INTERRUPTED_TWICE)?;
    Ok(interrupted)
}
