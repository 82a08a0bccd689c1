//! `--tracemark`: marks and stops the kernel's trace.

use howlate_guard::KernelTrace;
use howlate_model::{Latency, ThresholdAction};

use crate::streams::Streams;

/// Writes `mark` into the kernel's trace, and stops it; `None`, with a warning, where that cannot be.
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
