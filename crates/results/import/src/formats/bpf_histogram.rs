//! Histograms by powers of two, as runqlat and the other tools of bcc print them, and bpftrace.

use std::collections::BTreeMap;

use howlate_model::{ForeignTool, ImportNote, Span, TimeUnit};

use crate::draft::{ImportDraft, ImportedSeries, MOST_SERIES};
use crate::error::ImportError;
use crate::format::{FileFormat, LastLine, LineReader, Shape};
use crate::histogram::{BucketLabel, Claims, Linear};

const PROGRAM: &str = "a histogram of bcc or bpftrace";
const RUN_QUEUE: &str = "Tracing run queue latency";

pub(crate) const FORMAT: FileFormat = FileFormat {
    file: "text with `distribution`, or a map of bpftrace",
    written_by: "runqlat, cpudist, biolatency and others of bcc; `hist()` of bpftrace, if the map is named `@usecs`, `@ns`, …",
    becomes: "one per table or key: each value counts at the end of its bucket; tables of the same key are added up",
    samples: &["runqlat.txt", "bpftrace.txt"],
    shape: Shape::Lines { first: b"Tumns@", is_sign, begin: |_| Box::new(Tables::new()) },
};

fn is_sign(line: &str) -> bool {
    line.starts_with(RUN_QUEUE) || heading_unit(line).is_some() || map(line).is_some()
}

/// `usecs               : count     distribution`
fn heading_unit(line: &str) -> Option<TimeUnit> {
    let (unit, rest) = line.split_once(':').filter(|_| line.ends_with("distribution"))?;
    rest.split_whitespace().eq(["count", "distribution"]).then(|| TimeUnit::read(unit))?
}

/// `@usecs:`, `@usecs[bash]:`: the unit that a map is named after, and its key.
fn map(line: &str) -> Option<(TimeUnit, &str)> {
    let name = line.strip_prefix('@')?.strip_suffix(':')?;
    let (name, key) = match name.split_once('[') {
        Some((name, key)) => (name, key.strip_suffix(']')?),
        None => (name, ""),
    };
    let unit = name.rsplit('_').next().and_then(TimeUnit::read);
    unit.map(|unit| (unit, key))
}

/// All tables of a file.
struct Tables {
    is_of_run_queue: bool,
    /// What stands above the next table, such as `pid = 17`.
    key: String,
    unit: TimeUnit,
    is_in_table: bool,
    /// Buckets by key: the end of each, in nanoseconds, with its count.
    tables: BTreeMap<String, BTreeMap<u64, u64>>,
    widest: u64,
    /// Where the next bucket of the table begins.
    next: Option<u64>,
    /// A row that is not there, between those that are.
    gap: Option<u64>,
}

impl Tables {
    const fn new() -> Self {
        Self {
            is_of_run_queue: false,
            key: String::new(),
            unit: TimeUnit::Microseconds,
            is_in_table: false,
            tables: BTreeMap::new(),
            widest: 0,
            next: None,
            gap: None,
        }
    }

    fn begin(&mut self, unit: TimeUnit) -> Result<(), ImportError> {
        (self.unit, self.is_in_table, self.next) = (unit, true, None);
        if self.tables.len() >= MOST_SERIES && !self.tables.contains_key(&self.key) {
            return Err(ImportError::damaged(PROGRAM, format!("it has more than {MOST_SERIES} tables")));
        }
        Ok(())
    }

    fn row(&mut self, (from, until, count): (u64, u64, u64)) -> Result<(), ImportError> {
        if self.next.is_some_and(|next| from < next) {
            return Err(ImportError::damaged(PROGRAM, format!("its row from {from} on follows one of more")));
        }
        self.gap = self.gap.or(self.next.filter(|next| from > *next));
        self.next = Some(until.saturating_add(1));
        let nanos = |units: u64| units.saturating_mul(self.unit.nanos());
        // Whole units: the last value of `2 -> 3` ends where 4 begins.
        let end = nanos(until.saturating_add(1)).saturating_sub(1).max(nanos(until));
        let end = if self.unit == TimeUnit::Nanoseconds { nanos(until) } else { end };
        self.widest = self.widest.max(nanos(until.saturating_add(1).saturating_sub(from)));
        let table = self.tables.entry(self.key.clone()).or_default();
        let counted = table.entry(end).or_default();
        *counted = counted
            .checked_add(count)
            .ok_or_else(|| ImportError::damaged(PROGRAM, "it counts too many values"))?;
        if table.len() > 256 {
            return Err(ImportError::damaged(PROGRAM, "it has more buckets than powers of two"));
        }
        Ok(())
    }
}

impl LineReader for Tables {
    fn line(&mut self, line: &str) -> Result<(), ImportError> {
        self.is_of_run_queue |= line.starts_with(RUN_QUEUE);
        if let Some(unit) = heading_unit(line) {
            self.begin(unit)?;
            // Tools of bcc print all rows from 0 on.
            self.next = Some(0);
            return Ok(());
        }
        if let Some((unit, key)) = map(line) {
            key.clone_into(&mut self.key);
            return self.begin(unit);
        }
        if let Some(row) = row(line).filter(|_| self.is_in_table) {
            return self.row(row);
        }
        self.is_in_table = false;
        if let Some((name, value)) = line.split_once(" = ").filter(|(name, _)| !name.contains(' ')) {
            self.key = format!("{name} {}", value.trim_matches(['\'', '"', ' ']));
        }
        Ok(())
    }

    fn finish(self: Box<Self>, last: LastLine) -> Result<Vec<ImportDraft>, ImportError> {
        let is_cut = last == LastLine::Open;
        let mechanism = if self.is_of_run_queue { ForeignTool::Runqlat } else { ForeignTool::BpfHistogram };
        let mut draft = ImportDraft::new(if self.is_of_run_queue { "runqlat" } else { PROGRAM });
        for (key, buckets) in self.tables {
            let mut linear = Linear::new(PROGRAM, 1).labelled(BucketLabel::End);
            linear.add_all(buckets)?;
            linear.settle(&Claims::default())?;
            let all = linear.distribution();
            if all.is_empty() {
                continue;
            }
            let series = ImportedSeries::new(mechanism, draft.series.len(), all);
            draft.series.push(if key.is_empty() { series } else { series.named(&key) });
        }
        if draft.series.is_empty() {
            let remedy = "let it count longer: its tables have no rows";
            return Err(ImportError::NoHistogram { program: PROGRAM, remedy });
        }
        draft.notes.push(ImportNote::EndsOfBuckets { width: Span::from_nanos(self.widest) });
        if let Some(from) = self.gap {
            draft.notes.push(ImportNote::LeftOut { what: format!("its row from {from} on is not there") });
            draft.is_cut = true;
        }
        if is_cut {
            draft.cut_off();
        }
        Ok(vec![draft])
    }
}

/// A bucket from its first value to its last, with its count: `2 -> 3 : 742 |***|`, `[2, 4)  742 |@@@|`, `[1]  361 |@|`.
fn row(line: &str) -> Option<(u64, u64, u64)> {
    if let Some((range, rest)) = line.split_once(" : ") {
        let (from, until) = range.split_once("->")?;
        let count = rest.split_whitespace().next()?.parse().ok()?;
        return Some((from.trim().parse().ok()?, until.trim().parse().ok()?, count));
    }
    let (range, rest) = line.strip_prefix('[')?.split_once([']', ')'])?;
    let count = rest.split_whitespace().next()?.parse().ok()?;
    match range.split_once(',') {
        Some((from, end)) => Some((number(from)?, number(end)?.checked_sub(1)?, count)),
        None => number(range).map(|value| (value, value, count)),
    }
}

/// `1K` is 1 024, as bpftrace writes it.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' => (text.trim_end_matches('K'), 10),
        b'M' => (text.trim_end_matches('M'), 20),
        b'G' => (text.trim_end_matches('G'), 30),
        b'T' => (text.trim_end_matches('T'), 40),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1_u64.checked_shl(shift)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_both_are_read() {
        assert_eq!(row("2 -> 3          : 742      |*******    |"), Some((2, 3, 742)));
        assert_eq!(row("[2, 4)               742 |@@@@@@@@@|"), Some((2, 3, 742)));
        assert_eq!(row("[1K, 2K)              12 |@|"), Some((1_024, 2_047, 12)));
        assert_eq!(row("[0]                  233 |@@@|"), Some((0, 0, 233)));
        assert_eq!([row("a -> b : 1"), row("[a] 7"), row("usecs : count distribution")], [None; 3]);
        assert_eq!(map("@usecs[bash]:"), Some((TimeUnit::Microseconds, "bash")));
        assert_eq!(map("@bytes:"), None);
        assert_eq!(
            heading_unit("msecs               : count     distribution"),
            Some(TimeUnit::Milliseconds)
        );
    }
}
