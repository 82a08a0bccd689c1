//! `HdrHistogram`'s percentile text (`.hgrm`): howlate's own, wrk2's, jHiccup's.

use howlate_model::{Distribution, Foreign, ImportNote, Latency};

use crate::Read;
use crate::draft::{Draft, Imported, Series};
use crate::error::ImportError;
use crate::histogram::count_in;

const PROGRAM: &str = "HdrHistogram percentiles";

/// Where howlate heads its sections.
const SECTION: &str = "#[Condition = ";

/// Howlate says its unit; others mostly print milliseconds.
const MICROSECONDS: &str = "#[Unit = microseconds]";

/// From where on howlate says that it only counted: `#[Only counted = from 30.000 on]`.
const CLIPPED: (&str, &str) = ("#[Only counted = from ", " on]");

/// Reads it; `None` if the text is something else.
pub(crate) fn read(text: &str) -> Read {
    let is_heading =
        |line: &str| line.split_whitespace().eq(["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]);
    text.lines().any(is_heading).then(|| imported(text))
}

fn imported(text: &str) -> Result<Imported, ImportError> {
    let unit = if text.contains(MICROSECONDS) { 1e3 } else { 1e6 };
    let sections: Vec<&str> = text.split(SECTION).filter(|section| section.contains("Percentile")).collect();
    let mut draft = Draft { program: PROGRAM.to_owned(), ..Draft::default() };
    for (thread, section) in sections.iter().enumerate() {
        draft.series.push(Series::new(Foreign::HdrHistogram, thread, percentiles(section, unit)?));
    }
    if unit > 1e3 {
        draft.notes.push(ImportNote::UnitTaken { unit: "milliseconds".to_owned() });
    }
    draft.notes.push(ImportNote::PercentilesOnly);
    draft.finish(PROGRAM)
}

/// Each line counts those since the line before, at its value.
#[allow(clippy::cast_possible_truncation, reason = "a float beyond the largest integer becomes that")]
fn percentiles(section: &str, unit: f64) -> Result<Distribution, ImportError> {
    let mut all = Distribution::default();
    let mut counted = 0;
    for line in section.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [value, _, total, ..] = words.as_slice() else { continue };
        let (Ok(value), Ok(total)) = (value.parse::<f64>(), total.parse::<u64>()) else { continue };
        let more = total.checked_sub(counted).ok_or_else(|| ImportError::Damaged {
            program: PROGRAM,
            what: format!("its total count falls from {counted} to {total}"),
        })?;
        count_in(&mut all, PROGRAM, (value * unit).round() as i64, more)?;
        counted = total;
    }
    if let Some(from) = clipped(section) {
        all.clip(Latency::from_nanos((from * unit).round() as i64));
    }
    Ok(all)
}

fn clipped(section: &str) -> Option<f64> {
    let said = section.lines().find_map(|line| line.strip_prefix(CLIPPED.0)?.strip_suffix(CLIPPED.1));
    said?.parse().ok().filter(|from: &f64| from.is_finite())
}
