//! The CPUs there are.

use howlate_linux::sched;
use howlate_model::{CpuSet, Span, ThresholdAction, Turn, TurnControl, TurnStart};
use howlate_procfs::{Root, read_cpu_list};
use howlate_rt_tests::cyclictest::{Align, CpuMasks, Options, break_threshold, trace_mark};

use crate::kernel_trace::stop_trace;
use crate::streams::Streams;

/// What the options must know of this machine.
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

/// How often a screen or a list of values is brought up to date, as in the original.
const TICK: Span = Span::from_millis(10);

/// What begins and ends the run, and where the main thread sits: where it was asked to, or
/// else away from the measured CPUs.
pub(crate) fn bounds(options: &Options, turn: &Turn, masks: &CpuMasks, streams: Streams) -> TurnControl {
    let measured: CpuSet = turn.tasks.iter().filter_map(|task| task.cpu).collect();
    let others = masks.allowed.without(&measured);
    let others = Some(others).filter(|cpus| !cpus.is_empty() && !measured.is_empty());
    let watched = options.verbose || !options.quiet;
    TurnControl {
        stop_above: break_threshold(options),
        on_above: on_above(options, streams),
        observer_cpus: options.main_affinity.clone().or(others),
        poll_interval: watched.then_some(TICK),
        first_ends: true,
        start: match options.align {
            Align::FullSecond(_) => TurnStart::FullSecond,
            Align::No | Align::Together(_) => TurnStart::Soon,
        },
        ..TurnControl::default()
    }
}

/// The action when `-b` is exceeded; `None` without `--tracemark`.
fn on_above(options: &Options, streams: Streams) -> Option<ThresholdAction> {
    if !options.tracemark || options.break_above.is_none() {
        return None;
    }
    let options = options.clone();
    stop_trace(move |latency| trace_mark(&options, latency), streams)
}
