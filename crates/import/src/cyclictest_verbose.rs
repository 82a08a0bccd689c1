//! What `cyclictest -v` prints: a line for each wake-up.

use std::collections::BTreeMap;

use howlate_model::{Foreign, ImportNote, Span};

use crate::Read;
use crate::draft::{Draft, Imported, MOST_SERIES, Series};
use crate::error::ImportError;
use crate::histogram::Linear;

const PROGRAM: &str = "cyclictest";

/// One thread's lines.
#[derive(Default)]
struct Thread {
    values: BTreeMap<u64, u64>,
    lines: u64,
    /// Cycles that were numbered: the last one's number and one.
    cycles: u64,
}

/// Reads it; `None` if the text is something else.
pub(crate) fn read(text: &str) -> Read {
    let begins = text.lines().any(|line| interval(line).is_some());
    (begins && text.lines().any(|line| Wakeup::read(line).is_some())).then(|| imported(text))
}

fn imported(text: &str) -> Result<Imported, ImportError> {
    let intervals: BTreeMap<u32, u64> = text.lines().filter_map(interval).collect();
    let mut threads: BTreeMap<u32, Thread> = BTreeMap::new();
    for line in text.lines().filter_map(Wakeup::read) {
        threads.entry(line.thread).or_default().add(&line);
        if threads.len() > MOST_SERIES {
            let what = format!("it has more threads than {MOST_SERIES}, the most that are read");
            return Err(ImportError::Damaged { program: PROGRAM, what });
        }
    }
    let missing: u64 = threads.values().map(Thread::missing).fold(0, u64::saturating_add);
    let mut draft = Draft { program: PROGRAM.to_owned(), ..Draft::default() };
    for (number, thread) in threads {
        let mut series = thread.series(number)?;
        series.period = intervals.get(&number).copied().map(Span::from_micros);
        draft.series.push(series);
    }
    draft.notes.push(ImportNote::UnitTaken { unit: "microseconds".to_owned() });
    draft.notes.push(ImportNote::WholeMicroseconds);
    draft.notes.extend((missing > 0).then_some(ImportNote::CyclesMissing { count: missing }));
    draft.finish(PROGRAM)
}

impl Thread {
    fn add(&mut self, wakeup: &Wakeup) {
        let count = self.values.entry(wakeup.micros).or_default();
        *count = count.saturating_add(1);
        self.lines = self.lines.saturating_add(1);
        self.cycles = self.cycles.max(wakeup.cycle.saturating_add(1));
    }

    /// Cycles of which there is no line: cyclictest prints too slowly, or was asked for every so many (`-o`).
    const fn missing(&self) -> u64 {
        self.cycles.saturating_sub(self.lines)
    }

    fn series(self, number: u32) -> Result<Series, ImportError> {
        let mut linear = Linear::new(PROGRAM, 1_000);
        linear.add_all(self.values)?;
        Ok(Series::new(Foreign::Cyclictest, number as usize, linear.distribution()))
    }
}

/// `       0:      12:      11`, with a fourth number where SMIs are counted.
struct Wakeup {
    thread: u32,
    cycle: u64,
    micros: u64,
}

impl Wakeup {
    fn read(line: &str) -> Option<Self> {
        let mut numbers = line.split(':').map(str::trim);
        let mut next = || numbers.next();
        let (thread, cycle, micros) = (next()?.parse().ok()?, next()?.parse().ok()?, next()?);
        let is_over = next().is_none_or(|smis| smis.parse::<u64>().is_ok()) && next().is_none();
        // A clock that was set back gives a wake-up before its time, which this program's histograms count at 0.
        let micros = micros.parse::<i64>().ok()?.max(0).unsigned_abs();
        is_over.then_some(Self { thread, cycle, micros })
    }
}

/// `Thread 0 Interval: 1500`
fn interval(line: &str) -> Option<(u32, u64)> {
    let (thread, micros) = line.strip_prefix("Thread ")?.split_once(" Interval:")?;
    Some((thread.parse().ok()?, micros.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::Line;

    #[test]
    fn cycles_without_a_line_are_counted() {
        let text =
            "Thread 0 Interval: 1500\n       0:       0:      20\n       0:       3:      11\n0:x:1\nT: 0\n";
        let imported = read(text).unwrap().unwrap();
        let notes = imported.lines.iter().find_map(|line| match line {
            Line::Caveat(howlate_model::Caveat::Imported { notes, .. }) => Some(notes.clone()),
            _ => None,
        });
        assert!(notes.unwrap().contains(&ImportNote::CyclesMissing { count: 2 }));
        assert!(read("Thread 0 Interval: 1500\n").is_none());
        assert!(read("       0:       0:      20\n").is_none(), "three numbers may be anything");
    }
}
