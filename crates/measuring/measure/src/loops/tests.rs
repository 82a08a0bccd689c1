//! The loops in a world that is exactly as late as a script says.

use super::*;
use howlate_model::{Block, WakeupGrid};
use proptest::collection::vec;
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::VecDeque;

/// A world in which every wait ends exactly as late as the script says.
struct Scripted {
    now: Cell<i64>,
    late: VecDeque<Late>,
}

enum Late {
    By(i64),
    Signal,
    /// A signal that ends the run, so long after the time that was waited for, or before.
    End(i64, Stop),
    Broken,
}
use Late::{Broken, By, End, Signal};

impl Scripted {
    fn new(late: impl IntoIterator<Item = Late>) -> Self {
        Self { now: Cell::new(0), late: late.into_iter().collect() }
    }
}

impl Waiter for Scripted {
    fn now(&self) -> MonotonicTime {
        MonotonicTime::from_nanos(self.now.get())
    }

    fn wait_until(&mut self, time: MonotonicTime) -> io::Result<()> {
        match self.late.pop_front() {
            Some(By(late)) => self.now.set(time.as_nanos().max(self.now.get()) + late),
            Some(End(late, stop)) => {
                self.now.set(time.as_nanos() + late);
                stop.ask();
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

fn collect(ring: &Ring) -> Vec<(i64, i64)> {
    let mut got = Vec::new();
    ring.drain(|arrived| {
        got.extend(arrived.wakeups().map(|one| (one.expected.as_nanos(), one.latency().as_nanos())));
    });
    got
}

fn cyclic(
    script: impl IntoIterator<Item = Late>,
    stop_above: i64,
) -> (Vec<(i64, i64)>, io::Result<u64>, bool) {
    let mut world = Scripted::new(script);
    let samples = u64::try_from(world.late.iter().filter(|one| matches!(one, By(_))).count()).unwrap();
    let samples = samples + u64::from(world.late.iter().any(|one| matches!(one, Broken)));
    let (ring, stop) = (Ring::new(64), Stop::default());
    let job = Cyclic {
        first: MonotonicTime::from_nanos(100),
        period: Span::from_nanos(100),
        dither: Span::ZERO,
        samples,
        until: NO_END,
        stop_above: Latency::from_nanos(stop_above),
    };
    let result = job.run(&mut world, &stop, &mut RingWriter::new(Arc::clone(&ring)));
    (collect(&ring), result, stop.is_asked())
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

/// The places stay where they are, and what is planned at each lies in the half period behind it, anywhere.
#[test]
fn dithered_times_lie_anywhere_in_half_a_period() {
    const PLACES: usize = 400;
    let mut world = Scripted::new((0..PLACES).map(|_| By(1)));
    let (ring, stop) = (Ring::new(PLACES), Stop::default());
    let job = Cyclic {
        first: MonotonicTime::from_nanos(0),
        period: Span::from_nanos(1_000),
        dither: Span::from_nanos(500),
        samples: PLACES as u64,
        until: NO_END,
        stop_above: NEVER,
    };
    job.run(&mut world, &stop, &mut RingWriter::new(Arc::clone(&ring))).unwrap();
    let moved: Vec<i64> = collect(&ring).iter().zip(0..).map(|(one, place)| one.0 - place * 1_000).collect();
    assert!(moved.len() == PLACES && moved.iter().all(|by| (0..500).contains(by)), "{moved:?}");
    let quarters: Vec<usize> =
        (0..4).map(|quarter| moved.iter().filter(|by| **by / 125 == quarter).count()).collect();
    assert!(quarters.iter().all(|count| (60..140).contains(count)), "{quarters:?}");
}

#[test]
fn a_signal_does_not_count_as_a_wake_up() {
    let (got, ..) = cyclic([By(1), Signal, Signal, By(2)], i64::MAX);
    assert_eq!(got, [(100, 1), (200, 2)]);
}

#[test]
fn a_loop_ends_by_itself_when_its_time_is_over() {
    // 0    100  200  300  400   period 100, until 350
    // |----|----|----|--|-|
    //      ^ +1 ^ +2 ^ +3
    let mut world = Scripted::new([By(1), By(2), By(3), By(4)]);
    let (ring, stop) = (Ring::new(8), Stop::default());
    let first = MonotonicTime::from_nanos(100);
    let until = MonotonicTime::from_nanos(350);
    let job = Cyclic {
        first,
        period: Span::from_nanos(100),
        dither: Span::ZERO,
        samples: 9,
        until,
        stop_above: NEVER,
    };
    let done = job.run(&mut world, &stop, &mut RingWriter::new(Arc::clone(&ring))).unwrap();
    assert_eq!((done, collect(&ring).len()), (3, 3));
}

#[test]
fn the_threshold_stops_at_once_and_keeps_the_culprit() {
    let (got, result, stopped) = cyclic([By(50), By(51), By(3)], 50);
    assert_eq!(got, [(100, 50), (200, 51)]);
    assert_eq!(result.unwrap(), 2);
    assert!(stopped);
}

#[test]
fn warm_up_is_forgotten_and_what_it_swallows_of_the_rest_is_not() {
    // 0    100  200  300  400  500   period 100
    // |----|----|----|----|----|
    //      ^ +9 ^ +150    ^ +3
    //      warm-up   ^ +50: its time had passed
    let mut world = Scripted::new([By(9), By(150), By(0), By(3)]);
    let (ring, stop) = (Ring::new(8), Stop::default());
    let first = MonotonicTime::from_nanos(100);
    let job = Cyclic {
        first,
        period: Span::from_nanos(100),
        dither: Span::ZERO,
        samples: 2,
        until: NO_END,
        stop_above: Latency::from_nanos(60),
    };
    let done =
        run_warm(&job, &mut WarmUp::new(2), &mut world, &stop, &mut RingWriter::new(Arc::clone(&ring)))
            .unwrap();
    assert_eq!(done, 2);
    assert_eq!(collect(&ring), [(300, 50), (400, 3)]);
}

proptest! {
    /// Whatever stalls, in the warm-up, in what counts or over the end: each time that was planned is woken at or missed.
    #[test]
    fn what_was_planned_is_woken_at_or_missed(
        late in vec(lateness(), 64), warm_up in 0..6u64, planned in 1..40u64, dither in prop_oneof![Just(0), Just(50u64)],
    ) {
        const PERIOD: Span = Span::from_nanos(100);
        let (first, ring, dither) = (MonotonicTime::from_nanos(100), Ring::new(64), Span::from_nanos(dither));
        // Times that are moved have room behind the last place.
        let until = first.plus(PERIOD.times(warm_up + planned - 1)).plus(dither);
        let job = Cyclic { first, period: PERIOD, dither, samples: u64::MAX, until, stop_above: NEVER };
        let (mut world, mut warm_up) = (Scripted::new(late.into_iter().map(By)), WarmUp::new(warm_up));
        let out = &mut RingWriter::new(Arc::clone(&ring));
        run_warm(&job, &mut warm_up, &mut world, &Stop::default(), out).unwrap();
        let mut block = Block::default();
        let grid = Some(WakeupGrid { period: PERIOD, until });
        ring.drain(|arrived| arrived.wakeups().for_each(|one| block.record(one, grid)));
        prop_assert_eq!(block.latency.count() + block.missed_periods, planned);
        prop_assert_eq!(block.swallowed.map_or(0, |missed| missed.count()), block.missed_periods);
    }
}

/// Mostly less than a period, and now and then many of them.
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
    let mut world = Scripted::new([By(56), Signal, By(4)]);
    let (ring, stop) = (Ring::new(8), Stop::default());
    let job = Sleep { length: Span::from_micros(1), samples: 2, until: NO_END, stop_above: NEVER };
    let done = job.run(&mut world, &stop, &mut RingWriter::new(Arc::clone(&ring))).unwrap();
    assert_eq!(done, 2);
    assert_eq!(collect(&ring), [(1000, 56), (2056, 4)]);
}

/// A machine that stood still goes on with all at once: the signal that ends the run, and the latest sleep of it.
#[test]
fn a_sleep_that_was_over_when_the_run_was_ended_counts() {
    for (late, counted) in [(600, vec![(1000, 600)]), (-1, vec![])] {
        let (ring, stop) = (Ring::new(8), Stop::default());
        let mut world = Scripted::new([End(late, stop.clone())]);
        let job = Sleep { length: Span::from_micros(1), samples: 2, until: NO_END, stop_above: NEVER };
        let done = job.run(&mut world, &stop, &mut RingWriter::new(Arc::clone(&ring))).unwrap();
        assert_eq!((done, collect(&ring)), (counted.len() as u64, counted));
    }
}
