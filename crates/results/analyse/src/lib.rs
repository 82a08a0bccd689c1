//! Statistics of recordings. Pure: lines in, numbers out, the same for finished files and runs that still go on.

mod across_cpus;
mod advice;
mod analysis;
mod autocorrelation;
mod batches;
mod block_numbers;
mod bound;
pub mod cause;
mod check;
pub mod compare;
mod curve;
mod distinct_caveats;
mod exceedance;
pub mod gaps;
mod gate;
mod grouped;
pub mod incidents;
mod insight;
mod interval;
mod lateness_steps;
mod limits;
mod load_effect;
mod member;
pub mod nodes;
mod outcome;
pub mod periodicity;
mod plot_buckets;
mod ranking;
mod ratio;
mod return_period;
pub mod sequential;
#[cfg(any(test, feature = "simulation"))]
pub mod simulation;
pub mod steps;
mod summary;
mod timeline;
mod turn_numbers;
pub mod waits;
pub mod watch;

pub use across_cpus::{LoopOutcomes, per_loop, per_thread};
pub use advice::{
    AdvisedThread, Cure, Meanwhile, RequestAdvice, RequestCure, ThreadAdvice, request_advice, thread_advice,
};
pub use analysis::{Analysis, SavedAs};
pub use block_numbers::BlockNumbers;
pub use bound::Bound;
pub use check::{Check, LimitVerdict, UnknownReason, checks, checks_of, is_measured_as_requested};
pub use curve::{CurvePoint, curve};
pub use gate::{GateTrust, LEAST_SHARE, UnknownShare, gate_trust};
pub use grouped::grouped;
pub use insight::{
    AwakeControl, CallSlack, Control, Insight, LatenessStep, PriorityEffect, Punctuality, StepOrigin, Tick,
    TimerSlack, insights, punctuality_of,
};
pub use interval::{Interval, exceeded_at_most, least_wakeups, percentile, quantile_ranks};
pub use limits::{Judgement, judge};
pub use load_effect::LoadEffect;
pub use member::MergedMachine;
pub use outcome::Outcome;
pub use plot_buckets::{LatencyColumn, LatencyColumns, equal_columns};
pub use ranking::{GapCost, IdleCost, RankedMechanism, Ranking, gap_costs, idle_costs, rankings};
pub use ratio::{Ratio, ratio};
pub use return_period::{
    LargerLatencies, LargerRates, larger_latencies, slowest_covered, slowest_covered_beyond_p99,
};
pub use summary::Summary;
pub use timeline::{TimeSlice, Timeline, TurnPeriod};
pub use turn_numbers::TurnNumber;

#[cfg(any(test, feature = "simulation"))]
mod testing {
    use super::*;
    #[cfg(test)]
    use howlate_model::{
        Block, Caveat, CpuSet, EffectiveSettings, Line, MonotonicTime, OsError, Policy, SettingRefusal, Span,
        TurnStarted, Wakeup,
    };
    use howlate_model::{Condition, Header, Work};

    /// A recording's analysis before anything was measured.
    pub(crate) fn analysis_of(works: &[Work]) -> Analysis {
        let condition = |&work: &Work| Condition { cpu: Some(1), ..Condition::new(work, "6.1.0") };
        Analysis::new(Header {
            howlate: "0.1.0".into(),
            ..Header::for_conditions(works.iter().map(condition).collect())
        })
    }

    /// The start of a turn under `SCHED_OTHER`.
    #[cfg(test)]
    pub(crate) fn started(condition: u32, caveats: Vec<Caveat>) -> Line {
        let in_force = EffectiveSettings {
            tid: 1,
            policy: Policy::OTHER,
            slack: Span::ZERO,
            cpus: CpuSet::default(),
            memory_locked: true,
            dma_latency_us: None,
            slice: None,
        };
        Line::Started(TurnStarted {
            condition,
            round: 0,
            at: MonotonicTime::default(),
            in_force,
            sender_in_force: None,
            runtime: None,
            warm_up: None,
            caveats,
        })
    }

    /// The start of a turn whose policy was refused.
    #[cfg(test)]
    pub(crate) fn refused(analysis: &Analysis, condition: u32) -> Line {
        let requested = analysis.header.conditions[condition as usize].policy;
        let reason = SettingRefusal::Kernel(OsError(1)).into();
        started(condition, vec![Caveat::policy_refused(requested, Policy::OTHER, reason, None)])
    }

    /// A turn of 20 wake-ups, all equally late.
    #[cfg(test)]
    pub(crate) fn block_of(condition: u32, round: u32, late: i64) -> Line {
        let mut block = Block { condition, round, ..Block::default() };
        let at = MonotonicTime::from_nanos;
        (0..20).for_each(|_| block.record(Wakeup { expected: at(0), ran: at(late) }, None));
        Line::Block(Box::new(block))
    }
}
