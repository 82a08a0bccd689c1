//! `HdrHistogram`'s percentile text (`.hgrm`): howlate's own, wrk2's, jHiccup's.

use howlate_model::{Claim, Distribution, ForeignTool, ImportNote, Latency, TimeUnit};

use crate::draft::{ImportDraft, ImportedSeries, MOST_SERIES};
use crate::error::ImportError;
use crate::format::{FileFormat, ImportOptions, LastLine, LineReader, Shape};
use crate::histogram::{Findings, count_in};

const PROGRAM: &str = "HdrHistogram percentiles";

pub(crate) const FORMAT: FileFormat = FileFormat {
    file: "`.hgrm`",
    written_by: "HdrHistogram, wrk2, howlate",
    becomes: "one per file, or section; `--unit us` where the file does not say its unit",
    samples: &["latency.hgrm"],
    shape: Shape::Lines {
        first: b"#V",
        is_sign: |line| line.starts_with(SECTION) || line == MICROSECONDS || heading_unit(line).is_some(),
        begin: |options| Box::new(Sections { options, ..Sections::default() }),
    },
};

/// Where howlate heads its sections.
const SECTION: &str = "#[Condition = ";

/// Howlate says its unit; others mostly print milliseconds.
const MICROSECONDS: &str = "#[Unit = microseconds]";

/// From where on howlate says that it only counted: `#[Only counted = from 30.000 on]`.
const CLIPPED: (&str, &str) = ("#[Only counted = from ", " on]");

/// All sections of a file.
#[derive(Default)]
struct Sections {
    options: ImportOptions,
    finished: Vec<(Option<String>, HgrmSection)>,
    /// What stands above the next section.
    name: Option<String>,
    unit: Option<TimeUnit>,
    clipped: Option<f64>,
    lacks_unit: bool,
    section: Option<HgrmSection>,
}

/// One list of percentiles, with what stands below it.
struct HgrmSection {
    unit: f64,
    all: Distribution,
    clipped: Option<f64>,
    counted: u64,
    /// The last row: its value and its share, as it was read.
    last: Option<(f64, f64)>,
    max: Option<f64>,
    total: Option<f64>,
    mean: Option<f64>,
    findings: Findings,
}

/// The unit that a heading names, such as `Value(ms) Percentile …`; `Some(None)` where it names none.
fn heading_unit(line: &str) -> Option<Option<TimeUnit>> {
    let mut fields = line.strip_prefix("Value").map(|_| line)?.split_whitespace();
    let value = fields.next()?.strip_prefix("Value")?;
    let is_heading = fields.eq(["Percentile", "TotalCount", "1/(1-Percentile)"]);
    is_heading.then(|| TimeUnit::read(value.trim_matches(['(', ')'])))
}

impl Sections {
    fn begin(&mut self, named: Option<TimeUnit>) {
        self.end_section();
        let given_unit = named.or(self.unit.take());
        self.lacks_unit |= given_unit.is_none();
        let unit = given_unit.or(self.options.unit).unwrap_or(TimeUnit::Milliseconds);
        self.section = Some(HgrmSection::new(unit.nanos() as f64, self.clipped.take()));
    }

    fn end_section(&mut self) {
        if let Some(section) = self.section.take() {
            self.finished.push((self.name.take(), section));
        }
    }

    fn comment(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix(SECTION) {
            self.end_section();
            self.name = Some(name.trim_end_matches(']').to_owned());
        } else if line == MICROSECONDS {
            self.end_section();
            self.unit = Some(TimeUnit::Microseconds);
        } else if let Some(from) = line.strip_prefix(CLIPPED.0).and_then(|rest| rest.strip_suffix(CLIPPED.1))
        {
            self.clipped = from.parse().ok().filter(|from: &f64| from.is_finite());
        } else if let Some(section) = &mut self.section {
            section.below(line);
        }
    }
}

impl LineReader for Sections {
    fn line(&mut self, line: &str) -> Result<(), ImportError> {
        if let Some(unit) = heading_unit(line) {
            self.begin(unit);
            return Ok(());
        }
        if line.starts_with("#[") {
            self.comment(line);
            return Ok(());
        }
        self.section.as_mut().map_or(Ok(()), |section| section.row(line))
    }

    fn finish(mut self: Box<Self>, _last: LastLine) -> Result<Vec<ImportDraft>, ImportError> {
        self.end_section();
        if self.finished.len() > MOST_SERIES {
            return Err(ImportError::damaged(PROGRAM, format!("it has more than {MOST_SERIES} sections")));
        }
        let mut draft = ImportDraft { lacks_unit: self.lacks_unit, ..ImportDraft::new(PROGRAM) };
        let mut is_cut = false;
        let mut findings = Vec::new();
        for (name, mut section) in self.finished {
            is_cut |= section.settle()?;
            if section.all.is_empty() {
                continue;
            }
            let thread = draft.series.len();
            findings.push(std::mem::take(&mut section.findings));
            let series = ImportedSeries::new(ForeignTool::HdrHistogram, thread, section.all);
            draft.series.push(match name {
                Some(name) => series.named(&name),
                None => series,
            });
        }
        if self.lacks_unit && self.options.unit.is_none() {
            draft.notes.push(ImportNote::UnitTaken { unit: TimeUnit::Milliseconds.name().to_owned() });
        }
        draft.notes.push(ImportNote::PercentilesOnly);
        draft.say(findings.iter());
        if is_cut {
            draft.cut_off();
        }
        Ok(if draft.series.is_empty() { Vec::new() } else { vec![draft] })
    }
}

impl HgrmSection {
    fn new(unit: f64, clipped: Option<f64>) -> Self {
        Self {
            unit,
            all: Distribution::default(),
            clipped,
            counted: 0,
            last: None,
            max: None,
            total: None,
            mean: None,
            findings: Findings::default(),
        }
    }

    /// Each row counts those since the row before, at its value.
    fn row(&mut self, line: &str) -> Result<(), ImportError> {
        let mut fields = line.split_whitespace();
        let (Some(value), Some(share), Some(total)) = (fields.next(), fields.next(), fields.next()) else {
            return Ok(());
        };
        let (Ok(value), Ok(share), Ok(total)) = (value.parse(), share.parse(), total.parse()) else {
            return Ok(());
        };
        self.count(value, share, total)
    }

    #[allow(clippy::cast_possible_truncation, reason = "a float beyond the largest integer becomes that")]
    fn count(&mut self, value: f64, share: f64, total: u64) -> Result<(), ImportError> {
        let falls = |what: &str, from: String, to: String| {
            Err(ImportError::damaged(PROGRAM, format!("its {what} falls from {from} to {to}")))
        };
        if self.last.is_some_and(|(last, _)| value < last) {
            return falls("value", self.last.unwrap_or_default().0.to_string(), value.to_string());
        }
        let Some(more) = total.checked_sub(self.counted) else {
            return falls("total count", self.counted.to_string(), total.to_string());
        };
        count_in(&mut self.all, PROGRAM, (value * self.unit).round() as i64, more)?;
        (self.counted, self.last) = (total, Some((value, share)));
        Ok(())
    }

    /// `#[Max = 17.236, Total count = 1000]`, `#[Mean = 0.696, StdDeviation = …]`
    fn below(&mut self, line: &str) {
        for field in line.trim_matches(['#', '[', ']']).split(',') {
            let Some((name, value)) = field.split_once('=') else { continue };
            let value = value.trim().parse::<f64>().ok();
            match name.trim() {
                "Max" => self.max = value,
                "Total count" | "TotalCount" => self.total = value,
                "Mean" => self.mean = value,
                _ => {}
            }
        }
    }

    /// Holds the rows against what stands below them; whether they end before all values were counted.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float beyond the largest integer becomes that"
    )]
    fn settle(&mut self) -> Result<bool, ImportError> {
        let Some((value, share)) = self.last else { return Ok(true) };
        let nanos = |value: f64| (value * self.unit).round() as i64;
        let is_whole = share >= 1.0 || self.total.is_some_and(|total| total as u64 == self.counted);
        // The last row is of all values; what is not there came after it.
        let total =
            self.total.unwrap_or(if is_whole { self.counted as f64 } else { self.counted as f64 / share });
        let missing = (total.round() as u64).saturating_sub(self.counted);
        if total as u64 != self.counted && self.total.is_some() {
            self.findings.disagree(Claim::Total, total as u64, self.counted);
        }
        let (last, max) = (nanos(value), self.max.map(nanos));
        // Values are printed rounded, and the largest as the end of its bucket.
        let is_beyond = max.is_some_and(|max| max.abs_diff(last) > (last.unsigned_abs() / 50).max(1));
        if let Some(max) = max.filter(|_| is_beyond) {
            self.findings.disagree(Claim::Maximum, max.unsigned_abs(), last.unsigned_abs());
        }
        if missing > 0 || is_beyond && max > Some(last) {
            let largest = max.filter(|max| *max > last);
            count_in(&mut self.all, PROGRAM, last, missing.saturating_sub(u64::from(largest.is_some())))?;
            largest.map_or(Ok(()), |max| count_in(&mut self.all, PROGRAM, max, 1))?;
            self.all.clip(Latency::from_nanos(last));
        }
        if let Some(from) = self.clipped {
            self.all.clip(Latency::from_nanos((from * self.unit).round() as i64));
        }
        Ok(missing > 0 || !is_whole)
    }
}
