//! Refuses measurements that would starve the rest of the machine.

use std::collections::BTreeMap;

use howlate_model::{CombinationRefusal, Policy, Sleeper, Span, Wait, WaitClock, Work};

use crate::PlanMachine;

/// Maximum CPU share of real-time threads, in parts per million.
const MOST_BUSY: u64 = 500_000;
/// CPU share of proposed alternatives: lower, so that a slightly different reading of a wake-up's cost does not refuse what was
/// proposed.
const PROPOSED_BUSY: u64 = 350_000;
const MILLION: u64 = 1_000_000;
const PERCENT: u64 = MILLION / 100;
/// Cost of a wake-up from a real sleep, with cold caches, as a multiple of the minimum.
const REAL_WAIT: u64 = 2;

/// Maximum number of real-time sleeps that are too short to leave the CPU: well under a second.
const MOST_BUSY_SLEEPS: u64 = 50_000;

/// Why `work` must not, or cannot, be measured under `policy`.
pub(crate) fn reason(
    work: Work,
    policy: Policy,
    samples: Option<u64>,
    machine: &PlanMachine,
) -> Option<CombinationRefusal> {
    if let Work::Sleep { mechanism: Sleeper::Wait(Wait::ClockNanosleepRelative), .. } = work {
        return Some(CombinationRefusal::RelativeAlready);
    }
    if let (Policy::Deadline { .. }, Some(runtime)) =
        (policy, work.runtime().filter(|runtime| runtime.needs_threads()))
    {
        // sched(7): fork(2) of a SCHED_DEADLINE thread fails with EAGAIN.
        return Some(CombinationRefusal::StartsThreads { runtime });
    }
    // The kernel limits deadline threads by itself.
    if !takes_precedence(policy) {
        return None;
    }
    let busy = wakeup_cost(work, machine);
    match work {
        Work::Cyclic { mechanism: Wait::BusyWait, .. }
        | Work::Sleep { mechanism: Sleeper::Wait(Wait::BusyWait), .. } => {
            Some(CombinationRefusal::NeverSleeps { policy })
        }
        Work::Cyclic { mechanism, period_ns: period } if share(busy, period) > MOST_BUSY => {
            let proposed = propose_period(busy);
            Some(if mechanism == Wait::SleepThenSpin {
                CombinationRefusal::SpinsTooLong { spin: Wait::SPIN, period, policy, proposed }
            } else {
                CombinationRefusal::PeriodTooShort { cost: machine.wait, period, policy, proposed }
            })
        }
        Work::Sleep { target_ns, .. }
            if share(busy, target_ns) > MOST_BUSY && samples.is_none_or(|n| n > MOST_BUSY_SLEEPS) =>
        {
            Some(CombinationRefusal::SleepsTooShort { length: target_ns, policy, most: MOST_BUSY_SLEEPS })
        }
        _ => None,
    }
}

/// Why `work` cannot wait on `clock`.
pub(crate) fn reason_on_clock(
    work: Work,
    clock: WaitClock,
    machine: &PlanMachine,
) -> Option<CombinationRefusal> {
    if clock.is_monotonic() {
        return None;
    }
    if let Some(runtime) = work.runtime() {
        return Some(CombinationRefusal::OwnClock { runtime });
    }
    let wait = work.wait()?;
    if !clock.has(wait) {
        return Some(CombinationRefusal::NotOnClock { wait, clock });
    }
    (!machine.clocks.contains(&clock)).then_some(CombinationRefusal::NoClock(clock))
}

/// Why these threads, bound to a CPU or not, must not run concurrently: together they would keep a CPU too busy.
pub(crate) fn reason_together(
    threads: impl Iterator<Item = (Work, Policy, Option<u32>)>,
    machine: &PlanMachine,
) -> Option<CombinationRefusal> {
    let mut count = 0;
    let mut busy: BTreeMap<Option<u32>, u64> = BTreeMap::new();
    for (work, _, cpu) in threads.filter(|(_, policy, _)| takes_precedence(*policy)) {
        count += 1;
        *busy.entry(cpu).or_default() += share(wakeup_cost(work, machine), work.length());
    }
    // Unbound threads are spread over all CPUs.
    let anywhere = busy.remove(&None).unwrap_or(0) / machine.allowed.len().max(1) as u64;
    let (cpu, most) = busy.into_iter().max_by_key(|(_, busy)| *busy).unwrap_or((None, 0));
    let most = most + anywhere;
    (most > MOST_BUSY).then_some(CombinationRefusal::BusyTogether {
        threads: count,
        cpu,
        percent: most / PERCENT,
        cost: machine.wait,
        most_percent: MOST_BUSY / PERCENT,
    })
}

/// Whether threads of `policy` can starve normal ones.
const fn takes_precedence(policy: Policy) -> bool {
    matches!(policy, Policy::Fifo { .. } | Policy::Rr { .. })
}

/// CPU time of one wake-up of `work`.
fn wakeup_cost(work: Work, machine: &PlanMachine) -> Span {
    let wake_up = machine.wait.times(REAL_WAIT);
    match work {
        Work::Cyclic { mechanism: Wait::SleepThenSpin, .. } => wake_up.plus(Wait::SPIN),
        _ => wake_up,
    }
}

/// The share of `busy` in `period`, in parts per million.
fn share(busy: Span, period: Span) -> u64 {
    busy.as_nanos().saturating_mul(MILLION) / period.as_nanos().max(1)
}

/// A period that leaves enough CPU time to others, rounded to two digits.
fn propose_period(busy: Span) -> Span {
    let nanos = busy.as_nanos() * MILLION / PROPOSED_BUSY;
    let digit = 10_u64.pow(nanos.max(10).ilog10() - 1);
    Span::from_nanos(nanos.div_ceil(digit) * digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;
    use howlate_model::{Runtime, Span};

    #[track_caller]
    fn check(work: Work, policy: &str, refused: Option<&str>) {
        let reason = reason(work, policy.parse().unwrap(), None, &machine());
        match (&reason, refused) {
            (Some(reason), Some(says)) => assert!(reason.to_string().contains(says), "{reason}"),
            (None, None) => {}
            _ => panic!("{reason:?} but expected {refused:?}"),
        }
    }

    fn cyclic(mechanism: Wait, period: u64) -> Work {
        Work::Cyclic { mechanism, period_ns: Span::from_micros(period) }
    }

    #[test]
    fn what_would_take_the_machine_away_is_refused() {
        check(cyclic(Wait::BusyWait, 1000), "other", None);
        check(cyclic(Wait::BusyWait, 1000), "fifo:1", Some("never lets other threads run"));
        check(cyclic(Wait::ClockNanosleep, 15), "fifo:1", Some("use at least 23us"));
        check(cyclic(Wait::ClockNanosleep, 16), "rr:99", None);
        check(cyclic(Wait::ClockNanosleep, 1), "other", None);
        check(cyclic(Wait::SleepThenSpin, 240), "fifo:9", Some("use at least 370us"));
        check(cyclic(Wait::SleepThenSpin, 370), "fifo:9", None);
        check(cyclic(Wait::SleepThenSpin, 1000), "fifo:9", None);
        // The kernel limits deadline threads by itself.
        check(cyclic(Wait::BusyWait, 1000), "deadline:100us/1ms", None);
    }

    #[test]
    fn a_clock_needs_timers_and_to_be_there() {
        let refused = |work, clock| reason_on_clock(work, clock, &machine()).map(|reason| reason.to_string());
        assert_eq!(refused(cyclic(Wait::Ppoll, 1000), WaitClock::Monotonic), None);
        assert_eq!(refused(cyclic(Wait::ClockNanosleep, 1000), WaitClock::Tai), None);
        let says = refused(cyclic(Wait::Ppoll, 1000), WaitClock::Tai).unwrap();
        assert_eq!(says, "ppoll cannot wait on CLOCK_TAI; use clock_nanosleep");
        let says = refused(cyclic(Wait::ClockNanosleep, 1000), WaitClock::Aux(2)).unwrap();
        assert!(says.contains("CLOCK_AUX2 is not available") && says.contains("aux_clocks/2/"), "{says}");
        let python = Work::Sleep { mechanism: Sleeper::Runtime(Runtime::Python), target_ns: Span::ZERO };
        assert!(refused(python, WaitClock::Tai).unwrap().contains("python chooses the clock"));
    }

    #[test]
    fn what_is_proposed_is_not_refused_by_another_reading() {
        for nanos in (1_000..30_000).step_by(371) {
            let machine = |wait| PlanMachine { wait: Span::from_nanos(wait), ..machine() };
            let work = cyclic(Wait::ClockNanosleep, 1);
            let policy = "fifo:1".parse().unwrap();
            let proposed = propose_period(wakeup_cost(work, &machine(nanos)));
            let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: proposed };
            assert_eq!(reason(work, policy, None, &machine(nanos + nanos / 4)), None);
        }
    }

    fn together(
        threads: u32,
        period: u64,
        policy: &str,
        cpu: impl Fn(u32) -> Option<u32>,
    ) -> Option<CombinationRefusal> {
        let policy: Policy = policy.parse().unwrap();
        let thread = |number| (cyclic(Wait::ClockNanosleep, period), policy, cpu(number));
        reason_together((0..threads).map(thread), &machine())
    }

    // A wake-up counts 8 µs here: 2 × 4 µs.
    #[test]
    fn threads_that_are_harmless_alone_are_refused_together() {
        let says = together(200, 500, "fifo:80", |_| Some(2)).unwrap().to_string();
        assert!(says.contains("200 such threads would keep CPU 2 busy for 320 %"), "{says}");
        assert_eq!(together(200, 500, "other", |_| Some(2)), None);
        assert_eq!(together(200, 50_000, "fifo:80", |_| Some(2)), None);
        // One on each of four CPUs.
        assert_eq!(together(4, 20, "fifo:80", Some), None);
        let busy = |refused| match refused {
            Some(CombinationRefusal::BusyTogether { cpu, percent, .. }) => (cpu, percent),
            other => panic!("{other:?}"),
        };
        assert_eq!(busy(together(8, 20, "fifo:80", |number| Some(number % 4))).1, 80);
        // Anywhere on four CPUs.
        assert_eq!(together(100, 500, "rr:1", |_| None), None);
        assert_eq!(busy(together(200, 500, "rr:1", |_| None)), (None, 80));
    }

    #[test]
    fn a_deadline_is_for_programs_of_one_thread() {
        let sleep =
            |runtime| Work::Sleep { mechanism: Sleeper::Runtime(runtime), target_ns: Span::from_millis(1) };
        check(sleep(Runtime::Java), "deadline:100us/1ms", Some("use fifo"));
        check(sleep(Runtime::Java), "fifo:1", None);
        check(sleep(Runtime::C), "deadline:100us/1ms", None);
    }

    #[test]
    fn endless_short_sleeps_are_refused_under_realtime_only() {
        let work = Work::Sleep { mechanism: Sleeper::Wait(Wait::Nanosleep), target_ns: Span::ZERO };
        check(work, "fifo:50", Some("at most 50000 samples"));
        let python = Work::Sleep { mechanism: Sleeper::Runtime(Runtime::Python), target_ns: Span::ZERO };
        check(python, "fifo:50", Some("at most 50000 samples"));
        check(work, "other", None);
        assert_eq!(reason(work, "fifo:50".parse().unwrap(), Some(10_000), &machine()), None);
    }
}
