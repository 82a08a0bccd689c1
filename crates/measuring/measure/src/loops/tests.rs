//! The loops with waits whose latency is scripted.

use super::*;
use howlate_model::{Block, WakeupGrid};
use proptest::collection::vec;
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::VecDeque;

/// Every wait ends with the next latency of the script.
struct ScriptedWaiter {
    now: Cell<i64>,
    late: VecDeque<ScriptedWait>,
}

enum ScriptedWait {
    By(i64),
    Signal,
    /// A signal that ends the run, at this offset from the planned time.
    End(i64, Stop),
    Broken,
}
use ScriptedWait::{Broken, By, End, Signal};

impl ScriptedWaiter {
    fn new(late: impl IntoIterator<Item = ScriptedWait>) -> Self {
        Self { now: Cell::new(0), late: late.into_iter().collect() }
    }
}

impl Waiter for ScriptedWaiter {
    fn now(&self) -> MonotonicTime {
        MonotonicTime::from_nanos(self.now.get())
    }

    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        match self.late.pop_front() {
            Some(By(late)) => self.now.set(time.as_nanos().max(self.now.get()) + late),
            Some(End(late, stop)) => {
                self.now.set(time.as_nanos() + late);
                stop.request();
                return Err(io::ErrorKind::Interrupted.into());
            }
            Some(Signal) => return Err(io::ErrorKind::Interrupted.into()),
            Some(Broken) | None => return Err(io::ErrorKind::InvalidInput.into()),
        }
        Ok(())
    }

    fn wait_for(&mut self, span: Span) -> io::Result<()> {
        self.wait_until(self.now().plus(span))
    }
}

fn collect(ring: &WakeupRing) -> Vec<(i64, i64)> {
    let mut got = Vec::new();
    ring.drain(|pending| {
        got.extend(pending.wakeups().map(|wakeup| (wakeup.expected.as_nanos(), wakeup.latency().as_nanos())));
    });
    got
}

fn cyclic(
    script: impl IntoIterator<Item = ScriptedWait>,
    stop_above: i64,
) -> (Vec<(i64, i64)>, io::Result<u64>, bool) {
    let mut waiter = ScriptedWaiter::new(script);
    let samples = u64::try_from(waiter.late.iter().filter(|wait| matches!(wait, By(_))).count()).unwrap();
    let samples = samples + u64::from(waiter.late.iter().any(|wait| matches!(wait, Broken)));
    let (ring, stop) = (WakeupRing::new(64), Stop::default());
    let measuring_loop = CyclicLoop {
        first: MonotonicTime::from_nanos(100),
        period: Span::from_nanos(100),
        dither: Span::ZERO,
        samples,
        until: NO_END,
        stop_above: Latency::from_nanos(stop_above),
    };
    let result = measuring_loop.run(&mut waiter, &stop, &mut RingWriter::new(Arc::clone(&ring)));
    (collect(&ring), result, stop.is_requested())
}

#[test]
fn periodic_wake_ups_keep_their_grid() {
    // 0    100  200  300  400  500  600   period 100
    // |----|----|----|----|----|----|
    //      ^ +7 ^ +130    ^ +0 ^ +99^ +100
    //            swallows 300              swallows 700
    let (got, result, _) = cyclic([By(7), By(130), By(0), By(99), By(100), By(1)], i64::MAX);
    assert_eq!(got, [(100, 7), (200, 130), (400, 0), (500, 99), (600, 100), (800, 1)]);
    assert_eq!(result.unwrap(), 6);
}

/// Each planned time is anywhere in the first half of its period.
#[test]
fn dithered_times_lie_anywhere_in_half_a_period() {
    const PERIODS: usize = 400;
    let mut waiter = ScriptedWaiter::new((0..PERIODS).map(|_| By(1)));
    let (ring, stop) = (WakeupRing::new(PERIODS), Stop::default());
    let measuring_loop = CyclicLoop {
        first: MonotonicTime::from_nanos(0),
        period: Span::from_nanos(1_000),
        dither: Span::from_nanos(500),
        samples: PERIODS as u64,
        until: NO_END,
        stop_above: NEVER,
    };
    measuring_loop.run(&mut waiter, &stop, &mut RingWriter::new(Arc::clone(&ring))).unwrap();
    let delays: Vec<i64> =
        collect(&ring).iter().zip(0..).map(|(wakeup, number)| wakeup.0 - number * 1_000).collect();
    assert!(delays.len() == PERIODS && delays.iter().all(|delay| (0..500).contains(delay)), "{delays:?}");
    let quarters: Vec<usize> =
        (0..4).map(|quarter| delays.iter().filter(|delay| **delay / 125 == quarter).count()).collect();
    assert!(quarters.iter().all(|count| (60..140).contains(count)), "{quarters:?}");
}

#[test]
fn a_signal_does_not_count_as_a_wake_up() {
    let (got, ..) = cyclic([By(1), Signal, Signal, By(2)], i64::MAX);
    assert_eq!(got, [(100, 1), (200, 2)]);
}

#[test]
fn a_loop_ends_by_itself_at_its_end() {
    // 0    100  200  300  400   period 100, until 350
    // |----|----|----|--|-|
    //      ^ +1 ^ +2 ^ +3
    let mut waiter = ScriptedWaiter::new([By(1), By(2), By(3), By(4)]);
    let (ring, stop) = (WakeupRing::new(8), Stop::default());
    let first = MonotonicTime::from_nanos(100);
    let until = MonotonicTime::from_nanos(350);
    let measuring_loop = CyclicLoop {
        first,
        period: Span::from_nanos(100),
        dither: Span::ZERO,
        samples: 9,
        until,
        stop_above: NEVER,
    };
    let done = measuring_loop.run(&mut waiter, &stop, &mut RingWriter::new(Arc::clone(&ring))).unwrap();
    assert_eq!((done, collect(&ring).len()), (3, 3));
}

#[test]
fn the_threshold_stops_at_once_and_includes_the_late_wakeup() {
    let (got, result, stopped) = cyclic([By(50), By(51), By(3)], 50);
    assert_eq!(got, [(100, 50), (200, 51)]);
    assert_eq!(result.unwrap(), 2);
    assert!(stopped);
}

#[test]
fn warm_up_is_discarded_and_its_stall_counts_afterwards() {
    // 0    100  200  300  400  500   period 100
    // |----|----|----|----|----|
    //      ^ +9 ^ +150    ^ +3
    //      warm-up   ^ +50: its time had passed
    let mut waiter = ScriptedWaiter::new([By(9), By(150), By(0), By(3)]);
    let (ring, stop) = (WakeupRing::new(8), Stop::default());
    let first = MonotonicTime::from_nanos(100);
    let measuring_loop = CyclicLoop {
        first,
        period: Span::from_nanos(100),
        dither: Span::ZERO,
        samples: 2,
        until: NO_END,
        stop_above: Latency::from_nanos(60),
    };
    let done = run_with_warm_up(
        &measuring_loop,
        &mut WarmUp::new(2),
        &mut waiter,
        &stop,
        &mut RingWriter::new(Arc::clone(&ring)),
    )
    .unwrap();
    assert_eq!(done, 2);
    assert_eq!(collect(&ring), [(300, 50), (400, 3)]);
}

proptest! {
    /// With a stall anywhere, every planned time is a wake-up or a miss.
    #[test]
    fn every_planned_time_is_a_wakeup_or_a_miss(
        late in vec(lateness(), 64), warm_up in 0..6u64, planned in 1..40u64, dither in prop_oneof![Just(0), Just(50u64)],
    ) {
        const PERIOD: Span = Span::from_nanos(100);
        let (first, ring, dither) = (MonotonicTime::from_nanos(100), WakeupRing::new(64), Span::from_nanos(dither));
        // Dithered times may lie behind the last period.
        let until = first.plus(PERIOD.times(warm_up + planned - 1)).plus(dither);
        let measuring_loop = CyclicLoop { first, period: PERIOD, dither, samples: u64::MAX, until, stop_above: NEVER };
        let (mut waiter, mut warm_up) = (ScriptedWaiter::new(late.into_iter().map(By)), WarmUp::new(warm_up));
        let out = &mut RingWriter::new(Arc::clone(&ring));
        run_with_warm_up(&measuring_loop, &mut warm_up, &mut waiter, &Stop::default(), out).unwrap();
        let mut block = Block::default();
        let grid = Some(WakeupGrid { period: PERIOD, until });
        ring.drain(|pending| pending.wakeups().for_each(|wakeup| block.record(wakeup, grid)));
        prop_assert_eq!(block.latency.count() + block.missed_periods, planned);
        prop_assert_eq!(block.swallowed.map_or(0, |missed| missed.count()), block.missed_periods);
    }
}

/// Mostly less than a period, and sometimes many periods.
fn lateness() -> impl Strategy<Value = i64> {
    prop_oneof![4 => 0..100i64, 1 => 0..5_000i64]
}

#[test]
fn a_failing_call_ends_the_loop_with_its_error() {
    let (got, result, _) = cyclic([By(5), Broken], i64::MAX);
    assert_eq!(got, [(100, 5)]);
    assert_eq!(result.unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn sleeps_start_when_the_last_one_returned() {
    // 0        1000 +56       2056 +4      3060
    // |--------|----|---------|----|
    let mut waiter = ScriptedWaiter::new([By(56), Signal, By(4)]);
    let (ring, stop) = (WakeupRing::new(8), Stop::default());
    let measuring_loop =
        SleepLoop { length: Span::from_micros(1), samples: 2, until: NO_END, stop_above: NEVER };
    let done = measuring_loop.run(&mut waiter, &stop, &mut RingWriter::new(Arc::clone(&ring))).unwrap();
    assert_eq!(done, 2);
    assert_eq!(collect(&ring), [(1000, 56), (2056, 4)]);
}

/// After a stall of the machine, the signal that ends the run and the end of a sleep come together.
#[test]
fn a_sleep_that_had_ended_when_the_run_was_stopped_counts() {
    for (late, expected) in [(600, vec![(1000, 600)]), (-1, vec![])] {
        let (ring, stop) = (WakeupRing::new(8), Stop::default());
        let mut waiter = ScriptedWaiter::new([End(late, stop.clone())]);
        let measuring_loop =
            SleepLoop { length: Span::from_micros(1), samples: 2, until: NO_END, stop_above: NEVER };
        let done = measuring_loop.run(&mut waiter, &stop, &mut RingWriter::new(Arc::clone(&ring))).unwrap();
        assert_eq!((done, collect(&ring)), (expected.len() as u64, expected));
    }
}
