//! The measuring threads: settings, the start gate, the loop, the result.

use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::Builder;

use howlate_linux::{clock, signal, thread, usage};
use howlate_model::{
    Caveat, EffectiveSettings, Latency, MonotonicTime, ProcessState, Sleeper, Span, Task, Usage,
    WakeupHookFactory, Work,
};

use crate::loops::{CyclicLoop, MeasuringLoop, NEVER, NO_END, SleepLoop, Stop, WarmUp, run_with_warm_up};
use crate::ring::{RingWriter, WakeupRing};
use crate::settings;
use crate::wait::{HookedWaiter, Waiter, WaiterSetup, WithWaiter};
use crate::wait_clock::ClockReading;

/// Stack size in bytes: enough for the loop, its set-up and the stack touched beforehand.
const STACK: usize = 512 * 1024;

/// Holds all threads back until the common start.
#[derive(Default)]
pub(crate) struct Gate {
    start: Mutex<Option<MonotonicTime>>,
    opened: Condvar,
}

impl Gate {
    pub(crate) fn open(&self, start: MonotonicTime) {
        *self.start.lock().unwrap_or_else(PoisonError::into_inner) = Some(start);
        self.opened.notify_all();
    }

    fn wait(&self) -> MonotonicTime {
        let mut start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *start {
                Some(start) => return start,
                None => start = self.opened.wait(start).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// A message of a measuring thread, identified by its number, to the observer.
pub(crate) enum ThreadMessage {
    Ready(usize, io::Result<(EffectiveSettings, Vec<Caveat>)>),
    Done(usize, Box<ThreadResult>),
}

pub(crate) struct ThreadResult {
    pub(crate) result: io::Result<u64>,
    pub(crate) usage: Usage,
    pub(crate) at: MonotonicTime,
    /// Settings that changed since the start.
    pub(crate) changed: Vec<Caveat>,
}

/// A measuring thread before it starts.
pub(crate) struct MeasuringThread {
    pub(crate) number: usize,
    pub(crate) task: Task,
    pub(crate) stop_above: Latency,
    /// Duration of the part that counts, if it has an end.
    pub(crate) duration: Option<Span>,
    pub(crate) first_ends: bool,
    pub(crate) after_each: Option<WakeupHookFactory>,
    pub(crate) clock: ClockReading,
    pub(crate) stop: Stop,
    pub(crate) gate: Arc<Gate>,
    pub(crate) warm_up: WarmUp,
    pub(crate) out: RingWriter,
    pub(crate) to_observer: Sender<ThreadMessage>,
}

impl MeasuringThread {
    pub(crate) fn spawn(self, process: ProcessState) -> io::Result<()> {
        let builder = Builder::new().name(format!("howlate-{}", self.number)).stack_size(STACK);
        builder.spawn(move || self.run(process)).map(drop)
    }

    fn run(mut self, process: ProcessState) {
        let applied = settings::apply(&self.task, process);
        let settings_before = applied.is_ok().then(settings::read);
        self.rehearse();
        self.send(ThreadMessage::Ready(self.number, applied));
        let Some(settings_before) = settings_before else { return };
        let (first, limits) = self.limits_from(self.gate.wait());
        let (before, start) = (usage::of_this_thread(), clock::now());
        let result = self.measure(first, limits);
        if self.first_ends {
            self.stop.request();
        }
        let at = clock::now();
        let usage = usage::of_this_thread().since(&before, at.since(start));
        let changed = settings::changed_since(&settings_before);
        let changed = changed.into_iter().chain(self.clock.stepped()).collect();
        self.send(ThreadMessage::Done(self.number, Box::new(ThreadResult { result, usage, at, changed })));
    }

    /// Fails when the observer has given up; the message is not needed then.
    fn send(&self, message: ThreadMessage) {
        drop(self.to_observer.send(message));
    }

    fn waiter_setup(&self) -> WaiterSetup {
        WaiterSetup { clock: self.clock, stop: Arc::clone(&self.stop.requested) }
    }

    /// Runs a few iterations, so that the measurement has no page faults on first use of code or memory.
    fn rehearse(&self) {
        const ITERATIONS: u64 = 3;
        let soon = Span::from_micros(1);
        let work = match self.task.work {
            Work::Cyclic { mechanism, .. } => Work::Cyclic { mechanism, period_ns: soon },
            Work::Sleep { mechanism, .. } => Work::Sleep { mechanism, target_ns: soon },
            _ => return,
        };
        let limits = LoopLimits { samples: ITERATIONS, until: NO_END, stop_above: NEVER, dithered: false };
        let (warm_up, out) = (&mut WarmUp::new(ITERATIONS), &mut RingWriter::new(WakeupRing::new(1)));
        let run = LoopRun { warm_up, stop: &self.stop, after_each: None, out };
        // An error here occurs again in the measurement, and is reported then.
        drop(run.start(work, clock::now().plus(soon), limits, self.waiter_setup()));
        drop(signal::wake_up(thread::id()));
        let _ = usage::of_this_thread();
    }

    /// The first planned time and the limits of the loop, given the common `start` of all threads.
    fn limits_from(&self, start: MonotonicTime) -> (MonotonicTime, LoopLimits) {
        let limits = LoopLimits {
            samples: self.task.samples.unwrap_or(u64::MAX),
            until: last_planned(&self.task, start, self.duration),
            stop_above: self.stop_above,
            dithered: self.task.dithered,
        };
        (start.plus(self.task.phase), limits)
    }

    fn measure(&mut self, first: MonotonicTime, limits: LoopLimits) -> io::Result<u64> {
        let waiter_setup = self.waiter_setup();
        let Self { task, warm_up, stop, after_each, out, .. } = self;
        let run = LoopRun { warm_up, stop, after_each: after_each.as_ref(), out };
        run.start(task.work, first, limits, waiter_setup)
    }
}

/// Time from the common start to one period before the first planned time that counts: a duration of ten periods from there
/// contains ten wake-ups.
pub(crate) fn lead(task: &Task) -> Span {
    let phase = task.phase.as_nanos().saturating_sub(task.work.period().unwrap_or_default().as_nanos());
    Span::from_nanos(phase).plus(task.work.length().times(task.warm_up))
}

/// The last planned time of `task`, given the common `start` of all threads and the duration of the part that counts, if it has an end.
pub(crate) fn last_planned(task: &Task, start: MonotonicTime, duration: Option<Span>) -> MonotonicTime {
    duration.map_or(NO_END, |duration| start.plus(lead(task)).plus(with_dither(task, duration)))
}

/// Dithered times are up to half a period late: the start of the last period, and half a period.
fn with_dither(task: &Task, duration: Span) -> Span {
    let period = task.work.length();
    if !task.dithered || period.is_zero() {
        return duration;
    }
    period.times(duration.as_nanos() / period.as_nanos()).plus(half_of(period))
}

fn half_of(period: Span) -> Span {
    Span::from_nanos(period.as_nanos() / 2)
}

/// What ends a loop.
struct LoopLimits {
    samples: u64,
    until: MonotonicTime,
    stop_above: Latency,
    dithered: bool,
}

/// The warm-up and the loop that counts. A rehearsal runs the same code, except for the tracer's hook, as untouched code would be
/// fetched during the measurement.
struct LoopRun<'a> {
    warm_up: &'a mut WarmUp,
    stop: &'a Stop,
    after_each: Option<&'a WakeupHookFactory>,
    out: &'a mut RingWriter,
}

impl LoopRun<'_> {
    /// Runs `work`; periodic work starts at `first`.
    fn start(
        self,
        work: Work,
        first: MonotonicTime,
        limits: LoopLimits,
        waiter_setup: WaiterSetup,
    ) -> io::Result<u64> {
        let LoopLimits { samples, until, stop_above, dithered } = limits;
        match work {
            Work::Cyclic { mechanism, period_ns: period } => {
                let dither = if dithered { half_of(period) } else { Span::ZERO };
                let measuring_loop = CyclicLoop { first, period, dither, samples, until, stop_above };
                waiter_setup.with(mechanism, LoopWithRun { measuring_loop, run: self })
            }
            Work::Sleep { mechanism: Sleeper::Wait(wait), target_ns: length } => {
                let measuring_loop = SleepLoop { length, samples, until, stop_above };
                waiter_setup.with(wait, LoopWithRun { measuring_loop, run: self })
            }
            // Other engines handle these.
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

struct LoopWithRun<'a, L> {
    measuring_loop: L,
    run: LoopRun<'a>,
}

impl<L: MeasuringLoop> WithWaiter for LoopWithRun<'_, L> {
    fn with(self, waiter: &mut impl Waiter) -> io::Result<u64> {
        let Self { measuring_loop, run: LoopRun { warm_up, stop, after_each, out } } = self;
        match after_each {
            None => run_with_warm_up(&measuring_loop, warm_up, waiter, stop, out),
            Some(after_each) => {
                let mut hooked = HookedWaiter { waiter, hook: after_each.create() };
                run_with_warm_up(&measuring_loop, warm_up, &mut hooked, stop, out)
            }
        }
    }
}
