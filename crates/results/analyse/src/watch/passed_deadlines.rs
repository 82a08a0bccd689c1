//! Which deadline a waker passes on that handles one after the other without sleeping: the first, or one that came due since.
//!
//! ```text
//! timer        due 1       due 2       due 3       due 4
//!              |-----------|-----------|-----------|-----------|
//! waker         runs .................................... never sleeps
//!                              wakes       wakes       wakes
//! woken                        for 1       for 2       for 3
//! ```

use howlate_model::MonotonicTime;

/// A wake-up of a thread by the run of the waker.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassingWakeup {
    /// When the woken thread had fallen asleep, if that is known.
    pub(super) asleep: Option<MonotonicTime>,
    pub(super) at: MonotonicTime,
}

/// The deadline that the last of `wakeups` passes on, all those of one thread by a run that began at `run` for the deadline `first`.
/// `later` are the deadlines after it, each with the time at which the timer's thread ran for it, in order. `None` where it is not known
/// which.
///
/// A wake-up passes on one deadline, but a thread is not woken again while it is awake: awake for most of the time, it may have been
/// passed several.
pub(super) fn last_passed(
    run: MonotonicTime,
    first: MonotonicTime,
    later: impl Iterator<Item = (MonotonicTime, MonotonicTime)>,
    wakeups: impl Iterator<Item = PassingWakeup>,
) -> Option<MonotonicTime> {
    let mut later = later.peekable();
    let (mut passed, mut before) = (first, None);
    for wakeup in wakeups {
        let is_due = later.peek().is_some_and(|(_, ran)| *ran <= wakeup.at);
        if is_due && !has_slept(wakeup, before.unwrap_or(run)) {
            return None;
        }
        if is_due && before.is_some() {
            passed = later.next()?.0;
        }
        before = Some(wakeup.at);
    }
    Some(passed)
}

/// Whether the woken thread slept for most of the time since `from`.
fn has_slept(wakeup: PassingWakeup, from: MonotonicTime) -> bool {
    let awake = wakeup.asleep.map(|asleep| asleep.max(from).since(from));
    awake.is_some_and(|awake| awake.as_nanos() * 2 < wakeup.at.since(from).as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(nanos)
    }

    /// The last deadline passed on by a run that began at 1010 for the deadline 1000; the next ones are due every 1000. `wakeups`: asleep
    /// since, woken at.
    fn passed(wakeups: &[(i64, i64)]) -> Option<i64> {
        let later = (2..9).map(|number| (at(number * 1_000), at(number * 1_000 + 10)));
        let wakeups =
            wakeups.iter().map(|(asleep, woken)| PassingWakeup { asleep: Some(at(*asleep)), at: at(*woken) });
        last_passed(at(1_010), at(1_000), later, wakeups).map(MonotonicTime::as_nanos)
    }

    #[test]
    fn each_wakeup_of_a_run_passes_on_the_next_deadline() {
        let all = [(500, 3_700), (3_710, 4_100), (4_110, 4_500), (4_510, 4_900)];
        let found: Vec<_> = (1..=4).map(|count| passed(&all[..count])).collect();
        assert_eq!(found, [Some(1_000), Some(2_000), Some(3_000), Some(4_000)]);
    }

    #[test]
    fn until_another_is_due_it_is_the_same() {
        assert_eq!(passed(&[(500, 1_200), (1_298, 1_300)]), Some(1_000));
        assert_eq!(
            passed(&[(500, 1_200), (1_250, 2_005)]),
            Some(1_000),
            "the timer's thread has not run yet"
        );
        assert_eq!(passed(&[(500, 1_200), (1_250, 2_015)]), Some(2_000));
    }

    #[test]
    fn awake_for_most_of_the_time_it_may_have_been_passed_several() {
        assert_eq!(passed(&[(500, 3_700), (3_990, 4_100)]), None);
        assert_eq!(passed(&[(500, 3_700), (3_990, 4_100), (4_110, 4_900)]), None, "and so from then on");
        assert_eq!(passed(&[(3_000, 3_700)]), None, "awake since before the run");
    }
}
