//! Threads that did not stay on the CPU that they were to measure.

use crate::streams::Streams;
use howlate_analyse::gaps::GapRun;

/// Says which, if there are any: the originals do not look.
pub(crate) fn moved(program: &str, run: &GapRun, streams: Streams) {
    let cpus = run.moved();
    if !cpus.is_empty() {
        streams.say(&format!(
            "{program}: WARN: the thread of CPU {cpus} did not stay there (the CPU went offline, or the thread's affinity was changed)\n"
        ));
    }
}
