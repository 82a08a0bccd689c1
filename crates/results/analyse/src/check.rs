//! Checks results against limits: whether a run has passed.

use howlate_model::{Caveat, EndReason, Limit, LimitStatistic};

use crate::limits::{Judgement, judge, value};
use crate::watch::Rhythm;
use crate::{Analysis, Outcome};

/// The check of one limit for one condition.
#[derive(Clone, Debug)]
pub struct Check<'a> {
    pub outcome: &'a Outcome,
    /// `None` if no limit was given: then it only has to be measured as requested.
    pub limit: Option<Limit>,
    /// The value that the limit is about: nanoseconds, or a count; `None` if nothing was measured.
    pub value: Option<u64>,
    pub verdict: LimitVerdict,
}

/// Whether a limit holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitVerdict {
    /// The limit holds.
    Yes,
    /// It is exceeded, even if other things went wrong too.
    No,
    /// The measurement does not decide it.
    Unknown(UnknownReason),
}

/// Why it is unknown whether a limit holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnknownReason {
    /// The condition was not measured as requested.
    Spoiled(Caveat),
    /// The run ended early, and how, if known: the rest might have exceeded the limit.
    NotWhole(Option<EndReason>),
    /// It was not measured at all.
    NotMeasured,
    /// There are too few wake-ups for the statistic.
    TooFew {
        /// Wake-ups that the statistic needs.
        needed: u64,
        /// Wake-ups that were measured.
        count: u64,
    },
    /// The recording lacks what the limit is about: missed periods of another program's file, or an event loop.
    NotRecorded,
    /// The measuring program did not distinguish latencies from this one on, nanoseconds.
    Clipped(u64),
    /// The imported histogram is too coarse: the value lies between these, in nanoseconds, and so does the limit.
    TooCoarse {
        /// Lower bound of the value.
        least: u64,
        /// Upper bound of the value.
        most: u64,
    },
}

/// Checks every limit for every condition that it is about; without limits, makes one check for each condition.
pub fn checks<'a>(analysis: &'a Analysis, limits: &[Limit]) -> Vec<Check<'a>> {
    analysis.outcomes().iter().flat_map(|outcome| checks_of(outcome, analysis, limits)).collect()
}

/// Checks every limit that is about it for one condition of `analysis`.
pub fn checks_of<'a>(outcome: &'a Outcome, analysis: &Analysis, limits: &[Limit]) -> Vec<Check<'a>> {
    match limits {
        [] => vec![Check::judge(outcome, None, analysis)],
        limits => {
            let of_outcome = limits.iter().filter(|limit| limit.scope == outcome.limit_scope());
            of_outcome.map(|limit| Check::judge(outcome, Some(*limit), analysis)).collect()
        }
    }
}

impl<'a> Check<'a> {
    fn judge(outcome: &'a Outcome, limit: Option<Limit>, analysis: &Analysis) -> Self {
        let value = limit.and_then(|limit| value(outcome, &outcome.planned(), limit.statistic));
        let verdict = match limit.map(|limit| (limit.statistic, judge(outcome, limit))) {
            Some((_, Judgement::Exceeded(_))) => LimitVerdict::No,
            judgement => {
                unknown_reason(outcome, analysis, judgement).map_or(LimitVerdict::Yes, LimitVerdict::Unknown)
            }
        };
        Self { outcome, limit, value, verdict }
    }
}

/// Why it is unknown whether a limit holds that was not exceeded; `None` if it holds.
fn unknown_reason(
    outcome: &Outcome,
    analysis: &Analysis,
    judgement: Option<(LimitStatistic, Judgement)>,
) -> Option<UnknownReason> {
    if let Some(caveat) = spoiled(outcome, analysis) {
        return Some(UnknownReason::Spoiled(caveat));
    }
    if let Some(how) = early_end(analysis) {
        return Some(UnknownReason::NotWhole(how));
    }
    match judgement {
        Some((_, Judgement::NotRecorded)) => Some(UnknownReason::NotRecorded),
        // A loop that always finds events does not wake.
        Some((LimitStatistic::Loop, _)) => None,
        _ if outcome.count() == 0 => Some(UnknownReason::NotMeasured),
        Some((_, Judgement::TooFew { needed, count })) => Some(UnknownReason::TooFew { needed, count }),
        Some((_, Judgement::Clipped(from))) => Some(UnknownReason::Clipped(from)),
        Some((_, Judgement::TooCoarse { least, most })) => Some(UnknownReason::TooCoarse { least, most }),
        _ => None,
    }
}

/// How a run ended that did not do all that was requested; the inner `None` if it was cut off.
fn early_end(analysis: &Analysis) -> Option<Option<EndReason>> {
    let how = analysis.end.as_ref().map(|end| end.how);
    (how != Some(EndReason::Done)).then_some(how)
}

/// Whether every condition was measured to the end, with all requested settings.
pub fn is_measured_as_requested(analysis: &Analysis) -> bool {
    let outcomes = analysis.outcomes();
    let ended_early = analysis.end.as_ref().is_none_or(|end| end.how != EndReason::Done);
    !analysis.caveats.iter().any(Caveat::spoils)
        && !outcomes.iter().any(|outcome| outcome.caveats().iter().any(Caveat::spoils))
        && (ended_early || outcomes.iter().all(was_measured))
}

/// Whether there is a wake-up, or an iteration of a marked loop without a due time.
fn was_measured(outcome: &Outcome) -> bool {
    outcome.count() > 0 || outcome.rhythm.as_deref().is_some_and(Rhythm::has_turned)
}

/// The caveat that keeps this condition from being measured as requested; its own caveats come first.
fn spoiled(outcome: &Outcome, analysis: &Analysis) -> Option<Caveat> {
    let own = outcome.caveats();
    own.iter().chain(&analysis.caveats).find(|caveat| caveat.spoils()).cloned()
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

    fn verdicts(analysis: &Analysis, limits: &[&str]) -> Vec<LimitVerdict> {
        let limits: Vec<Limit> = limits.iter().map(|limit| limit.parse().unwrap()).collect();
        checks(analysis, &limits).into_iter().map(|check| check.verdict).collect()
    }

    #[test]
    fn each_limit_is_held_against_each_condition() {
        let both = analysis(&[5_000, 50_000]);
        assert_eq!(
            verdicts(&both, &["max>10us", "p50>100us"]),
            [LimitVerdict::Yes, LimitVerdict::Yes, LimitVerdict::No, LimitVerdict::Yes]
        );
        assert_eq!(verdicts(&both, &[]), [LimitVerdict::Yes, LimitVerdict::Yes]);
    }

    #[test]
    fn what_was_not_measured_as_asked_keeps_no_limit_but_may_exceed_one() {
        let mut analysis = analysis(&[50_000]);
        let ended = Caveat::LoadEnded { load: "cpu".into(), words: "it was done".into() };
        analysis.add(&Line::Caveat(ended.clone()));
        let unknown = LimitVerdict::Unknown(UnknownReason::Spoiled(ended));
        assert_eq!(verdicts(&analysis, &["max>10us", "max>100us"]), [LimitVerdict::No, unknown.clone()]);
        assert_eq!(verdicts(&analysis, &[]), [unknown]);
        assert_eq!(
            verdicts(&self::analysis(&[0]), &["max>1s"]),
            [LimitVerdict::Unknown(UnknownReason::NotMeasured)]
        );
        let few = LimitVerdict::Unknown(UnknownReason::TooFew { needed: 100, count: 20 });
        assert_eq!(verdicts(&self::analysis(&[50_000]), &["p99>1ms"]), [few]);
    }

    #[test]
    fn a_run_that_is_not_whole_keeps_no_limit_but_may_exceed_one() {
        let mut analysis = analysis(&[50_000]);
        let endings = [EndReason::Interrupted, EndReason::StoppedAbove, EndReason::ProgramEnded].map(Some);
        for how in endings.into_iter().chain([None]) {
            analysis.end = how.map(|how| RecordingEnd { at: MonotonicTime::default(), how });
            let unknown = LimitVerdict::Unknown(UnknownReason::NotWhole(how));
            assert_eq!(verdicts(&analysis, &["max>10us", "max>100us"]), [LimitVerdict::No, unknown.clone()]);
            assert_eq!(verdicts(&analysis, &[]), [unknown]);
        }
    }
}
