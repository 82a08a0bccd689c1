//! What `cyclictest -v` prints: a line for each wake-up.

use std::collections::BTreeMap;

use howlate_model::{Distribution, ForeignTool, ImportNote, Span, TimeUnit};

use crate::draft::{ImportDraft, ImportedSeries, MOST_SERIES};
use crate::error::ImportError;
use crate::format::{FileFormat, ImportOptions, LastLine, LineReader, Shape};
use crate::histogram::count_in;

const PROGRAM: &str = "cyclictest";

pub(crate) const FORMAT: FileFormat = FileFormat {
    file: "text with a line per wake-up",
    written_by: "`cyclictest -v`",
    becomes: "one per thread, with its period; cycles that it did not print are counted as missing",
    samples: &["cyclictest-verbose.txt"],
    shape: Shape::Lines {
        first: b"T",
        is_sign: |line| interval(line).is_some(),
        begin: |options| Box::new(Verbose::new(options)),
    },
};

/// All runs of a file, one after the other.
struct Verbose {
    unit: TimeUnit,
    is_unit_said: bool,
    finished: Vec<ImportDraft>,
    run: VerboseRun,
}

/// The threads of one run, by number.
#[derive(Default)]
struct VerboseRun {
    intervals: BTreeMap<u32, u64>,
    threads: BTreeMap<u32, VerboseThread>,
}

/// Values below this are counted one by one, in 8 KiB a thread.
const SMALL: usize = 1 << 10;

#[derive(Default)]
struct VerboseThread {
    /// How often each small value came, until the run ends: nearly all are small.
    small: Vec<u64>,
    latency: Distribution,
    lines: u64,
    /// Cycles that were numbered: the last one's number and one.
    cycles: u64,
}

impl Verbose {
    fn new(options: ImportOptions) -> Self {
        Self {
            unit: options.unit.unwrap_or(TimeUnit::Microseconds),
            is_unit_said: options.unit.is_some(),
            finished: Vec::new(),
            run: VerboseRun::default(),
        }
    }

    fn count(&mut self, wakeup: &PrintedWakeup) -> Result<(), ImportError> {
        let threads = &mut self.run.threads;
        if let Some(thread) = threads.get_mut(&wakeup.thread) {
            return thread.add(wakeup, self.unit);
        }
        if threads.len() >= MOST_SERIES {
            let what = format!("it has more threads than {MOST_SERIES}, the most that are read");
            return Err(ImportError::Damaged { program: PROGRAM, what });
        }
        threads.entry(wakeup.thread).or_default().add(wakeup, self.unit)
    }

    fn end_run(&mut self) -> Result<(), ImportError> {
        let run = std::mem::take(&mut self.run);
        if !run.threads.is_empty() {
            self.finished.push(run.draft(self.unit, self.is_unit_said)?);
        }
        Ok(())
    }
}

impl LineReader for Verbose {
    fn line(&mut self, line: &str) -> Result<(), ImportError> {
        if let Some(wakeup) = PrintedWakeup::read(line) {
            return self.count(&wakeup);
        }
        if let Some((thread, micros)) = interval(line) {
            if !self.run.threads.is_empty() {
                self.end_run()?;
            }
            if self.run.intervals.len() < MOST_SERIES {
                self.run.intervals.insert(thread, micros);
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, last: LastLine) -> Result<Vec<ImportDraft>, ImportError> {
        self.end_run()?;
        if let Some(draft) = self.finished.last_mut().filter(|_| last == LastLine::Open) {
            draft.cut_off();
        }
        Ok(self.finished)
    }
}

impl VerboseRun {
    fn draft(self, unit: TimeUnit, is_unit_said: bool) -> Result<ImportDraft, ImportError> {
        let mut draft = ImportDraft::new(PROGRAM);
        let missing: u64 = self.threads.values().map(VerboseThread::missing).fold(0, u64::saturating_add);
        for (number, thread) in self.threads {
            let period = self.intervals.get(&number).copied().map(Span::from_micros);
            let series =
                ImportedSeries::new(ForeignTool::Cyclictest, number as usize, thread.distribution(unit)?);
            draft.series.push(ImportedSeries { period, ..series });
        }
        draft.lacks_unit = true;
        if !is_unit_said {
            draft.notes.push(ImportNote::UnitTaken { unit: unit.name().to_owned() });
        }
        draft.notes.extend((unit == TimeUnit::Microseconds).then_some(ImportNote::WholeMicroseconds));
        draft.notes.extend((missing > 0).then_some(ImportNote::CyclesMissing { count: missing }));
        Ok(draft)
    }
}

impl VerboseThread {
    fn add(&mut self, wakeup: &PrintedWakeup, unit: TimeUnit) -> Result<(), ImportError> {
        if wakeup.cycle < self.cycles {
            let PrintedWakeup { thread, cycle, .. } = wakeup;
            return Err(ImportError::damaged(
                PROGRAM,
                format!("cycle {cycle} of thread {thread} does not follow the one before it"),
            ));
        }
        self.lines = self.lines.saturating_add(1);
        self.cycles = wakeup.cycle.saturating_add(1);
        if self.small.is_empty() {
            self.small = vec![0; SMALL];
        }
        let place = usize::try_from(wakeup.value).unwrap_or(usize::MAX);
        match self.small.get_mut(place) {
            Some(count) => *count = count.saturating_add(1),
            None => self.count(wakeup.value, 1, unit)?,
        }
        Ok(())
    }

    fn count(&mut self, value: u64, count: u64, unit: TimeUnit) -> Result<(), ImportError> {
        let nanos = i64::try_from(value.saturating_mul(unit.nanos())).unwrap_or(i64::MAX);
        count_in(&mut self.latency, PROGRAM, nanos, count)
    }

    fn distribution(mut self, unit: TimeUnit) -> Result<Distribution, ImportError> {
        let small = std::mem::take(&mut self.small);
        (0..).zip(small).try_for_each(|(value, count)| self.count(value, count, unit))?;
        Ok(self.latency)
    }

    /// Cycles without a line: cyclictest prints too slowly, or only every n-th (`-o`).
    const fn missing(&self) -> u64 {
        self.cycles.saturating_sub(self.lines)
    }
}

/// `       0:      12:      11`, with a fourth number where SMIs are counted.
struct PrintedWakeup {
    thread: u32,
    cycle: u64,
    value: u64,
}

impl PrintedWakeup {
    fn read(line: &str) -> Option<Self> {
        let (thread, rest) = number(line.as_bytes())?;
        let (cycle, rest) = number(behind_colon(rest)?)?;
        let rest = behind_colon(rest)?;
        // A clock that was set back gives a wake-up before its time, which this program's histograms count at 0.
        let (is_early, rest) = rest.strip_prefix(b"-").map_or((false, rest), |rest| (true, rest));
        let (value, rest) = number(rest)?;
        let smis = if rest.is_empty() { rest } else { number(behind_colon(rest)?)?.1 };
        let wakeup =
            Self { thread: u32::try_from(thread).ok()?, cycle, value: if is_early { 0 } else { value } };
        smis.is_empty().then_some(wakeup)
    }
}

/// The number at the beginning, and what follows it.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let (mut value, mut rest) = (0_u64, text);
    while let [digit @ b'0'..=b'9', more @ ..] = rest {
        value = value.checked_mul(10)?.checked_add(u64::from(digit.wrapping_sub(b'0')))?;
        rest = more;
    }
    (rest.len() < text.len()).then_some((value, rest))
}

/// What stands behind a colon and blanks.
fn behind_colon(text: &[u8]) -> Option<&[u8]> {
    text.strip_prefix(b":").map(<[u8]>::trim_ascii_start)
}

/// `Thread 0 Interval: 1500`
fn interval(line: &str) -> Option<(u32, u64)> {
    let (thread, micros) = line.strip_prefix("Thread ")?.split_once(" Interval:")?;
    Some((thread.parse().ok()?, micros.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use howlate_model::{Caveat, Line};

    use crate::{ImportOptions, import};

    #[test]
    fn cycles_without_a_line_are_counted() {
        let text =
            "Thread 0 Interval: 1500\n       0:       0:      20\n       0:       3:      11\n0:x:1\nT: 0\n";
        let imported = import(text.as_bytes(), ImportOptions::default()).unwrap().unwrap();
        let notes = imported.lines.iter().find_map(|line| match line {
            Line::Caveat(Caveat::Imported { notes, .. }) => Some(notes.clone()),
            _ => None,
        });
        assert!(notes.unwrap().contains(&super::ImportNote::CyclesMissing { count: 2 }));
        assert!(import("Thread 0 Interval: 1500\n".as_bytes(), ImportOptions::default()).is_none());
        let anything = "       0:       0:      20\n";
        assert!(
            import(anything.as_bytes(), ImportOptions::default()).is_none(),
            "three numbers may be anything"
        );
    }
}
