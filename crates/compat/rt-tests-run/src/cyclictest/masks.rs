//! CPU masks of the machine, and the control of the measuring turn.

use howlate_linux::sched;
use howlate_model::{CpuSet, Span, ThresholdAction, Turn, TurnControl, TurnStart};
use howlate_procfs::{Root, read_cpu_list};
use howlate_rt_tests::cyclictest::{Align, CpuMasks, CyclictestOptions, break_threshold, trace_mark};

use crate::common::stop_trace;
use crate::output::Streams;

/// Reads the CPU masks that options refer to.
pub(crate) fn read() -> CpuMasks {
    let allowed = sched::affinity().unwrap_or_default();
    let bindable = sched::bindable_cpus().unwrap_or_else(|_| allowed.clone());
    let count = |list: &str| {
        let cpus = read_cpu_list(&Root::live(), &format!("/sys/devices/system/cpu/{list}"));
        let cpus = if cpus.is_empty() { &allowed } else { &cpus };
        u32::try_from(cpus.len()).unwrap_or(u32::MAX)
    };
    let (configured, online) = (count("present"), count("online"));
    CpuMasks { configured, online, allowed, bindable }
}

/// Refresh interval of the screen or list of values, as in the original.
const REFRESH_INTERVAL: Span = Span::from_millis(10);

/// Start and end of the turn, and the CPUs of the main thread: those of `--mainaffinity`, or else the ones that are not
/// measured.
pub(crate) fn turn_control(
    options: &CyclictestOptions,
    turn: &Turn,
    masks: &CpuMasks,
    streams: Streams,
) -> TurnControl {
    let measured: CpuSet = turn.tasks.iter().filter_map(|task| task.cpu).collect();
    let unmeasured = masks.allowed.without(&measured);
    let unmeasured = Some(unmeasured).filter(|cpus| !cpus.is_empty() && !measured.is_empty());
    let is_live = options.verbose || !options.quiet;
    TurnControl {
        stop_above: break_threshold(options),
        on_above: threshold_action(options, streams),
        observer_cpus: options.main_affinity.clone().or(unmeasured),
        poll_interval: is_live.then_some(REFRESH_INTERVAL),
        first_ends: true,
        start: match options.align {
            Align::FullSecond(_) => TurnStart::FullSecond,
            Align::No | Align::Together(_) => TurnStart::Soon,
        },
        ..TurnControl::default()
    }
}

/// Action when `-b` is exceeded; `None` without `--tracemark`.
fn threshold_action(options: &CyclictestOptions, streams: Streams) -> Option<ThresholdAction> {
    if !options.tracemark || options.break_above.is_none() {
        return None;
    }
    let options = options.clone();
    stop_trace(move |latency| trace_mark(&options, latency), streams)
}
