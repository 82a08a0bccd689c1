//! Runs measuring threads side by side.

use std::sync::Arc;
use std::sync::mpsc::channel;

use howlate_linux::{clock, signal};
use howlate_model::{
    CombinationRefusal, Engine, EngineError, Latency, Sink, Span, Task, Turn, TurnControl, TurnEnd, WaitClock,
};

use crate::loops::{NEVER, Stop, WarmUp};
use crate::observer::{MAX_BLOCK_LENGTH, Observer, ObserverAffinity, TICK, ThreadState};
use crate::ring::{RingWriter, WakeupRing};
use crate::thread::{Gate, MeasuringThread, lead};
use crate::wait_clock::ClockReading;

/// The engine of turns in which threads of this process wait for a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadEngine;

impl Engine for ThreadEngine {
    fn takes(&self, turn: &Turn) -> bool {
        !turn.tasks.is_empty() && turn.tasks.iter().all(|task| task.work.wait().is_some())
    }

    fn run(
        &mut self,
        turn: &Turn,
        bounds: &TurnControl,
        sink: &mut dyn Sink,
    ) -> Result<TurnEnd, EngineError> {
        signal::prepare_wake_up().map_err(|source| EngineError::Thread { thread: 0, source })?;
        let clock = turn.tasks.first().map_or(WaitClock::Monotonic, |task| task.clock);
        if !clock::exists(clock) {
            return Err(EngineError::NoClock(CombinationRefusal::NoClock(clock)));
        }
        let clock = ClockReading::for_clock(clock);
        let mut observer = start(turn, bounds, clock, sink)?;
        let _affinity = bounds.observer_cpus.as_ref().map(ObserverAffinity::set);
        let start = observer.wait_until_ready(|earliest| clock.start(bounds.start, earliest))?;
        let how = observer.watch(start);
        Ok(TurnEnd { how, left_behind: observer.finish() })
    }
}

/// Starts the threads, which wait at the gate; returns the observer that will open it.
fn start<'a>(
    turn: &'a Turn,
    bounds: &'a TurnControl,
    clock: ClockReading,
    sink: &'a mut dyn Sink,
) -> Result<Observer<'a>, EngineError> {
    let stop_above = bounds.stop_above.map_or(NEVER, Latency::from_span);
    let stop = Stop {
        interrupted: Arc::clone(&bounds.interrupted),
        on_above: bounds.on_above.clone(),
        ..Stop::default()
    };
    let (gate, (to_observer, from_threads)) = (Arc::new(Gate::default()), channel());
    let duration = turn.lasts();
    let mut threads = Vec::new();
    for (number, task) in turn.tasks.iter().enumerate() {
        let ring = WakeupRing::new(ring_capacity(task));
        let thread = MeasuringThread {
            number,
            task: task.clone(),
            stop_above,
            duration,
            first_ends: bounds.first_ends,
            after_each: bounds.after_each.clone(),
            clock,
            stop: stop.clone(),
            gate: Arc::clone(&gate),
            warm_up: WarmUp::new(task.warm_up),
            out: RingWriter::new(Arc::clone(&ring)),
            to_observer: to_observer.clone(),
        };
        if let Err(source) = thread.spawn(bounds.process) {
            stop.request();
            gate.open(clock::now());
            return Err(EngineError::Thread { thread: number, source });
        }
        threads.push(ThreadState::new(ring));
    }
    let lead = turn.tasks.iter().map(lead).max().unwrap_or_default();
    let duration = duration.map(|duration| duration.plus(lead).plus(END_MARGIN));
    let emits_wakeups = sink.wants_wakeups();
    let poll_every = poll_every(turn, bounds, emits_wakeups);
    Ok(Observer {
        turn,
        duration,
        stop,
        gate,
        from_threads,
        threads,
        bounds,
        sink,
        poll_every,
        emits_wakeups,
    })
}

/// The threads end by themselves at their last planned time. A thread that has not ended this long after it gets no CPU, and is stopped.
const END_MARGIN: Span = Span::from_millis(100);

/// No wait mechanism returns in less than about this.
const MIN_ITERATION: Span = Span::from_nanos(20);

/// A ring holds this many seconds of wake-ups, so that a late observer loses none.
const RING_SECONDS: u64 = 4;

/// Capacity of the ring between thread and observer: a few seconds of wake-ups, or all
/// samples.
fn ring_capacity(task: &Task) -> usize {
    const MIN: u64 = 256;
    const MAX: u64 = 1 << 20;
    let interval = task.work.length().max(MIN_ITERATION).as_nanos();
    let seconds = (RING_SECONDS * 1_000_000_000 / interval).clamp(MIN, MAX);
    let all = task.samples.unwrap_or(u64::MAX);
    usize::try_from(seconds.min(all)).unwrap_or(1).max(1)
}

/// How often the rings must be drained: at the display's interval, else as rarely as blocks end, and always before
/// one is half full.
fn poll_every(turn: &Turn, bounds: &TurnControl, emits_wakeups: bool) -> Span {
    let default = if emits_wakeups { TICK } else { MAX_BLOCK_LENGTH };
    let half_full = |task: &Task| {
        let capacity = ring_capacity(task) as u64;
        let may_overflow = task.samples.is_none_or(|samples| samples > capacity);
        may_overflow.then(|| task.work.length().max(MIN_ITERATION).times(capacity / 2))
    };
    let half_full = turn.tasks.iter().filter_map(half_full).min();
    bounds.poll_interval.unwrap_or(default).min(half_full.unwrap_or(MAX_BLOCK_LENGTH))
}
