//! Judges results by limits.

use howlate_model::{Distribution, Latency, Limit, LimitStatistic};

use crate::{Outcome, least_wakeups};

/// Result of comparing a value with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The limit holds.
    Kept,
    /// The value that exceeded it: nanoseconds, or a count for missed periods.
    Exceeded(u64),
    /// There are too few wake-ups for the statistic.
    TooFew {
        /// Wake-ups that the statistic needs.
        needed: u64,
        /// Wake-ups that were measured.
        count: u64,
    },
    /// The recording lacks what the limit is about: missed periods of another program's file, or an event loop.
    NotRecorded,
    /// The measuring program did not distinguish latencies from this one on, nanoseconds, and the limit is higher.
    Clipped(u64),
    /// The imported histogram is too coarse: the value lies between these, in nanoseconds, and so does the limit.
    TooCoarse {
        /// Lower bound of the value.
        least: u64,
        /// Upper bound of the value.
        most: u64,
    },
}

/// Whether `outcome` keeps `limit`. All planned wake-ups count, so that a stall counts for every period that it took.
pub fn judge(outcome: &Outcome, limit: Limit) -> Judgement {
    let all = outcome.planned();
    let (needed, count) = (needed(limit.statistic), all.count());
    let may_be_unknown = matches!(limit.statistic, LimitStatistic::Missed | LimitStatistic::Loop);
    if may_be_unknown && value(outcome, &all, limit.statistic).is_none() {
        return Judgement::NotRecorded;
    }
    let coarse = too_coarse(&all, limit);
    match value(outcome, &all, limit.statistic).filter(|value| *value > limit.above) {
        // A maximum stays exceeded with more wake-ups, but a percentile may not.
        _ if count < needed => Judgement::TooFew { needed, count },
        exceeded => coarse.unwrap_or_else(|| kept_or_exceeded(outcome, &all, limit, exceeded)),
    }
}

/// The judgement where the value is precise enough; `exceeded` is a value above the limit.
fn kept_or_exceeded(outcome: &Outcome, all: &Distribution, limit: Limit, exceeded: Option<u64>) -> Judgement {
    match exceeded {
        Some(value) => Judgement::Exceeded(value),
        None => clipped(outcome, all, limit).map_or(Judgement::Kept, Judgement::Clipped),
    }
}

/// The latency at which the distribution was clipped, if the value equals it and the limit is not lower. The maximum is an upper bound.
fn clipped(outcome: &Outcome, all: &Distribution, limit: Limit) -> Option<u64> {
    let from = all.clipped()?.as_nanos().max(0).unsigned_abs();
    let is_bound = match limit.statistic {
        LimitStatistic::Missed | LimitStatistic::Loop => false,
        LimitStatistic::Mean => true,
        LimitStatistic::Max | LimitStatistic::Percentile(_) => value(outcome, all, limit.statistic)? == from,
    };
    let most = value(outcome, all, LimitStatistic::Max).filter(|most| *most != from);
    (is_bound && most.is_none_or(|most| most > limit.above)).then_some(from)
}

/// For histograms of other programs: whether the limit lies within the bounds of the percentile.
fn too_coarse(all: &Distribution, limit: Limit) -> Option<Judgement> {
    let LimitStatistic::Percentile(percent) = limit.statistic else { return None };
    let (least, most) = all.quantile_bounds(percent / 100.0)?;
    let [least, most] = [least, most].map(|bound| bound.as_nanos().max(0).unsigned_abs());
    (least..most).contains(&limit.above).then_some(Judgement::TooCoarse { least, most })
}

fn needed(statistic: LimitStatistic) -> u64 {
    match statistic {
        LimitStatistic::Percentile(percent) if percent < 100.0 => least_wakeups(percent / 100.0),
        LimitStatistic::Percentile(_) | LimitStatistic::Max | LimitStatistic::Mean => 1,
        LimitStatistic::Missed | LimitStatistic::Loop => 0,
    }
}

/// The value that a limit is about: nanoseconds, or a count for missed periods. `None` if nothing was measured.
#[allow(clippy::cast_possible_truncation, reason = "a limit is whole nanoseconds")]
pub(crate) fn value(outcome: &Outcome, all: &Distribution, statistic: LimitStatistic) -> Option<u64> {
    let nanos = |latency: Option<Latency>| latency.map(|latency| latency.as_nanos().max(0).unsigned_abs());
    match statistic {
        LimitStatistic::Max => nanos(all.max()),
        LimitStatistic::Percentile(percent) => nanos(all.quantile(percent / 100.0)),
        LimitStatistic::Mean => nanos(all.mean_nanos().map(|mean| Latency::from_nanos(mean as i64))),
        LimitStatistic::Missed => outcome.missed(),
        LimitStatistic::Loop => nanos(outcome.rhythm.as_deref()?.event_loop()?.iterations.max()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{analysis_of, block_of};
    use howlate_model::{
        Activation, Block, EventLoopBlock, ForeignTool, Iteration, Line, LoopWait, MonotonicTime, Span, Wait,
        WatchedBlock, Work,
    };

    #[test]
    fn a_percentile_takes_its_wake_ups() {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let mut analysis = analysis_of(&[work]);
        let judge =
            |analysis: &crate::Analysis, limit: &str| judge(&analysis.outcomes()[0], limit.parse().unwrap());
        assert_eq!(judge(&analysis, "max>1us"), Judgement::TooFew { needed: 1, count: 0 });
        (0..4).for_each(|round| analysis.add(&block_of(0, round, 5_000)));
        assert_eq!(judge(&analysis, "p99>1us"), Judgement::TooFew { needed: 100, count: 80 });
        assert_eq!(judge(&analysis, "max>1us"), Judgement::Exceeded(5_000));
        analysis.add(&block_of(0, 4, 5_000));
        assert!(matches!(judge(&analysis, "p99>1us"), Judgement::Exceeded(_)));
        assert_eq!(judge(&analysis, "p99>1ms"), Judgement::Kept);
        assert_eq!(judge(&analysis, "p99.9>1us"), Judgement::TooFew { needed: 1_000, count: 100 });
    }

    #[test]
    fn a_limit_is_judged_with_the_width_of_what_was_read() {
        let work = Work::Foreign {
            mechanism: ForeignTool::Cyclictest,
            period_ns: None,
            says_policy: false,
            says_load: false,
        };
        let judge_rows = |rows: &[(i64, u64)], width: u64, limit: &str| {
            let mut block = Block::default();
            for (micros, count) in rows {
                block.latency.record_printed(Latency::from_nanos(micros * 1_000), *count);
            }
            block.latency.set_printed_width(Span::ZERO, Span::from_micros(width));
            let mut analysis = analysis_of(&[work]);
            analysis.add(&Line::Block(Box::new(block)));
            judge(&analysis.outcomes()[0], limit.parse().unwrap())
        };
        let whole = [(9, 985), (14, 14), (20, 1)];
        assert_eq!(judge_rows(&whole, 0, "p99>14us"), Judgement::Kept);
        assert_eq!(judge_rows(&whole, 0, "p99>13us"), Judgement::Exceeded(14_000));
        assert_eq!(judge_rows(&whole, 0, "max>20us"), Judgement::Kept);
        let tens = [(10, 985), (20, 14), (377, 1)];
        assert_eq!(judge_rows(&tens, 9, "p99>25us"), Judgement::TooCoarse { least: 20_000, most: 29_000 });
        assert_eq!(judge_rows(&tens, 9, "p99>29us"), Judgement::Kept);
        assert_eq!(judge_rows(&tens, 9, "p99>19us"), Judgement::Exceeded(20_000));
        assert_eq!(judge_rows(&tens, 9, "max>377us"), Judgement::Kept);
    }

    #[test]
    fn an_event_loop_is_held_against_a_limit_of_its_own() {
        let mut analysis = analysis_of(&[Work::Watch { mechanism: Activation::Unseen }]);
        let judge =
            |analysis: &crate::Analysis, limit: &str| judge(&analysis.outcomes()[0], limit.parse().unwrap());
        assert_eq!(judge(&analysis, "loop>20ms"), Judgement::NotRecorded);
        let mut event_loop = EventLoopBlock::with_threshold(Span::from_millis(10));
        let from = MonotonicTime::from_nanos(0);
        let away = Iteration {
            tid: 7,
            wait: LoopWait::Epoll,
            file: None,
            from,
            until: from.plus(Span::from_millis(30)),
            blocked: Span::ZERO,
            ready: Span::ZERO,
            quota: Span::ZERO,
            longest_sleep: None,
            stack: Vec::new(),
        };
        event_loop.add(&away, None);
        let watched = WatchedBlock { event_loop: Some(event_loop), ..WatchedBlock::default() };
        analysis.add(&Line::Watched(Box::new(watched)));
        assert_eq!(judge(&analysis, "loop>20ms"), Judgement::Exceeded(30_000_000));
        assert_eq!(judge(&analysis, "loop>40ms"), Judgement::Kept);
    }
}
