//! What oslat prints: a row per bucket, a column per CPU.

use howlate_model::{Foreign, HistogramEnd, ImportNote};

use crate::Read;
use crate::draft::{Draft, Imported, MOST_SERIES, Series};
use crate::error::ImportError;
use crate::histogram::{Linear, Overflow};

const PROGRAM: &str = "oslat";
/// The row in which longer ones are counted as well.
const OVERFLOWS: &str = "(including overflows)";

/// Reads it; `None` if the text is something else.
pub(crate) fn read(text: &str) -> Read {
    let version = text.lines().find_map(|line| line.trim().strip_prefix("oslat V "));
    let cores = row(text, "Core")?;
    let is_it = version.is_some() || row(text, "Counter Freq").is_some();
    is_it.then(|| imported(text, version.unwrap_or_default(), cores))
}

fn imported(text: &str, version: &str, cores: &str) -> Result<Imported, ImportError> {
    let cores: Vec<u32> = numbers(cores);
    if cores.len() > MOST_SERIES {
        let what = format!("it has {} CPUs; {MOST_SERIES} threads at most are read", cores.len());
        return Err(ImportError::Damaged { program: PROGRAM, what });
    }
    let rows: Vec<BucketRow> = text.lines().filter_map(BucketRow::read).collect();
    if rows.is_empty() {
        let remedy = "let oslat print its buckets, which it does without `--quiet`, or write them: `oslat --json=FILE`";
        return Err(ImportError::NoHistogram { program: PROGRAM, remedy });
    }
    let maxima: Vec<u64> = numbers(row(text, "Maximum").unwrap_or_default());
    let means: Vec<f64> = numbers(row(text, "Average").unwrap_or_default());
    let mut draft = Draft { program: format!("{PROGRAM} {version}").trim().to_owned(), ..Draft::default() };
    let mut overflows = Vec::new();
    for (place, cpu) in cores.into_iter().enumerate() {
        let counts = counts(&rows, place, maxima.get(place).copied(), means.get(place).copied())?;
        overflows.push(counts.overflow());
        let series = Series::new(Foreign::Oslat, place, counts.distribution());
        draft.series.push(Series { cpu: Some(cpu), ..series });
    }
    let is_whole = rows.iter().all(|row| row.nanos.is_multiple_of(1_000));
    draft.notes.push(ImportNote::Gaps);
    draft.notes.extend(is_whole.then_some(ImportNote::WholeMicroseconds));
    draft.notes.extend(Overflow::joined(overflows).note());
    draft.finish(PROGRAM)
}

/// The column of one CPU; `max` and `mean` are microseconds.
fn counts(
    rows: &[BucketRow],
    place: usize,
    max: Option<u64>,
    mean: Option<f64>,
) -> Result<Linear, ImportError> {
    let max = max.map(|micros| micros.saturating_mul(1_000));
    let mut linear = Linear::new(PROGRAM, 1);
    let (mut from, mut beyond) = (None, 0);
    for row in rows {
        let count = row.counts.get(place).copied().ok_or_else(|| row.too_short())?;
        // The largest is cut to whole microseconds: in the bucket's own one, nothing was longer.
        if row.has_longer && max.is_none_or(|max| max > row.nanos) {
            (from, beyond) = (Some(row.nanos), count);
        } else {
            linear.add(row.nanos, count)?;
        }
    }
    if let Some(from) = from {
        linear.reaches(from, HistogramEnd::Said);
        linear.overflowed(beyond, max)?;
        mean.into_iter().for_each(|mean| linear.mean(1_000.0 * mean));
    }
    Ok(linear)
}

/// `    032 (us):     43 54 (including overflows)`
struct BucketRow {
    nanos: u64,
    counts: Vec<u64>,
    has_longer: bool,
}

impl BucketRow {
    fn read(line: &str) -> Option<Self> {
        let (value, counts) = line.split_once(" (us):")?;
        let has_longer = counts.contains(OVERFLOWS);
        Some(Self { nanos: nanos(value.trim())?, counts: numbers(counts), has_longer })
    }

    fn too_short(&self) -> ImportError {
        let what = format!("its row of {} ns has only {} counts", self.nanos, self.counts.len());
        ImportError::Damaged { program: PROGRAM, what }
    }
}

/// Microseconds, which have up to three decimals where buckets are narrower (`--bucket-width`).
fn nanos(micros: &str) -> Option<u64> {
    let (whole, part) = micros.split_once('.').unwrap_or((micros, ""));
    let part: u64 = format!("{part:0<3}").get(..3)?.parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(part)
}

/// What stands behind a label and its colon.
fn row<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.trim_start().strip_prefix(label)?.strip_prefix(':'))
}

/// The numbers at the beginning of a row.
fn numbers<T: std::str::FromStr>(row: &str) -> Vec<T> {
    row.split_whitespace().map_while(|word| word.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_nanoseconds() {
        let read = ["001", "032", "1.5", "0.125", "2.0005", "x", "1.x", ""].map(nanos);
        let known = [1_000, 32_000, 1_500, 125, 2_000].map(Some);
        assert_eq!(read[..5], known);
        assert_eq!(read[5..], [None, None, None]);
    }

    #[test]
    fn a_row_with_too_few_counts_is_damaged() {
        let text = "oslat V 2.40\n Core:\t 0 1\n 001 (us):\t 5\n";
        let error = read(text).unwrap().unwrap_err().to_string();
        assert!(error.contains("its row of 1000 ns has only 1 counts"), "{error}");
    }
}
