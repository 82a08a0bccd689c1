//! cyclictest's histogram as text (`-h`, `-H`), as OSADL and many others keep it.

use howlate_model::{Foreign, ImportNote};

use crate::Read;
use crate::draft::{Draft, Imported, Series};
use crate::error::ImportError;
use crate::histogram::Linear;
use crate::table::{Table, summary};

const PROGRAM: &str = "cyclictest";
const MAXIMA: &str = "# Max Latencies:";

/// Reads it; `None` if the text is something else.
pub(crate) fn read(text: &str) -> Read {
    let is_it = text.lines().any(|line| line.trim_end() == "# Histogram") && text.contains(MAXIMA);
    is_it.then(|| imported(text))
}

fn imported(text: &str) -> Result<Imported, ImportError> {
    let maxima = summary(text, MAXIMA);
    // `-H` has a maximum of all threads behind them; then threads are named one by one.
    let named = text.lines().filter(|line| line.starts_with("# Thread ") && line.contains(':')).count();
    let mut table = Table::new(PROGRAM, 1_000, if named > 0 { named } else { maxima.len() })?;
    for line in text.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())) {
        let row = row(line)?;
        let [value, counts @ ..] = row.as_slice() else { continue };
        table.row(*value, counts)?;
    }
    let [overflows, means] = ["# Histogram Overflows:", "# Avg Latencies:"].map(|label| summary(text, label));
    table.overflowed([&overflows, &maxima, &means], None)?;
    let mut draft = Draft { program: PROGRAM.to_owned(), ..Draft::default() };
    draft.notes.push(ImportNote::UnitTaken { unit: "microseconds".to_owned() });
    draft.notes.push(ImportNote::WholeMicroseconds);
    draft.notes.extend(table.overflow().note());
    let threads = table.columns.into_iter().map(Linear::distribution).enumerate();
    draft.series = threads.map(|(thread, all)| Series::new(Foreign::Cyclictest, thread, all)).collect();
    draft.finish(PROGRAM)
}

/// A bucket and its counts; their sum may stand behind them.
fn row(line: &str) -> Result<Vec<u64>, ImportError> {
    let start: String = line.chars().take(40).collect();
    let wrong =
        |_| ImportError::Damaged { program: PROGRAM, what: format!("`{start}` is no row of its histogram") };
    line.split_whitespace().map(|word| word.parse().map_err(wrong)).collect()
}
