//! The measuring threads: settings, the gate, the loop, the account.

use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::Builder;

use howlate_linux::{clock, signal, thread, usage};
use howlate_model::{
    Caveat, EffectiveSettings, Latency, MonotonicTime, ProcessState, Sleeper, Span, Task, Usage,
    WakeupHookFactory, Work,
};

use crate::loops::{Cyclic, Job, NEVER, NO_END, Sleep, Stop, WarmUp, run_warm};
use crate::ring::{Ring, RingWriter};
use crate::settings;
use crate::wait::{Noting, Waiter, Waiting, WithWaiter};
use crate::wait_clock::ClockReading;

/// Enough for the loop, its set-up and the stack touched beforehand.
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

    fn pass(&self) -> MonotonicTime {
        let mut start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *start {
                Some(start) => return start,
                None => start = self.opened.wait(start).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// What a measuring thread tells the observer.
pub(crate) enum Message {
    Ready(usize, io::Result<(EffectiveSettings, Vec<Caveat>)>),
    Done(usize, Box<Done>),
}

pub(crate) struct Done {
    pub(crate) result: io::Result<u64>,
    pub(crate) usage: Usage,
    pub(crate) at: MonotonicTime,
    /// Which of its settings are others by then than in the beginning.
    pub(crate) changed: Vec<Caveat>,
}

/// A measuring thread's belongings.
pub(crate) struct Measuring {
    pub(crate) number: usize,
    pub(crate) task: Task,
    pub(crate) stop_above: Latency,
    /// How long what counts lasts, if there is an end.
    pub(crate) lasts: Option<Span>,
    pub(crate) first_ends: bool,
    pub(crate) after_each: Option<WakeupHookFactory>,
    pub(crate) clock: ClockReading,
    pub(crate) stop: Stop,
    pub(crate) gate: Arc<Gate>,
    pub(crate) warm_up: WarmUp,
    pub(crate) out: RingWriter,
    pub(crate) to_observer: Sender<Message>,
}

impl Measuring {
    /// Starts the thread.
    pub(crate) fn spawn(self, process: ProcessState) -> io::Result<()> {
        let named = Builder::new().name(format!("howlate-{}", self.number)).stack_size(STACK);
        named.spawn(move || self.run(process)).map(drop)
    }

    fn run(mut self, process: ProcessState) {
        let applied = settings::apply(&self.task, process);
        let settings_before = applied.is_ok().then(settings::read);
        self.rehearse();
        self.tell(Message::Ready(self.number, applied));
        let Some(settings_before) = settings_before else { return };
        let (first, limits) = self.counted_from(self.gate.pass());
        let (before, began) = (usage::of_this_thread(), clock::now());
        let result = self.measure(first, limits);
        if self.first_ends {
            self.stop.ask();
        }
        let at = clock::now();
        let usage = usage::of_this_thread().since(&before, at.since(began));
        let changed = settings::changed_since(&settings_before);
        let changed = changed.into_iter().chain(self.clock.stepped()).collect();
        self.tell(Message::Done(self.number, Box::new(Done { result, usage, at, changed })));
    }

    /// The observer may have given up and gone; then nobody needs to know.
    fn tell(&self, message: Message) {
        drop(self.to_observer.send(message));
    }

    fn waiting(&self) -> Waiting {
        Waiting { clock: self.clock, stop: Arc::clone(&self.stop.asked) }
    }

    /// Turns the loop a few times, so that no page of its code or of its memory is met for the first time while it measures.
    fn rehearse(&self) {
        const A_FEW: u64 = 3;
        let soon = Span::from_micros(1);
        let work = match self.task.work {
            Work::Cyclic { mechanism, .. } => Work::Cyclic { mechanism, period_ns: soon },
            Work::Sleep { mechanism, .. } => Work::Sleep { mechanism, target_ns: soon },
            _ => return,
        };
        let limits = Limits { samples: A_FEW, until: NO_END, stop_above: NEVER, dithered: false };
        let (warm_up, out) = (&mut WarmUp::new(A_FEW), &mut RingWriter::new(Ring::new(1)));
        let turns = Turns { warm_up, stop: &self.stop, after_each: None, out };
        // What fails here fails again when it counts, and is told then.
        drop(turns.take(work, clock::now().plus(soon), limits, self.waiting()));
        drop(signal::wake_up(thread::id()));
        let _ = usage::of_this_thread();
    }

    /// The first planned time and what ends the loop, where all threads start at `start`.
    fn counted_from(&self, start: MonotonicTime) -> (MonotonicTime, Limits) {
        let limits = Limits {
            samples: self.task.samples.unwrap_or(u64::MAX),
            until: last_planned(&self.task, start, self.lasts),
            stop_above: self.stop_above,
            dithered: self.task.dithered,
        };
        (start.plus(self.task.phase), limits)
    }

    fn measure(&mut self, first: MonotonicTime, limits: Limits) -> io::Result<u64> {
        let waiting = self.waiting();
        let Self { task, warm_up, stop, after_each, out, .. } = self;
        let turns = Turns { warm_up, stop, after_each: after_each.as_ref(), out };
        turns.take(task.work, first, limits, waiting)
    }
}

/// Time from the common start to the first planned time that counts, less a period: what lasts for ten periods from there
/// holds ten wake-ups.
pub(crate) fn lead(task: &Task) -> Span {
    let phase = task.phase.as_nanos().saturating_sub(task.work.period().unwrap_or_default().as_nanos());
    Span::from_nanos(phase).plus(task.work.length().times(task.warm_up))
}

/// No wake-up of `task` is planned after this, where all threads start at `start` and what counts lasts so long, if it has an end.
pub(crate) fn last_planned(task: &Task, start: MonotonicTime, lasts: Option<Span>) -> MonotonicTime {
    lasts.map_or(NO_END, |lasts| start.plus(lead(task)).plus(with_room_to_move(task, lasts)))
}

/// Planned times that are moved lie up to half a period behind their places: the last place, and room behind it.
fn with_room_to_move(task: &Task, lasts: Span) -> Span {
    let period = task.work.length();
    if !task.dithered || period.is_zero() {
        return lasts;
    }
    period.times(lasts.as_nanos() / period.as_nanos()).plus(half_of(period))
}

fn half_of(period: Span) -> Span {
    Span::from_nanos(period.as_nanos() / 2)
}

/// When a loop ends.
struct Limits {
    samples: u64,
    until: MonotonicTime,
    stop_above: Latency,
    dithered: bool,
}

/// The warm-up and the loop that counts. A rehearsal is the same code, but for what a tracer does after each wake-up: what it
/// had not touched would be fetched while the loop measures.
struct Turns<'a> {
    warm_up: &'a mut WarmUp,
    stop: &'a Stop,
    after_each: Option<&'a WakeupHookFactory>,
    out: &'a mut RingWriter,
}

impl Turns<'_> {
    /// Does `work`; what is periodic begins at `first`.
    fn take(self, work: Work, first: MonotonicTime, limits: Limits, waiting: Waiting) -> io::Result<u64> {
        let Limits { samples, until, stop_above, dithered } = limits;
        match work {
            Work::Cyclic { mechanism, period_ns: period } => {
                let dither = if dithered { half_of(period) } else { Span::ZERO };
                let job = Cyclic { first, period, dither, samples, until, stop_above };
                waiting.with(mechanism, TurnsOf { job, turns: self })
            }
            Work::Sleep { mechanism: Sleeper::Wait(wait), target_ns: length } => {
                let job = Sleep { length, samples, until, stop_above };
                waiting.with(wait, TurnsOf { job, turns: self })
            }
            // Other engines take these.
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

struct TurnsOf<'a, J> {
    job: J,
    turns: Turns<'a>,
}

impl<J: Job> WithWaiter for TurnsOf<'_, J> {
    fn with(self, waiter: &mut impl Waiter) -> io::Result<u64> {
        let Self { job, turns: Turns { warm_up, stop, after_each, out } } = self;
        match after_each {
            None => run_warm(&job, warm_up, waiter, stop, out),
            Some(after_each) => {
                let mut noting = Noting { waiter, noted: after_each.create() };
                run_warm(&job, warm_up, &mut noting, stop, out)
            }
        }
    }
}
