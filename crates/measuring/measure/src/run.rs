//! Running measuring threads side by side, and watching them.

use std::sync::Arc;
use std::sync::mpsc::channel;

use howlate_linux::{clock, signal};
use howlate_model::{
    CombinationRefusal, Engine, EngineError, Latency, Sink, Span, Task, Turn, TurnControl, TurnEnd, WaitClock,
};

use crate::loops::{NEVER, Stop, WarmUp};
use crate::observer::{Affinity, BLOCK, Observer, TICK, Watched};
use crate::ring::{Ring, RingWriter};
use crate::thread::{Gate, Measuring, lead};
use crate::wait_clock::ClockReading;

/// The engine of turns in which threads of this process wait for a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Threads;

impl Engine for Threads {
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
        let _affinity = bounds.observer_cpus.as_ref().map(Affinity::set);
        let began = observer.wait_until_ready(|soon| clock.start(bounds.start, soon))?;
        let how = observer.watch(began);
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
    let lasts = turn.lasts();
    let mut watched = Vec::new();
    for (number, task) in turn.tasks.iter().enumerate() {
        let ring = Ring::new(ring_capacity(task));
        let thread = Measuring {
            number,
            task: task.clone(),
            stop_above,
            lasts,
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
            stop.ask();
            gate.open(clock::now());
            return Err(EngineError::Thread { thread: number, source });
        }
        watched.push(Watched::new(ring));
    }
    let lead = turn.tasks.iter().map(lead).max().unwrap_or_default();
    let lasts = lasts.map(|lasts| lasts.plus(lead).plus(ROOM));
    let emits_wakeups = sink.wants_wakeups();
    let poll_every = poll_every(turn, bounds, emits_wakeups);
    Ok(Observer { turn, lasts, stop, gate, from_threads, watched, bounds, sink, poll_every, emits_wakeups })
}

/// The threads end by themselves at their last planned time. One that has not by so long after it gets no CPU, and is ended.
const ROOM: Span = Span::from_millis(100);

/// No way of waiting returns in less than about this.
const LEAST_TURN: Span = Span::from_nanos(20);

/// A ring holds this many seconds of wake-ups, so that an observer that is late itself loses none.
const RING_SECONDS: u64 = 4;

/// How many wake-ups the ring between thread and observer holds: a few seconds' worth,
/// or all that will come.
fn ring_capacity(task: &Task) -> usize {
    const LEAST: u64 = 256;
    const MOST: u64 = 1 << 20;
    let each = task.work.length().max(LEAST_TURN).as_nanos();
    let seconds = (RING_SECONDS * 1_000_000_000 / each).clamp(LEAST, MOST);
    let all = task.samples.unwrap_or(u64::MAX);
    usize::try_from(seconds.min(all)).unwrap_or(1).max(1)
}

/// How often the rings must be emptied: as often as somebody watches, else as seldom as blocks end, and always before
/// one is half full.
fn poll_every(turn: &Turn, bounds: &TurnControl, emits_wakeups: bool) -> Span {
    let unwatched = if emits_wakeups { TICK } else { BLOCK };
    let half_full = |task: &Task| {
        let capacity = ring_capacity(task) as u64;
        let may_overflow = task.samples.is_none_or(|samples| samples > capacity);
        may_overflow.then(|| task.work.length().max(LEAST_TURN).times(capacity / 2))
    };
    let half_full = turn.tasks.iter().filter_map(half_full).min();
    bounds.poll_interval.unwrap_or(unwatched).min(half_full.unwrap_or(BLOCK))
}
