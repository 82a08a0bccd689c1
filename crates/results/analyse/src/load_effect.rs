//! What a load did while a condition was measured.

use howlate_model::{LoadBlock, PartEffect, Span, add_each};
use schemars::JsonSchema;
use serde::Serialize;

/// Sums over all stretches in which a condition was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LoadEffect {
    /// How long they were together.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Span,
    /// What each part of the load did; empty when idle.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartEffect>,
    /// Context switches of the whole machine; absent where they were not read every time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_switches: Option<u64>,
    /// Interrupts of the whole machine; absent where they were not read every time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<u64>,
    /// How often each idle state of the measured CPU was entered, shallowest first; empty where threads were not bound to one
    /// CPU, or the kernel counts none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub idle_entries: Vec<u64>,
}

impl LoadEffect {
    /// The effect within one block.
    pub(crate) fn from_block(block: &LoadBlock) -> Self {
        Self {
            elapsed: block.elapsed(),
            parts: block.parts.clone(),
            context_switches: block.context_switches,
            interrupts: block.interrupts,
            idle_entries: block.idle_entries.clone(),
        }
    }

    /// Adds the effect of another block or condition.
    pub fn add(&mut self, other: &Self) {
        self.elapsed = self.elapsed.plus(other.elapsed);
        for part in &other.parts {
            match self.parts.iter_mut().find(|own| own.part == part.part) {
                Some(own) => own.add(part),
                None => self.parts.push(part.clone()),
            }
        }
        let both = |sum: Option<u64>, other: Option<u64>| Some(sum? + other?);
        self.context_switches = both(self.context_switches, other.context_switches);
        self.interrupts = both(self.interrupts, other.interrupts);
        add_each(&mut self.idle_entries, &other.idle_entries);
    }

    /// `count` per second of the measured time.
    pub fn per_second(&self, count: u64) -> Option<f64> {
        let seconds = self.elapsed.as_secs_f64();
        (seconds > 0.0).then(|| count as f64 / seconds)
    }

    /// Parts of the load without visible effect.
    pub(crate) fn idle_parts(&self) -> impl Iterator<Item = &PartEffect> {
        let did_nothing = |part: &&PartEffect| match (part.operations, part.cpu) {
            (Some(operations), _) => operations == 0,
            (None, Some(cpu)) => cpu.is_zero(),
            (None, None) => false,
        };
        self.parts.iter().filter(did_nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::MonotonicTime;

    fn block(from: i64, until: i64, operations: u64) -> LoadBlock {
        LoadBlock {
            conditions: vec![0],
            round: 0,
            from: MonotonicTime::from_nanos(from),
            until: MonotonicTime::from_nanos(until),
            parts: vec![PartEffect {
                part: "pipe".into(),
                cpus: howlate_model::CpuSet::default(),
                unit: Some("wake-ups".into()),
                operations: Some(operations),
                cpu: Some(Span::from_nanos(7)),
            }],
            context_switches: Some(10),
            interrupts: None,
            idle_entries: vec![3, 1],
        }
    }

    #[test]
    fn stretches_add_up_and_the_time_between_them_does_not_count() {
        const SECOND: i64 = 1_000_000_000;
        let mut effect = LoadEffect::from_block(&block(0, SECOND, 300));
        effect.add(&LoadEffect::from_block(&block(9 * SECOND, 10 * SECOND, 100)));
        assert_eq!(effect.elapsed, Span::from_secs(2));
        assert_eq!(effect.parts[0].operations, Some(400));
        assert_eq!((effect.context_switches, effect.interrupts), (Some(20), None));
        assert_eq!(effect.idle_entries, [6, 2]);
        assert_eq!(effect.per_second(400).map(f64::round), Some(200.0));
        assert_eq!(effect.idle_parts().count(), 0);
        assert_eq!(LoadEffect::from_block(&block(0, SECOND, 0)).idle_parts().count(), 1);
    }
}
