//! Sleeps that end on ticks.

use howlate_model::{FindingId, Header, Policy, Span, Verdict, Wait};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Indexed, median};
use crate::Outcome;

/// Short sleeps end on ticks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tick {
    /// The conditions, by index in the recording's header.
    pub conditions: Vec<u32>,
    /// The distance of ticks.
    #[serde(rename = "tick_ns")]
    pub tick: Span,
    /// Whether the machine was read to have no high-resolution timers; otherwise that could not be read.
    pub is_read: bool,
}

/// Without high-resolution timers, medians of short sleeps are about a tick. If the timers are known to be active, something else made
/// the sleeps that late.
pub(super) fn find(idle: &[Indexed<'_>], header: &Header) -> Option<Tick> {
    let timers = header.findings.iter().find(|finding| finding.id == FindingId::HighResolutionTimers);
    let verdict = timers.map_or(Verdict::Unknown, |finding| finding.verdict);
    let tick = Span::from_nanos(1_000_000_000 / u64::from(header.system.tick_hz.filter(|hz| *hz > 0)?));
    let short: Vec<&Indexed<'_>> = idle.iter().filter(|(_, outcome)| is_short(outcome, tick)).collect();
    let on_tick = |(_, outcome): &&Indexed<'_>| {
        median(outcome).is_some_and(|late| late.as_nanos().unsigned_abs() >= tick.as_nanos() * 7 / 10)
    };
    let all = !short.is_empty() && short.iter().all(on_tick);
    (all && verdict != Verdict::Good).then(|| Tick {
        conditions: short.iter().map(|(condition, _)| *condition).collect(),
        tick,
        is_read: verdict == Verdict::Costs,
    })
}

/// Whether only the kernel's timers decide when this sleep ends: runtimes round, busy-waiting does not sleep, and threads of the idle
/// class wait for all others.
fn is_short(outcome: &Outcome, tick: Span) -> bool {
    let length = outcome.condition.work.length();
    let timed = outcome.condition.work.wait().is_some_and(|wait| wait != Wait::BusyWait);
    timed && outcome.condition.policy != Policy::Idle && !length.is_zero() && length.times(4) < tick
}

#[cfg(test)]
mod tests {
    use howlate_model::{Finding, Policy};

    use super::*;
    use crate::insight::tests::{idle, of_length};
    use crate::testing::analysis_of;

    fn header(verdict: Option<Verdict>) -> Header {
        let mut header = analysis_of(&[]).header;
        header.system.tick_hz = Some(250);
        header.findings.extend(verdict.map(|verdict| Finding {
            id: FindingId::HighResolutionTimers,
            verdict,
            found: String::new(),
            evidence: vec![],
            why: String::new(),
            cost: None,
            remedy: None,
        }));
        header
    }

    #[test]
    fn sleeps_on_ticks_are_blamed_on_timers_only_where_these_are_off() {
        let late = [of_length(100_000, 3_900_000), of_length(200_000, 3_800_000)];
        let found = |verdict| find(&idle(&late), &header(verdict)).map(|tick| tick.is_read);
        assert_eq!(found(Some(Verdict::Costs)), Some(true));
        assert_eq!(found(None), Some(false));
        assert_eq!(found(Some(Verdict::Good)), None, "something else starved them");
    }

    #[test]
    fn threads_that_give_way_to_all_others_say_nothing_of_timers() {
        let mut starved = of_length(100_000, 3_900_000);
        starved.condition.policy = Policy::Idle;
        assert_eq!(find(&idle(&[starved]), &header(Some(Verdict::Costs))), None);
    }
}
