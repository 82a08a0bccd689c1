//! Results held against limits, for those who want to know whether a run has passed.

use howlate_model::{Caveat, Limit};

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
    /// It was not measured at all.
    NotMeasured,
    /// There are fewer wake-ups than the statistic takes.
    TooFew {
        /// How many it takes.
        needed: u64,
        /// How many there are.
        count: u64,
    },
    /// Another program measured it, and does not say how many periods were missed.
    NotSaid,
    /// The program that measured it did not tell latencies of this and more apart, in nanoseconds.
    Clipped(u64),
}

/// Every limit held against every condition; without limits, one check for each condition.
pub fn checks<'a>(analysis: &'a Analysis, limits: &[Limit]) -> Vec<Check<'a>> {
    let asked: Vec<Option<Limit>> =
        if limits.is_empty() { vec![None] } else { limits.iter().copied().map(Some).collect() };
    let of = |outcome: &'a Outcome| {
        asked.clone().into_iter().map(move |limit| Check::judge(outcome, limit, analysis))
    };
    analysis.outcomes().iter().flat_map(of).collect()
}

impl<'a> Check<'a> {
    fn judge(outcome: &'a Outcome, limit: Option<Limit>, analysis: &Analysis) -> Self {
        let value = limit.and_then(|limit| value(outcome, &outcome.planned(), limit.statistic));
        let kept = match (limit.map(|limit| judge(outcome, limit)), spoiled(outcome, analysis)) {
            (Some(Judgement::Exceeded(_)), _) => LimitVerdict::No,
            (_, Some(caveat)) => LimitVerdict::Unknown(Unknown::Spoiled(caveat)),
            _ if outcome.count() == 0 => LimitVerdict::Unknown(Unknown::NotMeasured),
            (Some(Judgement::TooFew { needed, count }), None) => {
                LimitVerdict::Unknown(Unknown::TooFew { needed, count })
            }
            (Some(Judgement::NotSaid), None) => LimitVerdict::Unknown(Unknown::NotSaid),
            (Some(Judgement::Clipped(from)), None) => LimitVerdict::Unknown(Unknown::Clipped(from)),
            _ => LimitVerdict::Yes,
        };
        Self { outcome, limit, value, kept }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{analysis_of, block_of};
    use howlate_model::{Line, Span, Wait, Work};

    fn analysis(late: &[i64]) -> Analysis {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let mut analysis = analysis_of(&vec![work; late.len()]);
        for (condition, late) in late.iter().enumerate().filter(|(_, late)| **late > 0) {
            analysis.add(&block_of(u32::try_from(condition).unwrap(), 0, *late));
        }
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
}
