//! Results held against limits, for those who want to know whether a run has passed.

use howlate_model::{Caveat, EndReason, Limit, LimitStatistic};

use crate::limits::{Judgement, judge, value};
use crate::trust::spoiled;
use crate::{Analysis, Outcome};

/// One limit of one condition.
#[derive(Clone, Debug)]
pub struct Check<'a> {
    /// The condition and what is known of it.
    pub outcome: &'a Outcome,
    /// What it must keep; `None` where no limit was given, and to be measured as asked is all.
    pub limit: Option<Limit>,
    /// The value that the limit is about: nanoseconds, or a count; `None` where nothing was measured.
    pub value: Option<u64>,
    /// Whether it keeps it.
    pub kept: LimitVerdict,
}

/// Whether a limit is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitVerdict {
    /// The limit holds.
    Yes,
    /// It is exceeded, whatever else is wrong.
    No,
    /// What was measured does not decide it, and why.
    Unknown(Unknown),
}

/// Why nobody knows whether a limit is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The condition was not measured as asked.
    Spoiled(Caveat),
    /// The run did not do all that was asked: how it ended, where that is known. What it left out may be what exceeds a limit.
    NotWhole(Option<EndReason>),
    /// It was not measured at all.
    NotMeasured,
    /// There are fewer wake-ups than the statistic takes.
    TooFew {
        /// How many it takes.
        needed: u64,
        /// How many there are.
        count: u64,
    },
    /// Nothing is known of what this is about: missed periods where another program measured, an event loop where none was seen.
    NotSaid,
    /// The program that measured it did not tell latencies of this and more apart, in nanoseconds.
    Clipped(u64),
    /// What was read is too coarse for the limit: the value lies in here, in nanoseconds, and so does the limit.
    TooCoarse {
        /// It is that at least.
        least: u64,
        /// It is that at most.
        most: u64,
    },
}

/// Every limit held against every condition; without limits, one check for each condition.
pub fn checks<'a>(analysis: &'a Analysis, limits: &[Limit]) -> Vec<Check<'a>> {
    analysis.outcomes().iter().flat_map(|outcome| checks_of(outcome, analysis, limits)).collect()
}

/// The same of one condition of `analysis`.
pub fn checks_of<'a>(outcome: &'a Outcome, analysis: &Analysis, limits: &[Limit]) -> Vec<Check<'a>> {
    match limits {
        [] => vec![Check::judge(outcome, None, analysis)],
        limits => limits.iter().map(|limit| Check::judge(outcome, Some(*limit), analysis)).collect(),
    }
}

impl<'a> Check<'a> {
    fn judge(outcome: &'a Outcome, limit: Option<Limit>, analysis: &Analysis) -> Self {
        let value = limit.and_then(|limit| value(outcome, &outcome.planned(), limit.statistic));
        let kept = match limit.map(|limit| (limit.statistic, judge(outcome, limit))) {
            Some((_, Judgement::Exceeded(_))) => LimitVerdict::No,
            judged => unknown(outcome, analysis, judged).map_or(LimitVerdict::Yes, LimitVerdict::Unknown),
        };
        Self { outcome, limit, value, kept }
    }
}

/// Why nobody knows whether a limit is kept that was not exceeded; `None` where it is.
fn unknown(
    outcome: &Outcome,
    analysis: &Analysis,
    judged: Option<(LimitStatistic, Judgement)>,
) -> Option<Unknown> {
    if let Some(caveat) = spoiled(outcome, analysis) {
        return Some(Unknown::Spoiled(caveat));
    }
    if let Some(how) = not_whole(analysis) {
        return Some(Unknown::NotWhole(how));
    }
    match judged {
        Some((_, Judgement::NotSaid)) => Some(Unknown::NotSaid),
        // A loop that finds events at once does not wake.
        Some((LimitStatistic::Loop, _)) => None,
        _ if outcome.count() == 0 => Some(Unknown::NotMeasured),
        Some((_, Judgement::TooFew { needed, count })) => Some(Unknown::TooFew { needed, count }),
        Some((_, Judgement::Clipped(from))) => Some(Unknown::Clipped(from)),
        Some((_, Judgement::TooCoarse { least, most })) => Some(Unknown::TooCoarse { least, most }),
        _ => None,
    }
}

/// How a run ended that did not do all that was asked; the inner `None` where it did not end in order.
fn not_whole(analysis: &Analysis) -> Option<Option<EndReason>> {
    let how = analysis.end.as_ref().map(|end| end.how);
    (how != Some(EndReason::Done)).then_some(how)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{analysis_of, block_of};
    use howlate_model::{Line, MonotonicTime, RecordingEnd, Span, Wait, Work};

    fn analysis(late: &[i64]) -> Analysis {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let mut analysis = analysis_of(&vec![work; late.len()]);
        for (condition, late) in late.iter().enumerate().filter(|(_, late)| **late > 0) {
            analysis.add(&block_of(u32::try_from(condition).unwrap(), 0, *late));
        }
        analysis.end = Some(RecordingEnd { at: MonotonicTime::default(), how: EndReason::Done });
        analysis
    }

    fn kept(analysis: &Analysis, limits: &[&str]) -> Vec<LimitVerdict> {
        let limits: Vec<Limit> = limits.iter().map(|limit| limit.parse().unwrap()).collect();
        checks(analysis, &limits).into_iter().map(|check| check.kept).collect()
    }

    #[test]
    fn each_limit_is_held_against_each_condition() {
        let both = analysis(&[5_000, 50_000]);
        assert_eq!(
            kept(&both, &["max>10us", "p50>100us"]),
            [LimitVerdict::Yes, LimitVerdict::Yes, LimitVerdict::No, LimitVerdict::Yes]
        );
        assert_eq!(kept(&both, &[]), [LimitVerdict::Yes, LimitVerdict::Yes]);
    }

    #[test]
    fn what_was_not_measured_as_asked_keeps_no_limit_but_may_exceed_one() {
        let mut one = analysis(&[50_000]);
        let ended = Caveat::LoadEnded { load: "cpu".into(), words: "it was done".into() };
        one.add(&Line::Caveat(ended.clone()));
        let unknown = LimitVerdict::Unknown(Unknown::Spoiled(ended));
        assert_eq!(kept(&one, &["max>10us", "max>100us"]), [LimitVerdict::No, unknown.clone()]);
        assert_eq!(kept(&one, &[]), [unknown]);
        assert_eq!(kept(&analysis(&[0]), &["max>1s"]), [LimitVerdict::Unknown(Unknown::NotMeasured)]);
        let few = LimitVerdict::Unknown(Unknown::TooFew { needed: 100, count: 20 });
        assert_eq!(kept(&analysis(&[50_000]), &["p99>1ms"]), [few]);
    }

    #[test]
    fn a_run_that_is_not_whole_keeps_no_limit_but_may_exceed_one() {
        let mut one = analysis(&[50_000]);
        let endings = [EndReason::Interrupted, EndReason::StoppedAbove, EndReason::ProgramEnded].map(Some);
        for how in endings.into_iter().chain([None]) {
            one.end = how.map(|how| RecordingEnd { at: MonotonicTime::default(), how });
            let unknown = LimitVerdict::Unknown(Unknown::NotWhole(how));
            assert_eq!(kept(&one, &["max>10us", "max>100us"]), [LimitVerdict::No, unknown.clone()]);
            assert_eq!(kept(&one, &[]), [unknown]);
        }
    }
}
