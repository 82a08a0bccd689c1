//! The traced turns of one condition.

use std::collections::BTreeMap;

use howlate_model::{CauseBlock, Latency, Ledger, Span};

use super::{ProbeEffect, Why};
use crate::{Interval, TurnNumber};

/// Causes of one condition's latencies, all its traced turns together.
#[derive(Clone, Debug, PartialEq)]
pub struct Traces {
    /// Name of the tracer; several names if recordings are joined.
    pub tracer: String,
    /// Sums of the causes.
    pub ledger: Ledger,
    /// The median of each traced turn, by the untraced turn beside it.
    medians: BTreeMap<u32, Latency>,
}

impl Traces {
    pub(crate) fn from_tracer(tracer: &str) -> Self {
        Self { tracer: tracer.to_owned(), ledger: Ledger::default(), medians: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, block: &CauseBlock) {
        if !self.tracer.split(", ").any(|name| name == block.tracer) {
            self.tracer = format!("{}, {}", self.tracer, block.tracer);
        }
        if let Some(median) = block.ledger.latency.median() {
            self.medians.insert(block.beside, median);
        }
        self.ledger.merge(&block.ledger);
    }

    /// Why the wake-ups were late: those at least `above` late, or above the 99th percentile; `untraced` are the turns measured
    /// beside the traced ones.
    pub(crate) fn why(&self, above: Option<Span>, untraced: &[TurnNumber]) -> Why {
        Why::from_ledger(&self.ledger, &self.tracer, above, self.effect(untraced))
    }

    /// What tracing adds to the median, by the differences of turns measured side by side. `None` with fewer than six of them, too few
    /// for an interval.
    fn effect(&self, untraced: &[TurnNumber]) -> Option<ProbeEffect> {
        let untraced_p50: BTreeMap<u32, Latency> =
            untraced.iter().filter_map(|turn| Some((turn.round, turn.p50?))).collect();
        let difference = |(beside, traced): (&u32, &Latency)| {
            Some(Latency::from_nanos(traced.as_nanos() - untraced_p50.get(beside)?.as_nanos()))
        };
        let mut differences: Vec<Latency> = self.medians.iter().filter_map(difference).collect();
        let interval = Interval::of_median(&mut differences)?;
        let p50 = differences[differences.len() / 2].as_nanos();
        Some(ProbeEffect { p50, low: interval.low.as_nanos(), high: interval.high.as_nanos() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{analysis_of, block_of};
    use howlate_model::{Line, MonotonicTime, UndecomposedReason, Wait, Work};

    fn traced(round: u32, beside: u32, late: i64) -> Line {
        let mut ledger = Ledger::default();
        (0..20).for_each(|_| ledger.add_undecomposed(Latency::from_nanos(late), UndecomposedReason::NotSeen));
        let (from, until) = (MonotonicTime::default(), MonotonicTime::default());
        let tracer = "bpf".to_owned();
        Line::Why(Box::new(CauseBlock { condition: 0, round, beside, from, until, tracer, ledger }))
    }

    #[test]
    fn tracing_is_measured_by_turns_side_by_side() {
        // Rounds 0 to 7 without, 8 to 15 with: each 100 ns more than the one beside it, which drifts.
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let mut analysis = analysis_of(&[work]);
        for round in 0..8u32 {
            analysis.add(&block_of(0, round, 5_000 + i64::from(round) * 1_000));
            analysis.add(&traced(8 + round, round, 5_100 + i64::from(round) * 1_000));
        }
        let outcome = &analysis.outcomes()[0];
        assert_eq!(outcome.count(), 160, "traced wake-ups are none of the result");
        let why = outcome.why_late(None).unwrap();
        let effect = why.probe_effect_ns.unwrap();
        assert!((90..=110).contains(&effect.p50) && effect.low <= effect.p50 && effect.p50 <= effect.high);
        assert_eq!((why.tracer.as_str(), why.not_decomposed), ("bpf", 160));
    }

    #[test]
    fn few_turns_tell_nothing_of_the_tracer() {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let mut analysis = analysis_of(&[work]);
        analysis.add(&block_of(0, 0, 5_000));
        analysis.add(&traced(1, 0, 5_100));
        assert_eq!(analysis.outcomes()[0].why_late(None).unwrap().probe_effect_ns, None);
        assert!(analysis_of(&[work]).outcomes()[0].why_late(None).is_none());
    }
}
