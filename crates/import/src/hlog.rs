//! `HdrHistogram` logs: jHiccup's, and everybody else's. Values are taken as nanoseconds, as these are.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::interval_log::{
    IntervalLogHistogram, IntervalLogIterator, LogEntry, LogIteratorError,
};
use howlate_model::{Bucket, Distribution, Foreign, HIGHEST_TRACKED, ImportNote, Latency, Span, read_hdr};
use jiff::Timestamp;

use crate::MOST_ROOM;
use crate::Read;
use crate::draft::{Draft, Imported, MOST_SERIES, Series, Stretch};
use crate::error::ImportError;
use crate::histogram::count_in;

const PROGRAM: &str = "HdrHistogram log";

/// Neighbouring lines are joined where a log has more: tests go by far fewer.
const MOST_STRETCHES: usize = 2 * MOST_SERIES;

/// Reads it; `None` if the text is something else.
pub(crate) fn read(text: &str) -> Read {
    let has_histogram = |line: &str| {
        let encoded = line.rsplit(',').next().unwrap_or_default();
        encoded.starts_with("HIST") && line.matches(',').count() >= 3
    };
    text.lines().any(has_histogram).then(|| imported(text))
}

fn imported(text: &str) -> Result<Imported, ImportError> {
    let mut tags = Tags::default();
    for entry in IntervalLogIterator::new(text.as_bytes()) {
        let LogIteratorError::ParseError { offset } = match entry {
            Ok(LogEntry::Interval(line)) => {
                tags.take(&line)?;
                continue;
            }
            Ok(_) => continue,
            Err(error) => error,
        };
        let before = text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count();
        let line = before.saturating_add(1);
        return Err(damaged(format!("line {line} is none of a log")));
    }
    let mut draft = Draft { program: PROGRAM.to_owned(), started: started(text), ..Draft::default() };
    tags.clip(text);
    draft.notes.extend(tags.notes());
    draft.notes.push(ImportNote::UnitTaken { unit: "nanoseconds".to_owned() });
    draft.series = tags.series;
    draft.finish(PROGRAM)
}

fn damaged(what: String) -> ImportError {
    ImportError::Damaged { program: PROGRAM, what }
}

/// The series of each tag, in order of appearance.
#[derive(Default)]
struct Tags {
    places: BTreeMap<String, usize>,
    series: Vec<Series>,
    stretches: usize,
    /// Bytes that they take.
    room: usize,
}

impl Tags {
    fn take(&mut self, line: &IntervalLogHistogram<'_>) -> Result<(), ImportError> {
        let tag = line.tag().map_or("", |tag| tag.as_str());
        let place = match self.places.get(tag) {
            Some(place) => *place,
            None => self.begin(tag)?,
        };
        let stretch = stretch(line)?;
        self.room = self.room.saturating_add(stretch.latency.room());
        self.stretches = self.stretches.saturating_add(1);
        self.series[place].stretches.push(stretch);
        if self.stretches > MOST_STRETCHES || self.room > MOST_ROOM { self.join() } else { Ok(()) }
    }

    /// Half as many stretches, as long as that frees enough.
    fn join(&mut self) -> Result<(), ImportError> {
        self.series.iter_mut().for_each(|series| join_neighbours(&mut series.stretches));
        self.stretches = self.series.iter().map(|series| series.stretches.len()).sum();
        self.room = self.series.iter().map(Series::room).sum();
        if self.room > MOST_ROOM { Err(ImportError::Wide { program: PROGRAM }) } else { Ok(()) }
    }

    fn begin(&mut self, tag: &str) -> Result<usize, ImportError> {
        let place = self.series.len();
        if place == MOST_SERIES {
            return Err(damaged(format!("it has more than {MOST_SERIES} tags")));
        }
        self.places.insert(tag.to_owned(), place);
        self.series.push(Series {
            stretches: Vec::new(),
            ..Series::new(Foreign::HdrHistogram, place, Distribution::default())
        });
        Ok(place)
    }

    /// From where on howlate says that it only counted: `#[Tag=a: from 30000 on only counted]`.
    fn clip(&mut self, text: &str) {
        for line in text.lines().filter_map(|line| line.strip_prefix("#[Tag=")) {
            let said = line.strip_suffix(" on only counted]").and_then(|said| said.rsplit_once(": from "));
            let Some((tag, from)) = said else { continue };
            if let (Some(place), Ok(from)) = (self.places.get(tag), from.parse()) {
                let stretches = self.series[*place].stretches.iter_mut();
                stretches.for_each(|one| one.latency.clip(Latency::from_nanos(from)));
            }
        }
    }

    fn notes(&self) -> Vec<ImportNote> {
        let named = self.places.iter().filter(|(tag, _)| !tag.is_empty());
        named.map(|(tag, thread)| ImportNote::Tagged { thread: *thread, tag: tag.clone() }).collect()
    }
}

/// Two and two become one.
fn join_neighbours(stretches: &mut Vec<Stretch>) {
    let mut rest = std::mem::take(stretches).into_iter();
    while let Some(mut first) = rest.next() {
        if let Some(second) = rest.next() {
            first.until = second.until;
            first.latency.merge(&second.latency);
        }
        stretches.push(first);
    }
}

/// Each value counts at the end of its bucket, as HdrHistogram's own readers have it.
fn stretch(line: &IntervalLogHistogram<'_>) -> Result<Stretch, ImportError> {
    let wrong = |what: String| {
        damaged(format!("the histogram at {:?} cannot be read: {what}", line.start_timestamp()))
    };
    let bytes = STANDARD.decode(line.encoded_histogram()).map_err(|error| wrong(error.to_string()))?;
    let (mut latency, mut counted) = (Distribution::default(), Ok(()));
    let take = |Bucket { highest, count, .. }: Bucket| {
        let nanos = i64::try_from(highest).unwrap_or(i64::MAX);
        if counted.is_ok() {
            counted = count_in(&mut latency, PROGRAM, nanos, count);
        }
    };
    read_hdr(&bytes, HIGHEST_TRACKED, take).map_err(|error| wrong(error.to_string()))?;
    counted?;
    let from = span(line.start_timestamp());
    Ok(Stretch { from, until: from.plus(span(line.duration())), latency })
}

fn span(duration: Duration) -> Span {
    Span::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// `#[StartTime: 1441812279.474 (seconds since epoch), …]`
fn started(text: &str) -> String {
    let seconds = text.lines().find_map(|line| line.strip_prefix("#[StartTime: "));
    let seconds = seconds.and_then(|rest| rest.split(['.', ' ']).next()?.parse().ok());
    let at = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    at.map_or_else(String::new, |at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}
