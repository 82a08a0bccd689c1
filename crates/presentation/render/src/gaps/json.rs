//! The JSON output of `howlate gaps`.

use howlate_analyse::gaps::{CpuGaps, ExplainedGap, GapShare, Stall};
use schemars::JsonSchema;
use serde::Serialize;

use super::GapsReport;
use crate::bounded_json::answer_schema;

/// What `howlate gaps --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Gaps")]
struct GapsDocument {
    /// Of these names: 1.
    format: u32,
    /// The version of the program.
    howlate: &'static str,
    /// Always `gaps`.
    command: &'static str,
    /// When it began, by the clock on the wall.
    began: String,
    /// The same on `CLOCK_MONOTONIC`.
    began_ns: i64,
    /// The shortest gap that counts.
    above_ns: u64,
    /// The policy of the spinning threads.
    policy: String,
    /// What they read: `ticks`, the processor's counter, or `clock`, `CLOCK_MONOTONIC`.
    counter: &'static str,
    /// Where causes are known from: `tracefs`, or `none`.
    tracer: &'static str,
    /// Why the kernel's events could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// Events that were not recorded; gaps around them are `not_traced`.
    events_lost: u64,
    /// Whether a CPU was left to everything else.
    leaves_one: bool,
    /// Whether it was ended before its time.
    interrupted: bool,
    /// Each measured CPU.
    gaps: Vec<CpuEntry>,
    /// Stretches in which all measured CPUs were in a gap; absent of one CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    stalls: Option<StallsEntry>,
}

/// One CPU.
#[derive(Serialize, JsonSchema)]
struct CpuEntry {
    /// Its number.
    cpu: u32,
    /// Gaps.
    count: u64,
    /// What they took together.
    total_ns: u64,
    /// Of the time, in parts per million.
    ppm: f64,
    /// The longest one.
    max_ns: u64,
    /// For how long the thread spun.
    lasted_ns: u64,
    /// How many times it read the counter.
    turns: u64,
    /// The shortest time between two readings.
    turn_ns: u64,
    /// Gaps that are in the counts above, and found no room to be told apart.
    lost: u64,
    /// Whether the thread did not stay on this CPU: it went offline, or the thread's affinity was changed. Causes are not known
    /// then, and some of the time is that of other CPUs.
    moved: bool,
    /// How long the thread was ready and had no CPU, by the kernel's account.
    #[serde(skip_serializing_if = "Option::is_none")]
    waited_ns: Option<u64>,
    /// What the hypervisor took, in whole ticks of the kernel's account; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    stolen_ns: Option<u64>,
    /// Non-maskable interrupts.
    #[serde(skip_serializing_if = "Option::is_none")]
    nmis: Option<u64>,
    /// System management interrupts, where the processor counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    smis: Option<u64>,
    /// What the gaps went to, the most first; the times add up to those of all gaps that were told apart.
    by: Vec<ShareEntry>,
    /// How long they were.
    histogram: Vec<BucketEntry>,
    /// The longest ones, the longest first.
    worst: Vec<WorstEntry>,
}

/// What one cause took.
#[derive(Serialize, JsonSchema)]
struct ShareEntry {
    /// `thread`, `interrupt`, `softirq`, `nmi`, `page_fault`, `idle`, `smi`, `no_event` or `not_traced`.
    kind: &'static str,
    /// A thread's comm, an interrupt's or softirq's name as the kernel has it.
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    /// Gaps of which it is the largest part.
    gaps: u64,
    /// Gaps of which it is any part.
    in_gaps: u64,
    /// What it took of all gaps.
    total_ns: u64,
    /// The longest gap of which it is the largest part.
    max_ns: u64,
}

/// Gaps of about one length.
#[derive(Serialize, JsonSchema)]
struct BucketEntry {
    /// The least that falls into it.
    from_ns: u64,
    /// The most.
    to_ns: u64,
    /// How many.
    count: u64,
}

/// One gap.
#[derive(Serialize, JsonSchema)]
struct WorstEntry {
    /// When it began, on `CLOCK_MONOTONIC`.
    at_ns: i64,
    /// The same by the clock on the wall.
    time: String,
    /// How long it was.
    length_ns: u64,
    /// Who had the CPU, the largest part first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<PartEntry>,
}

/// A part of a gap.
#[derive(Serialize, JsonSchema)]
struct PartEntry {
    /// As in `by`.
    kind: &'static str,
    /// As in `by`.
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    /// For how long.
    ns: u64,
}

/// What all CPUs had in common.
#[derive(Serialize, JsonSchema)]
struct StallsEntry {
    /// How many.
    count: u64,
    /// What they took together.
    total_ns: u64,
    /// The longest one.
    max_ns: u64,
    /// The longest ones, the longest first.
    worst: Vec<WorstEntry>,
}

impl GapsReport {
    /// As one line of JSON.
    pub fn json(&self) -> serde_json::Result<String> {
        let run = &self.run;
        let document = GapsDocument {
            format: 1,
            howlate: env!("CARGO_PKG_VERSION"),
            command: "gaps",
            began: self.began.to_string(),
            began_ns: run.began.as_nanos(),
            above_ns: run.above.as_nanos(),
            policy: run.policy.to_string(),
            counter: if run.reads_ticks { "ticks" } else { "clock" },
            tracer: if self.is_traced() { "tracefs" } else { "none" },
            refused: run.not_traced.as_ref().map(ToString::to_string),
            events_lost: run.events_lost,
            leaves_one: run.leaves_one,
            interrupted: run.interrupted,
            gaps: run.cpus.iter().map(|cpu| self.cpu_entry(cpu)).collect(),
            stalls: (run.cpus.len() > 1).then(|| self.stalls_entry()),
        };
        Ok(serde_json::to_string(&document)? + "\n")
    }

    fn cpu_entry(&self, cpu: &CpuGaps) -> CpuEntry {
        let counted = &cpu.counted;
        CpuEntry {
            cpu: counted.cpu,
            count: counted.gaps,
            total_ns: counted.total.as_nanos(),
            ppm: cpu.ppm(),
            max_ns: counted.longest.as_nanos(),
            lasted_ns: counted.lasted.as_nanos(),
            turns: counted.turns,
            turn_ns: counted.shortest.as_nanos(),
            lost: counted.lost,
            moved: counted.moved,
            waited_ns: counted.waited.map(|waited| waited.as_nanos()),
            stolen_ns: cpu.account.stolen.map(|stolen| stolen.as_nanos()),
            nmis: cpu.account.nmis,
            smis: cpu.account.smis,
            by: cpu.by.iter().map(share).collect(),
            histogram: cpu.histogram.buckets().map(bucket).collect(),
            worst: cpu.worst.iter().map(|gap| self.worst_entry(gap)).collect(),
        }
    }

    fn worst_entry(&self, gap: &ExplainedGap) -> WorstEntry {
        let part = |part: &howlate_analyse::gaps::GapPart| PartEntry {
            kind: part.cause.kind.name(),
            name: part.cause.name.to_string(),
            ns: part.length.as_nanos(),
        };
        let stall = Stall { from: gap.gap.from, length: gap.gap.length };
        WorstEntry { parts: gap.parts.iter().map(part).collect(), ..self.stall_entry(&stall) }
    }

    fn stall_entry(&self, stall: &Stall) -> WorstEntry {
        WorstEntry {
            at_ns: stall.from.as_nanos(),
            time: self.when(stall.from).to_string(),
            length_ns: stall.length.as_nanos(),
            parts: Vec::new(),
        }
    }

    fn stalls_entry(&self) -> StallsEntry {
        let stalls = &self.run.stalls;
        StallsEntry {
            count: stalls.count,
            total_ns: stalls.total.as_nanos(),
            max_ns: stalls.worst.first().map_or(0, |stall| stall.length.as_nanos()),
            worst: stalls.worst.iter().map(|stall| self.stall_entry(stall)).collect(),
        }
    }
}

fn share(share: &GapShare) -> ShareEntry {
    ShareEntry {
        kind: share.cause.kind.name(),
        name: share.cause.name.to_string(),
        gaps: share.gaps,
        in_gaps: share.in_gaps,
        total_ns: share.total.as_nanos(),
        max_ns: share.longest.as_nanos(),
    }
}

fn bucket(bucket: howlate_model::Bucket) -> BucketEntry {
    BucketEntry { from_ns: bucket.lowest, to_ns: bucket.highest, count: bucket.count }
}

/// The JSON Schema of that object, draft 2020-12; `docs/gaps.schema.json` is a copy.
pub fn gaps_schema() -> serde_json::Result<String> {
    answer_schema::<GapsDocument>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_published::assert_published;

    #[test]
    fn the_published_schema_is_that_of_the_code() {
        assert_published("gaps.schema.json", &gaps_schema().unwrap());
    }
}
