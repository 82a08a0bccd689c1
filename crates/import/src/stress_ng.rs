//! What `stress-ng --cyclic N --cyclic-dist NANOSECONDS` prints.

use std::collections::BTreeMap;

use howlate_model::{Foreign, ImportNote, Policy, Priority, Span};

use crate::Read;
use crate::draft::{Draft, Imported, Series};
use crate::error::ImportError;
use crate::histogram::Linear;

const PROGRAM: &str = "stress-ng";

/// What one instance said.
#[derive(Default)]
struct Instance {
    policy: Option<String>,
    delay: Option<u64>,
    samples: u64,
    max: Option<u64>,
    width: u64,
    buckets: Vec<(u64, u64)>,
}

/// Reads it; `None` if the text is something else.
pub(crate) fn read(text: &str) -> Read {
    let is_it = text.lines().any(|line| line.starts_with("stress-ng:") && line.contains("] cyclic:"));
    is_it.then(|| imported(text))
}

fn imported(text: &str) -> Result<Imported, ImportError> {
    // Several instances write at once; each line names its process.
    let mut instances: BTreeMap<u64, Instance> = BTreeMap::new();
    for line in text.lines() {
        let said = line.split_once('[').and_then(|(_, rest)| rest.split_once("] cyclic:"));
        if let Some((Ok(pid), said)) = said.map(|(pid, said)| (pid.trim().parse(), said)) {
            instances.entry(pid).or_default().hear(said.trim());
        }
    }
    instances.retain(|_, one| one.samples > 0);
    if instances.values().all(|one| one.buckets.is_empty()) {
        let remedy = "let stress-ng print one: `stress-ng --cyclic 1 --cyclic-dist 1000 …`";
        return Err(ImportError::NoHistogram { program: PROGRAM, remedy });
    }
    let mut draft = Draft { program: PROGRAM.to_owned(), ..Draft::default() };
    for (thread, one) in instances.values().enumerate() {
        draft.series.push(one.series(thread)?);
    }
    let width = instances.values().map(|one| one.width).max().unwrap_or(0);
    draft.notes.push(ImportNote::EndsOfBuckets { width: Span::from_nanos(width) });
    draft.finish(PROGRAM)
}

impl Instance {
    fn hear(&mut self, said: &str) {
        let words: Vec<&str> = said.split_whitespace().collect();
        match words.as_slice() {
            // sched SCHED_FIFO: 100000 ns delay, 10000 samples
            ["sched", policy, delay, "ns", "delay,", samples, "samples"] => {
                self.policy = Some(policy.trim_end_matches(':').to_owned());
                (self.delay, self.samples) = (delay.parse().ok(), samples.parse().unwrap_or(0));
            }
            ["min:", _, "ns,", "max:", max, "ns,", ..] => self.max = max.parse().ok(),
            ["latency", "distribution", width, "ns", "intervals):"] => {
                self.width = width.trim_start_matches('(').parse().unwrap_or(0);
            }
            [value, count] => {
                let numbers = value.parse().ok().zip(count.parse().ok());
                self.buckets.extend(numbers);
            }
            _ => {}
        }
    }

    /// Its buckets are so wide that each value counts at the end of its own, if the largest is not below it.
    fn series(&self, thread: usize) -> Result<Series, ImportError> {
        let mut linear = Linear::new(PROGRAM, 1);
        for &(beginning, count) in &self.buckets {
            let end = beginning.saturating_add(self.width.saturating_sub(1));
            linear.add(end.min(self.max.unwrap_or(end)), count)?;
        }
        linear.overflowed(self.samples.saturating_sub(linear.counted()), self.max)?;
        let mut series = Series::new(Foreign::StressNg, thread, linear.distribution());
        series.period = self.delay.map(Span::from_nanos);
        series.policy = self.policy.as_deref().and_then(policy);
        Ok(series)
    }
}

/// The priority is not printed: stress-ng takes the highest that it may if none is asked for.
fn policy(name: &str) -> Option<Policy> {
    let priority = Priority::new(99)?;
    match name {
        "SCHED_OTHER" => Some(Policy::OTHER),
        "SCHED_BATCH" => Some(Policy::Batch),
        "SCHED_IDLE" => Some(Policy::Idle),
        "SCHED_FIFO" => Some(Policy::Fifo { priority }),
        "SCHED_RR" => Some(Policy::Rr { priority }),
        _ => None,
    }
}
