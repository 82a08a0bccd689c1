//! Entry point for `fuzz/`: the output of a probe.

use howlate_model::{MonotonicTime, Runtime, Sleeper, Span, Task, Work};

use crate::blocks::BlockCollector;
use crate::protocol::{ProbeHeader, ProbeLine};

/// Parses the output of a probe up to the first error.
pub fn talk(text: &str) {
    let mut lines = text.lines();
    let Some(Ok(_)) = lines.next().map(ProbeHeader::parse) else { return };
    let mut blocks = BlockCollector::new(&task(), MonotonicTime::default());
    let now = MonotonicTime::from_nanos(i64::MAX);
    for line in lines {
        let Ok(ProbeLine::Slept { start, end }) = ProbeLine::parse(line) else { break };
        let (start, end) = (MonotonicTime::from_nanos(start), MonotonicTime::from_nanos(end));
        if blocks.take(start, end, now).is_err() {
            break;
        }
    }
    drop((blocks.close_if_due(now), blocks.close(now)));
}

fn task() -> Task {
    let mechanism = Sleeper::Runtime(Runtime::C);
    Task { keep_series: true, ..Task::new(Work::Sleep { mechanism, target_ns: Span::from_millis(1) }) }
}
