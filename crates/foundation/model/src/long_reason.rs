//! Why iterations of an event loop were long: time summed by reason.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Distribution, Latency, Span};

/// What kept an event loop from coming back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StallReason {
    /// It ran: its own work, and interrupts that came upon it.
    Ran,
    /// It slept in another call than the one in which its loop waits.
    Blocked,
    /// It was ready, and others had the CPU.
    WaitedForCpu,
    /// It was ready, and its control group had used up its quota.
    Quota,
}

/// What one reason took of the long iterations of an event loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LongReason")]
pub struct StallTotal {
    /// What kept it.
    pub reason: StallReason,
    /// The call that it was blocked in; absent where it was not, or in several, or nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Long iterations of which this took more than anything else.
    pub iterations: u64,
    /// The time that it took in all long iterations.
    #[serde(rename = "total_ns")]
    pub total: Span,
    /// How long it took in each of those of which it took most.
    pub each: Distribution,
}

/// Entries with their own call; beyond them, reasons are counted without the call.
const KEPT: usize = 32;

/// Reason of a stall, its system call if known, and its time.
pub(crate) type ReasonTime = (StallReason, Option<String>, Span);

/// Adds a long iteration, split into reasons.
pub(crate) fn count(all: &mut Vec<StallTotal>, took: Vec<ReasonTime>) {
    let most = took.iter().max_by_key(|(.., time)| *time).cloned();
    for (reason, call, time) in took {
        let is_most = most.as_ref().is_some_and(|most| *most == (reason, call.clone(), time));
        let entry = entry(all, reason, call);
        entry.total = entry.total.plus(time);
        if is_most {
            entry.iterations += 1;
            entry.each.record(Latency::from_span(time));
        }
    }
    sort(all);
}

/// Adds the totals of a later block.
pub(crate) fn merge(all: &mut Vec<StallTotal>, later: &[StallTotal]) {
    for stall in later {
        let entry = entry(all, stall.reason, stall.call.clone());
        entry.total = entry.total.plus(stall.total);
        entry.iterations = entry.iterations.saturating_add(stall.iterations);
        entry.each.merge(&stall.each);
    }
    sort(all);
}

fn entry(all: &mut Vec<StallTotal>, reason: StallReason, call: Option<String>) -> &mut StallTotal {
    let is_known = |stall: &StallTotal, call: &Option<String>| stall.reason == reason && stall.call == *call;
    let call = if all.len() < KEPT || all.iter().any(|stall| is_known(stall, &call)) { call } else { None };
    let place = all.iter().position(|stall| is_known(stall, &call)).unwrap_or_else(|| {
        let (iterations, total, each) = (0, Span::ZERO, Distribution::default());
        all.push(StallTotal { reason, call, iterations, total, each });
        all.len() - 1
    });
    &mut all[place]
}

/// Sorts by time, longest first.
fn sort(all: &mut [StallTotal]) {
    all.sort_by_key(|stall| Reverse((stall.total, stall.iterations)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Iteration;
    use crate::event_loop::testing::iteration;

    #[test]
    fn each_iteration_counts_for_what_took_most_of_it_and_its_time_for_everything() {
        let ms = |number: u64| number * 1_000_000;
        let mut all = Vec::new();
        // Three slept for 80 ms, and one of them waited a little; the longest ran; one waited for its quota.
        for ready in [0, 0, ms(5)] {
            count(&mut all, iteration(0, ms(1), ms(80), ready).reasons());
        }
        count(&mut all, iteration(0, ms(150), 0, ms(3)).reasons());
        let of_quota = Iteration { quota: Span::from_nanos(ms(30)), ..iteration(0, ms(1), 0, ms(40)) };
        count(&mut all, of_quota.reasons());
        let totals: Vec<_> = all
            .iter()
            .map(|stall| {
                (stall.reason, stall.call.as_deref(), stall.iterations, stall.total.as_nanos() / 1_000_000)
            })
            .collect();
        assert_eq!(
            totals,
            [
                (StallReason::Blocked, Some("clock_nanosleep"), 3, 240),
                (StallReason::Ran, None, 1, 154),
                (StallReason::Quota, None, 1, 30),
                (StallReason::WaitedForCpu, None, 0, 18),
            ]
        );
        let mut twice = all.clone();
        merge(&mut twice, &all);
        assert_eq!((twice[0].iterations, twice[0].each.count()), (6, 6));
    }

    #[test]
    fn many_calls_are_one_in_the_end() {
        let mut all = Vec::new();
        for call in 0..1_000 {
            let sleep = (Span::from_nanos(9), Some(format!("call-{call}")));
            count(&mut all, Iteration { longest_sleep: Some(sleep), ..iteration(0, 0, 9, 0) }.reasons());
        }
        assert!(all.len() <= KEPT + 1, "{}", all.len());
        assert_eq!(all.iter().map(|stall| stall.iterations).sum::<u64>(), 1_000);
    }
}
