//! Results as an `HdrHistogram` log, which its viewers and libraries read.

use std::io;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2Serializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use howlate_analyse::{Analysis, Outcome};

/// One line per condition, tagged with the condition; values are nanoseconds, shown as milliseconds.
///
/// # Errors
///
/// None in practice: it writes to memory.
pub fn hlog(analyses: &[Analysis]) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut serializer = V2Serializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder.add_comment("latency in nanoseconds, written by howlate").with_max_value_divisor(1e6);
    builder.with_start_time(SystemTime::UNIX_EPOCH).with_base_time(SystemTime::UNIX_EPOCH);
    let mut log = builder.begin_log_with(&mut bytes, &mut serializer)?;
    let mut at = Duration::ZERO;
    for outcome in analyses.iter().flat_map(|analysis| analysis.outcomes()) {
        let lasted = Duration::from(outcome.usage.elapsed_ns);
        let tag = tag(outcome);
        log.write_histogram(&outcome.latency().to_hdr(), at, lasted, Tag::new(&tag))
            .map_err(|error| io::Error::other(format!("{error:?}")))?;
        at += lasted;
    }
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// The condition in one word: tags may hold neither comma nor blank.
fn tag(outcome: &Outcome) -> String {
    let condition = &outcome.condition;
    let cpu = condition.cpu.map_or_else(String::new, |cpu| format!("-cpu{cpu}"));
    let (work, policy) = (condition.work, condition.policy);
    let from = work.sender_cpu().map_or_else(String::new, |cpu| format!("-from{cpu}"));
    format!(
        "{}-{}-{policy}-{}{from}{cpu}-thread{}",
        work.mechanism(),
        work.length(),
        condition.load,
        condition.thread
    )
}
