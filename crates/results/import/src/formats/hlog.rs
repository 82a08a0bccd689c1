//! `HdrHistogram` logs: jHiccup's, and everybody else's.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use howlate_model::{
    Bucket, Claim, Distribution, ForeignTool, HIGHEST_TRACKED, ImportNote, Latency, Span, TimeUnit, read_hdr,
};
use jiff::Timestamp;

use crate::MOST_ROOM;
use crate::draft::{ImportDraft, ImportedSeries, MOST_SERIES, Stretch};
use crate::error::ImportError;
use crate::format::{FileFormat, ImportOptions, LastLine, LineReader, Shape};
use crate::histogram::count_in;

const PROGRAM: &str = "HdrHistogram log";

pub(crate) const FORMAT: FileFormat = FileFormat {
    file: "`.hlog`",
    written_by: "HdrHistogram's loggers, jHiccup, howlate",
    becomes: "one per tag, named after it; each line is a stretch of time; the unit from `Interval_Max`, or `--unit us`",
    samples: &["hiccups.hlog", "requests.hlog"],
    shape: Shape::Lines { first: b"#T0123456789", is_sign, begin: |options| Box::new(Log::new(options)) },
};

/// Neighbouring lines are joined where a log has more: tests go by far fewer.
const MOST_STRETCHES: usize = 2 * MOST_SERIES;

const VERSION: &str = "#[Histogram log format version";
const START: &str = "#[StartTime: ";

fn is_sign(line: &str) -> bool {
    line.starts_with(VERSION) || line.starts_with(START) || has_histogram(line)
}

fn has_histogram(line: &str) -> bool {
    line.rsplit_once(',')
        .is_some_and(|(before, encoded)| encoded.starts_with("HIST") && before.matches(',').count() >= 2)
}

/// A log, as far as it was read. Its unit is known once all of it was.
struct Log {
    options: ImportOptions,
    started: Option<f64>,
    /// The time of the first line, where times are not from the beginning of the log.
    origin: Option<f64>,
    places: BTreeMap<String, usize>,
    /// When the last line of each tag began, as its bits.
    starts: BTreeMap<String, Option<u64>>,
    series: Vec<ImportedSeries>,
    stretches: usize,
    /// Bytes that they take.
    room: usize,
    /// From where on howlate only counted, by tag, as the log has it.
    clips: Vec<(String, i64)>,
    units: HlogUnits,
    /// `None` before the first line that contains it.
    unit: Option<TimeUnit>,
    /// A line that could not be read, which is allowed for the last one.
    broken: Option<ImportError>,
    lines: u64,
}

/// Which unit the column of maxima, which is in milliseconds, leaves possible.
#[derive(Default)]
struct HlogUnits {
    /// How many lines say something of it, and how many of them each unit fits.
    lines: u64,
    fits: [u64; 3],
    /// The first line that none fits: its column, and what its histogram has.
    odd: Option<(f64, u64)>,
}

/// The units that a column of milliseconds can tell: what it divides maxima by, and nanoseconds in one.
const RATIOS: [(f64, TimeUnit); 3] =
    [(1e6, TimeUnit::Nanoseconds), (1e3, TimeUnit::Microseconds), (1.0, TimeUnit::Milliseconds)];

impl HlogUnits {
    fn add(&mut self, column: f64, max: u64) {
        if column <= 0.0 || max == 0 || !column.is_finite() {
            return;
        }
        self.lines = self.lines.saturating_add(1);
        // The column has three decimals, and the largest is the end of its bucket.
        let fits = |ratio: f64| (column * ratio - max as f64).abs() <= 0.000_6 * ratio + max as f64 / 50.0;
        let mut any = false;
        for ((ratio, _), count) in RATIOS.iter().zip(&mut self.fits) {
            *count = count.saturating_add(u64::from(fits(*ratio)));
            any |= fits(*ratio);
        }
        if !any {
            self.odd.get_or_insert((column, max));
        }
    }

    /// The one that fits all lines, if it is only one. That maxima are not divided may as well mean that there is no such column.
    fn only(&self) -> Option<TimeUnit> {
        let of_all: Vec<usize> =
            (0..2).filter(|place| self.lines > 0 && self.fits[*place] == self.lines).collect();
        match of_all.as_slice() {
            [place] => Some(RATIOS[*place].1),
            _ => None,
        }
    }
}

impl Log {
    fn new(options: ImportOptions) -> Self {
        Self {
            options,
            started: None,
            origin: None,
            places: BTreeMap::new(),
            starts: BTreeMap::new(),
            series: Vec::new(),
            stretches: 0,
            room: 0,
            clips: Vec::new(),
            units: HlogUnits::default(),
            unit: None,
            broken: None,
            lines: 0,
        }
    }

    fn comment(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix(START) {
            self.started = rest.split(' ').next().and_then(|seconds| seconds.parse().ok());
        }
        let clip = line.strip_prefix("#[Tag=").and_then(|rest| rest.strip_suffix(" on only counted]"));
        if let Some((tag, from)) = clip.and_then(|rest| rest.rsplit_once(": from ")) {
            self.clips.extend(from.parse().ok().map(|from| (tag.to_owned(), from)));
        }
    }

    fn interval(&mut self, line: &str) -> Result<(), ImportError> {
        let interval = HlogInterval::read(line).ok_or_else(|| self.none_of_a_log())?;
        self.check_order(&interval)?;
        let buckets = interval.buckets()?;
        self.units.add(interval.max, buckets.iter().map(|bucket| bucket.highest).max().unwrap_or(0));
        if self.unit.is_none() && self.units.lines > 0 {
            self.decide_unit()?;
        }
        let place = match self.places.get(interval.tag) {
            Some(place) => *place,
            None => self.begin(interval.tag)?,
        };
        let latency = counted(&buckets, self.unit.unwrap_or(TimeUnit::Nanoseconds))?;
        let stretch = self.stretch(&interval, latency);
        self.room = self.room.saturating_add(stretch.latency.heap_bytes());
        self.stretches = self.stretches.saturating_add(1);
        self.series[place].stretches.push(stretch);
        if self.stretches > MOST_STRETCHES || self.room > MOST_ROOM { self.join() } else { Ok(()) }
    }

    /// A repeated line would count twice.
    fn check_order(&mut self, interval: &HlogInterval<'_>) -> Result<(), ImportError> {
        let start = Some(interval.start.to_bits());
        let last = self.starts.entry(interval.tag.to_owned()).or_default();
        if std::mem::replace(last, start) == start {
            let what = format!("it has two lines of `{}` at {} s", interval.tag, interval.start);
            return Err(ImportError::damaged(PROGRAM, what));
        }
        Ok(())
    }

    /// Takes the unit as it was named, or as the log shows it so far; what was counted before is scaled to it.
    fn decide_unit(&mut self) -> Result<(), ImportError> {
        let unit = self.options.unit.or(self.units.only()).unwrap_or(TimeUnit::Nanoseconds);
        self.unit = Some(unit);
        self.series.iter_mut().try_for_each(|series| scale(series, unit))
    }

    /// Times of some logs are seconds since 1970: those of all lines count from the first.
    fn stretch(&mut self, interval: &HlogInterval<'_>, latency: Distribution) -> Stretch {
        const FIRST_DATE: f64 = 1e8;
        let origin =
            *self.origin.get_or_insert(if interval.start > FIRST_DATE { interval.start } else { 0.0 });
        let from = span(interval.start - origin);
        Stretch { from, until: from.plus(span(interval.length)), latency }
    }

    fn none_of_a_log(&self) -> ImportError {
        ImportError::damaged(PROGRAM, format!("line {} of it is none of a log", self.lines))
    }

    /// Half as many stretches, as long as that frees enough.
    fn join(&mut self) -> Result<(), ImportError> {
        self.series.iter_mut().for_each(|series| join_neighbours(&mut series.stretches));
        self.stretches = self.series.iter().map(|series| series.stretches.len()).sum();
        self.room = self.series.iter().map(ImportedSeries::room).sum();
        if self.room > MOST_ROOM { Err(ImportError::Wide { program: PROGRAM }) } else { Ok(()) }
    }

    fn begin(&mut self, tag: &str) -> Result<usize, ImportError> {
        let place = self.series.len();
        if place == MOST_SERIES {
            return Err(ImportError::damaged(PROGRAM, format!("it has more than {MOST_SERIES} tags")));
        }
        self.places.insert(tag.to_owned(), place);
        let series = ImportedSeries::new(ForeignTool::HdrHistogram, place, Distribution::default());
        let series = if tag.is_empty() { series } else { series.named(tag) };
        self.series.push(ImportedSeries { stretches: Vec::new(), ..series });
        Ok(place)
    }

    /// The unit: as the log shows it, or as it was named, or nanoseconds.
    fn notes(&self, unit: TimeUnit, is_known: bool) -> Vec<ImportNote> {
        let mut notes = Vec::new();
        if !is_known {
            notes.push(ImportNote::UnitTaken { unit: unit.name().to_owned() });
        }
        if let Some((column, max)) = self.units.odd {
            let says = span(column / 1e3).as_nanos();
            let rows = max.saturating_mul(unit.nanos());
            notes.push(ImportNote::Disagrees { claim: Claim::Maximum, threads: 1, says, rows });
        }
        notes
    }
}

impl LineReader for Log {
    fn line(&mut self, line: &str) -> Result<(), ImportError> {
        self.lines = self.lines.saturating_add(1);
        if let Some(broken) = self.broken.take() {
            return Err(broken);
        }
        if line.starts_with('#') {
            self.comment(line);
        } else if line.starts_with("Tag=") || line.starts_with(|first: char| first.is_ascii_digit()) {
            self.broken = self.interval(line).err();
        }
        Ok(())
    }

    /// Whether it is whole shows when it is unpacked.
    fn open_line(&mut self, line: &str) -> Result<(), ImportError> {
        self.line(line)
    }

    fn finish(mut self: Box<Self>, last: LastLine) -> Result<Vec<ImportDraft>, ImportError> {
        let broken = self.broken.take();
        let is_cut = broken.is_some() && last == LastLine::Open && !self.series.is_empty();
        if let Some(broken) = broken.filter(|_| !is_cut) {
            return Err(broken);
        }
        self.series.retain(|series| !series.stretches.is_empty());
        if self.series.is_empty() {
            return Ok(Vec::new());
        }
        if self.unit.is_none() {
            self.decide_unit()?;
        }
        let (shown, named) = (self.units.only(), self.options.unit);
        let unit = self.unit.unwrap_or(TimeUnit::Nanoseconds);
        let notes = self.notes(unit, shown.is_some() || named.is_some());
        let started = self.started.or(self.origin.filter(|origin| *origin > 0.0));
        let mut draft =
            ImportDraft { started: date(started), lacks_unit: true, notes, ..ImportDraft::new(PROGRAM) };
        if is_cut {
            draft.cut_off();
        }
        for series in &mut self.series {
            let tag = series.name.clone().unwrap_or_default();
            let clips = self.clips.iter().filter(|clip| clip.0 == tag);
            for from in clips.map(|clip| Latency::from_nanos(clip.1)) {
                series.stretches.iter_mut().for_each(|item| item.latency.clip(from));
            }
        }
        draft.series = self.series;
        Ok(vec![draft])
    }
}

/// A log whose values are not nanoseconds, as if they were.
fn scale(series: &mut ImportedSeries, unit: TimeUnit) -> Result<(), ImportError> {
    if unit == TimeUnit::Nanoseconds {
        return Ok(());
    }
    let factor = i64::try_from(unit.nanos()).unwrap_or(i64::MAX);
    for stretch in &mut series.stretches {
        let mut scaled = Distribution::default();
        for (value, count) in stretch.latency.printed_values() {
            count_in(&mut scaled, PROGRAM, value.as_nanos().saturating_mul(factor), count)?;
        }
        stretch.latency = scaled;
    }
    Ok(())
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

/// `Tag=requests,0.127,1.007,2.769,HISTFAAAA…`
struct HlogInterval<'a> {
    tag: &'a str,
    start: f64,
    length: f64,
    max: f64,
    encoded: &'a str,
}

impl<'a> HlogInterval<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (tag, rest) = match line.strip_prefix("Tag=") {
            Some(rest) => rest.split_once(',')?,
            None => ("", line),
        };
        let mut fields = rest.splitn(4, ',');
        let mut number = || fields.next()?.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let (start, length, max) = (number()?, number()?, number()?);
        let encoded = fields.next()?.trim();
        Some(Self { tag, start, length, max, encoded })
    }

    fn buckets(&self) -> Result<Vec<Bucket>, ImportError> {
        let wrong = |what: String| {
            ImportError::damaged(PROGRAM, format!("the histogram at {} s cannot be read: {what}", self.start))
        };
        let bytes = STANDARD.decode(self.encoded).map_err(|error| wrong(error.to_string()))?;
        let mut buckets = Vec::new();
        read_hdr(&bytes, HIGHEST_TRACKED, |bucket| buckets.push(bucket))
            .map_err(|error| wrong(error.to_string()))?;
        Ok(buckets)
    }
}

/// Each value counts at the end of its bucket, as HdrHistogram's own readers have it.
fn counted(buckets: &[Bucket], unit: TimeUnit) -> Result<Distribution, ImportError> {
    let mut latency = Distribution::default();
    for bucket in buckets {
        let nanos = i64::try_from(bucket.highest.saturating_mul(unit.nanos())).unwrap_or(i64::MAX);
        count_in(&mut latency, PROGRAM, nanos, bucket.count)?;
    }
    Ok(latency)
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float beyond the largest integer becomes that"
)]
fn span(seconds: f64) -> Span {
    Span::from_nanos((seconds.max(0.0) * 1e9).round() as u64)
}

#[allow(clippy::cast_possible_truncation, reason = "a float beyond the largest integer becomes that")]
fn date(seconds: Option<f64>) -> String {
    let at = seconds.and_then(|seconds| Timestamp::from_second(seconds as i64).ok());
    at.map_or_else(String::new, |at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_column_of_maxima_tells_the_unit() {
        let unit = |lines: &[(f64, u64)]| {
            let mut units = HlogUnits::default();
            lines.iter().for_each(|(column, max)| units.add(*column, *max));
            (units.only(), units.odd)
        };
        assert_eq!(unit(&[(2.761, 2_761), (3.571, 3_571)]), (Some(TimeUnit::Microseconds), None));
        assert_eq!(unit(&[(2.761, 2_761_727), (0.0, 0)]), (Some(TimeUnit::Nanoseconds), None));
        assert_eq!(unit(&[(2_761.0, 2_761)]), (None, None), "undivided, it may be anything");
        assert_eq!(unit(&[(0.0, 17)]), (None, None));
        assert_eq!(unit(&[(2.0, 900_000)]), (None, Some((2.0, 900_000))));
    }
}
