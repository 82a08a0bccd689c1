//! `HdrHistogram` log, version 1.3, for its viewers and libraries.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use howlate_analyse::{Analysis, Outcome};
use howlate_model::{Distribution, Span};
use jiff::Timestamp;

use super::names::started_at;
use crate::condition::tags;

/// Header of the log. Readers look for `[StartTime:` and the legend literally.
const VERSION: &str = "#[Histogram log format version 1.3]\n#[latency in nanoseconds of wake-ups that happened, written by howlate]\n";
const LEGEND: &str =
    "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";

/// One line per condition, tagged with it. Values are nanoseconds; `Interval_Max` is in milliseconds, as readers expect.
pub fn hlog(analyses: &[Analysis]) -> io::Result<String> {
    let start = analyses.first().map(started_at).unwrap_or_default();
    let mut log = format!("{VERSION}{}{LEGEND}", start_time(start));
    for analysis in analyses {
        let mut at = started_at(analysis).duration_since(start).as_secs_f64();
        let tagged = analysis.outcomes().iter().zip(tags(analysis));
        for (outcome, tag) in tagged.filter(|(outcome, _)| outcome.count() > 0) {
            let lasted = outcome.usage.elapsed;
            if let Some(from) = outcome.latency().clipped() {
                log.push_str(&format!("#[Tag={tag}: from {} on only counted]\n", from.as_nanos()));
            }
            log.push_str(&line(&tag, outcome, at, lasted)?);
            at += lasted.as_secs_f64();
        }
    }
    Ok(log)
}

/// The start time. Imported files without a date have none; readers then count from 0.
fn start_time(start: Timestamp) -> String {
    if start == Timestamp::UNIX_EPOCH {
        return String::new();
    }
    let (seconds, date) = (start.as_duration().as_secs_f64(), start.strftime("%a %b %d %H:%M:%S UTC %Y"));
    format!("#[StartTime: {seconds:.3} (seconds since epoch), {date}]\n")
}

fn line(tag: &str, outcome: &Outcome, at: f64, lasted: Span) -> io::Result<String> {
    let latency = outcome.latency();
    let max = latency.max().map_or(0, howlate_model::Latency::as_nanos);
    let max = max.max(0) as f64 / 1e6;
    let seconds = lasted.as_secs_f64();
    Ok(format!("Tag={tag},{at:.3},{seconds:.3},{max:.3},{}\n", compressed(latency)?))
}

/// The compressed V2 encoding, `HISTF…` in base64, which all libraries read.
fn compressed(latency: &Distribution) -> io::Result<String> {
    let mut bytes = Vec::new();
    let result = V2DeflateSerializer::new().serialize(&latency.to_hdr(), &mut bytes);
    result.map_err(|error| io::Error::other(error.to_string()))?;
    Ok(STANDARD.encode(bytes))
}
