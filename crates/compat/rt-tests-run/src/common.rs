//! Shared by the four programs: signals, `--tracemark`, facts for the JSON files, and a warning about migrated threads.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use howlate_analyse::gaps::GapRun;
use howlate_guard::KernelTrace;
use howlate_linux::termination::on_every_termination_signal;
use howlate_model::{Latency, ThresholdAction};
use howlate_procfs::Root;
use howlate_rt_tests::RunFacts;
use rustix::system::uname;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::error::RtTestsError;
use crate::output::Streams;

/// Environment variable with the version of rt-tests if neither `--compat` nor the program name has it.
pub(crate) const COMPAT_VARIABLE: &str = "HOWLATE_COMPAT";

/// A flag that `SIGINT` and `SIGTERM` set from now on.
pub(crate) fn interruption_flag() -> Result<Arc<AtomicBool>, RtTestsError> {
    let interrupted = Arc::new(AtomicBool::new(false));
    on_every_termination_signal(&[SIGINT, SIGTERM], &interrupted).map_err(RtTestsError::Signals)?;
    Ok(interrupted)
}

/// `--tracemark`: an action that writes `mark` into the kernel's trace and stops it; `None`, after a warning, if the trace
/// is not writable.
pub(crate) fn stop_trace(
    mark: impl Fn(Latency) -> String + Send + Sync + 'static,
    streams: Streams,
) -> Option<ThresholdAction> {
    let Some(trace) = KernelTrace::open() else {
        streams.say(
            "WARN: cannot write to the kernel's trace; is tracefs mounted at /sys/kernel/tracing, and are you root?\n",
        );
        return None;
    };
    Some(ThresholdAction::new(move |latency| trace.stop(&mark(latency))))
}

/// Warns about threads that did not stay on the CPU they were to measure; the originals do not check this.
pub(crate) fn warn_of_moved_threads(program: &str, run: &GapRun, streams: Streams) {
    let cpus = run.moved();
    if !cpus.is_empty() {
        streams.say(&format!(
            "{program}: WARN: the thread of CPU {cpus} did not stay there (the CPU went offline, or the thread's affinity was changed)\n"
        ));
    }
}

/// Local time, RFC 2822.
pub(crate) fn now() -> String {
    jiff::Zoned::now().strftime("%a, %d %b %Y %H:%M:%S %z").to_string()
}

/// Facts of a run that started at `started` and ends now.
pub(crate) fn run_facts(started: String) -> RunFacts {
    let (system, root) = (uname(), Root::live());
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    RunFacts {
        command_line: std::env::args_os()
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect::<Vec<_>>()
            .join(" "),
        started,
        ended: now(),
        return_code: 0,
        sysname: text(system.sysname()),
        nodename: text(system.nodename()),
        release: text(system.release()),
        version: text(system.version()),
        machine: text(system.machine()),
        realtime: root.read("/sys/kernel/realtime").as_deref() == Ok("1"),
        nodes: Vec::new(),
    }
}
