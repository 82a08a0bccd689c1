//! `rtla timerlat hist` and `rtla osnoise hist` as text.

use howlate_model::{Foreign, ImportNote};

use crate::Read;
use crate::draft::{Draft, Imported, Series};
use crate::error::ImportError;
use crate::histogram::Linear;
use crate::table::{Table, summary};

const PROGRAM: &str = "rtla";
/// Buckets without `--entries`, each one unit wide without `--bucket-size`; the text says neither.
const USUAL_ENTRIES: u64 = 256;

/// A column of the table: what it is about, on which CPU.
struct Column {
    mechanism: Foreign,
    cpu: u32,
}

/// Reads it; `None` if the text is something else.
pub(crate) fn read(text: &str) -> Read {
    let tracer = text.lines().find_map(|line| line.strip_prefix("# RTLA "))?.split(' ').next()?.to_owned();
    Some(imported(text, &tracer))
}

fn imported(text: &str, tracer: &str) -> Result<Imported, ImportError> {
    let columns = columns(text)?;
    let unit = if text.contains("Time unit is nanoseconds") { 1 } else { 1_000 };
    let mut table = Table::new(PROGRAM, unit, columns.len())?;
    // A summary over all CPUs follows that of each, with other columns.
    let of_each = text.split("\nALL:").next().unwrap_or_default();
    for row in of_each.lines().filter_map(row) {
        let [value, counts @ ..] = row.as_slice() else { continue };
        table.row(*value, counts)?;
    }
    let [overflows, maxima, means] = ["over:", "max:", "avg:"].map(|label| summary(of_each, label));
    table.overflowed([&overflows, &maxima, &means], Some(USUAL_ENTRIES))?;
    let mut draft = Draft { program: format!("{PROGRAM} {tracer}"), ..Draft::default() };
    draft.notes.extend((unit > 1).then_some(ImportNote::WholeMicroseconds));
    draft.notes.extend(table.overflow().note());
    let found = columns.iter().zip(table.columns).filter(|(_, counts)| counts.counted() > 0);
    draft.series = found.enumerate().map(|(place, (column, counts))| column.series(place, counts)).collect();
    draft.finish(PROGRAM)
}

impl Column {
    fn series(&self, place: usize, counts: Linear) -> Series {
        Series { cpu: Some(self.cpu), ..Series::new(self.mechanism, place, counts.distribution()) }
    }
}

/// `Index   IRQ-000   Thr-000   Usr-000 …`, or `CPU-000` of osnoise.
fn columns(text: &str) -> Result<Vec<Column>, ImportError> {
    let wrong = |what: String| ImportError::Damaged { program: PROGRAM, what };
    let heading = text.lines().find_map(|line| line.strip_prefix("Index"));
    let heading =
        heading.ok_or_else(|| wrong("it has no line `Index …`; leave --no-header out".to_owned()))?;
    let column = |word: &str| {
        let (kind, cpu) = word.split_once('-')?;
        let mechanism = match kind {
            "IRQ" => Foreign::TimerlatIrq,
            "Thr" => Foreign::TimerlatThread,
            "Usr" => Foreign::TimerlatUser,
            "CPU" => Foreign::Osnoise,
            _ => return None,
        };
        Some(Column { mechanism, cpu: cpu.parse().ok()? })
    };
    let named = heading.split_whitespace();
    named.map(|word| column(word).ok_or_else(|| wrong(format!("its column `{word}` is unknown")))).collect()
}

/// A bucket with its counts.
fn row(line: &str) -> Option<Vec<u64>> {
    line.split_whitespace()
        .map(|word| word.parse().ok())
        .collect::<Option<Vec<u64>>>()
        .filter(|row| row.len() > 1)
}
