//! What is not measured, because it would take the machine away from everyone else.

use howlate_model::{Policy, Sleeper, Wait, Work};

use crate::Machine;

/// A real-time thread must sleep at least this many times as long as a wake-up costs.
const LEAST_SHARE: u64 = 4;

/// Real-time sleeps too short to leave the CPU may go on for this many turns: well under a second.
const MOST_BUSY_SLEEPS: u64 = 50_000;

/// Why `work` must not, or cannot, be measured under `policy`; `None` if it can.
pub(crate) fn reason(work: Work, policy: Policy, samples: Option<u64>, machine: &Machine) -> Option<String> {
    if let Work::Sleep { mechanism: Sleeper::Wait(Wait::ClockNanosleepRelative), .. } = work {
        return Some("sleeps are relative already; use clock_nanosleep".to_owned());
    }
    if let (Policy::Deadline { .. }, Some(runtime)) =
        (policy, work.runtime().filter(|one| one.needs_threads()))
    {
        // sched(7): fork(2) of a SCHED_DEADLINE thread fails with EAGAIN.
        return Some(format!(
            "{runtime} starts threads or programs, which a deadline thread must not; use fifo"
        ));
    }
    if !policy.is_realtime() || matches!(policy, Policy::Deadline { .. }) {
        return None;
    }
    let least = machine.wait.times(LEAST_SHARE);
    match work {
        Work::Cyclic { mechanism: Wait::BusyWait, .. }
        | Work::Sleep { mechanism: Sleeper::Wait(Wait::BusyWait), .. } => Some(format!(
            "busy-waiting under {policy} never lets other threads run; use other, or sleep_then_spin"
        )),
        Work::Cyclic { mechanism: Wait::SleepThenSpin, period_ns } if period_ns <= Wait::SPIN.times(2) => {
            Some(format!(
                "it would spin for {} of every {period_ns} under {policy}; use a period above {}",
                Wait::SPIN,
                Wait::SPIN.times(2)
            ))
        }
        Work::Cyclic { period_ns, .. } if period_ns < least => Some(format!(
            "a wake-up costs {} here, so a period of {period_ns} under {policy} would leave no CPU time to others; use at least {least}",
            machine.wait
        )),
        Work::Sleep { target_ns, .. }
            if target_ns < least && samples.is_none_or(|n| n > MOST_BUSY_SLEEPS) =>
        {
            Some(format!(
                "sleeps of {target_ns} under {policy} hardly leave the CPU; use at most {MOST_BUSY_SLEEPS} samples"
            ))
        }
        _ => None,
    }
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
            (Some(reason), Some(says)) => assert!(reason.contains(says), "{reason}"),
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
        check(cyclic(Wait::ClockNanosleep, 15), "fifo:1", Some("use at least 16us"));
        check(cyclic(Wait::ClockNanosleep, 16), "rr:99", None);
        check(cyclic(Wait::ClockNanosleep, 1), "other", None);
        check(cyclic(Wait::SleepThenSpin, 240), "fifo:9", Some("above 240us"));
        check(cyclic(Wait::SleepThenSpin, 1000), "fifo:9", None);
        // The kernel itself bounds a deadline thread.
        check(cyclic(Wait::BusyWait, 1000), "deadline:100us/1ms", None);
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
