//! `--tracemark`: marks the kernel's trace and stops it, from the thread that was late.

use howlate_cyclictest::{Options, trace_mark};
use howlate_guard::KernelTrace;
use howlate_model::{Latency, ThresholdAction};

use crate::streams::Streams;

/// What to do when `-b` is exceeded; `None` if nothing.
pub(crate) fn on_above(options: &Options, streams: Streams) -> Option<ThresholdAction> {
    if !options.tracemark || options.break_above.is_none() {
        return None;
    }
    let options = options.clone();
    stop_trace(move |latency| trace_mark(&options, latency), streams)
}

/// Writes `mark` into the kernel's trace, and stops it; `None`, with a warning, where that cannot be.
pub fn stop_trace(
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
