//! Running measuring threads side by side, and watching them.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

use howlate_linux::{clock, signal};
use howlate_model::{CpuSet, HowEnded, Latency, Line, Span, Task, Turn, Wakeup};

use crate::loops::{NEVER, Stop, WarmUp};
use crate::observer::{Observer, Place, TICK, Watched};
use crate::ring::{Ring, RingWriter};
use crate::settings::Shared;
use crate::thread::{Gate, Measuring};
use crate::{Process, Progress, WaitClock, notify};

/// Where the observer puts what it sees.
pub trait Sink {
    /// A line of the recording.
    fn line(&mut self, line: Line);
    /// Each time the observer has looked: how far each thread has come.
    fn progress(&mut self, threads: &[Progress]);
    /// Whether [`Sink::wakeups`] is wanted; asked once.
    fn wants_wakeups(&self) -> bool {
        false
    }
    /// The wake-ups of thread `thread` since the last look, oldest first.
    fn wakeups(&mut self, _thread: usize, _wakeups: &[Wakeup]) {}
}

/// What begins and ends a turn besides its own end, and how it is watched.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// Ends at once when a latency exceeds this.
    pub stop_above: Option<Span>,
    /// Done at once, by the thread that exceeded it.
    pub on_above: Option<OnAbove>,
    /// Where the observer runs, away from what is measured; `None`: anywhere.
    pub observer_cpus: Option<CpuSet>,
    /// How often the observer looks; `None`: ten times a second.
    pub look_every: Option<Span>,
    /// Whether the first thread that is done ends the turn for all.
    pub first_ends: bool,
    /// When the common start is, on [`Bounds::clock`].
    pub start: Start,
    /// The clock that the threads wait on and read.
    pub clock: WaitClock,
}

/// When all threads of a turn start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// As soon as all are ready.
    #[default]
    Soon,
    /// On the next full second.
    FullSecond,
}

/// What the thread does whose latency exceeded the threshold, such as stopping a trace.
#[derive(Clone)]
pub struct OnAbove(Arc<dyn Fn(Latency) + Send + Sync>);

impl OnAbove {
    /// `act` gets the latency.
    pub fn new(act: impl Fn(Latency) + Send + Sync + 'static) -> Self {
        Self(Arc::new(act))
    }

    pub(crate) fn call(&self, latency: Latency) {
        (self.0)(latency);
    }
}

impl fmt::Debug for OnAbove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnAbove")
    }
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// A thread could not be started.
    #[error("cannot start measuring thread {thread}: {source}")]
    Thread {
        /// Which of the threads, from 0.
        thread: usize,
        /// The kernel's reason.
        source: io::Error,
    },
    /// A thread's settings could not be read back.
    #[error("cannot read back the settings of measuring thread {thread}: {source}")]
    ReadBack {
        /// Which of the threads, from 0.
        thread: usize,
        /// The kernel's reason.
        source: io::Error,
    },
}

/// What came of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Why it ended.
    pub how: HowEnded,
    /// Whether a thread never came back and may still be running.
    pub left_behind: bool,
}

/// Runs all tasks of `turn` side by side until they are done, its time is over, the bounds are
/// reached, or `interrupted` is set.
///
/// # Errors
///
/// When a thread cannot be started or its settings cannot be read back. A refused setting is
/// no error: the thread measures without it, and a caveat says so.
pub fn run(
    turn: &Turn,
    bounds: &Bounds,
    process: &Process,
    interrupted: &Arc<AtomicBool>,
    sink: &mut dyn Sink,
) -> Result<Ended, MeasureError> {
    if notify::is_notification(turn) {
        return Ok(notify::run(turn, bounds, process, interrupted, sink));
    }
    let shared = Shared { memory_locked: process.memory_locked(), dma_latency_us: process.dma_latency_us() };
    signal::prepare_wake_up().map_err(|source| MeasureError::Thread { thread: 0, source })?;
    let stop_above = bounds.stop_above.map_or(NEVER, as_latency);
    let stop =
        Stop { interrupted: Arc::clone(interrupted), on_above: bounds.on_above.clone(), ..Stop::default() };
    let (gate, clock) = (Arc::new(Gate::default()), bounds.clock.now_against_monotonic());
    let (to_observer, from_threads) = channel();
    let mut watched = Vec::new();
    for (number, task) in turn.tasks.iter().enumerate() {
        let ring = Ring::new(ring_capacity(task));
        let thread = Measuring {
            number,
            task: task.clone(),
            stop_above,
            lasts: [turn.duration, turn.cut_after].into_iter().flatten().min(),
            first_ends: bounds.first_ends,
            clock,
            stop: stop.clone(),
            gate: Arc::clone(&gate),
            warm_up: WarmUp::new(task.warm_up),
            out: RingWriter::new(Arc::clone(&ring)),
            to_observer: to_observer.clone(),
        };
        if let Err(source) = thread.spawn(shared) {
            stop.ask();
            gate.open(clock::now());
            return Err(MeasureError::Thread { thread: number, source });
        }
        watched.push(Watched::new(ring));
    }
    drop(to_observer);
    let _place = bounds.observer_cpus.as_ref().map(Place::take);
    let look_every = bounds.look_every.unwrap_or(TICK);
    let hands_on = sink.wants_wakeups();
    let mut observer =
        Observer { turn, stop, gate, from_threads, watched, interrupted, sink, look_every, hands_on };
    let start = observer.wait_until_ready(|soon| clock.start(bounds.start, soon))?;
    let how = observer.watch(start);
    Ok(Ended { how, left_behind: observer.finish() })
}

/// A ring holds this many seconds of wake-ups, so that an observer that is late itself loses none.
const RING_SECONDS: u64 = 4;

/// How many wake-ups the ring between thread and observer holds: a few seconds' worth,
/// or all that will come.
fn ring_capacity(task: &Task) -> usize {
    const LEAST: u64 = 256;
    const MOST: u64 = 1 << 20;
    // No way of waiting returns in less than about 20 ns.
    let each = task.work.length().as_nanos().max(20);
    let seconds = (RING_SECONDS * 1_000_000_000 / each).clamp(LEAST, MOST);
    let all = task.samples.unwrap_or(u64::MAX);
    usize::try_from(seconds.min(all)).unwrap_or(1).max(1)
}

pub(crate) fn as_latency(span: Span) -> Latency {
    Latency::from_nanos(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX))
}
