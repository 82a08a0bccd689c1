//! The measuring threads: settings, the gate, the loop, the account.

use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::Builder;

use howlate_linux::{clock, signal, thread, usage};
use howlate_model::{
    AfterEach, Caveat, InForce, Latency, MonotonicTime, ProcessState, Sleeper, Span, Task, Usage, Work,
};

use crate::loops::{Cyclic, Job, NEVER, NO_END, Sleep, Stop, WarmUp, run_warm};
use crate::ring::RingWriter;
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
    Ready(usize, io::Result<(InForce, Vec<Caveat>)>),
    Done(usize, Box<Done>),
}

pub(crate) struct Done {
    pub(crate) result: io::Result<u64>,
    pub(crate) usage: Usage,
    pub(crate) at: MonotonicTime,
    /// If it may run elsewhere by then than in the beginning.
    pub(crate) moved: Option<Caveat>,
}

/// A measuring thread's belongings.
pub(crate) struct Measuring {
    pub(crate) number: usize,
    pub(crate) task: Task,
    pub(crate) stop_above: Latency,
    /// How long what counts lasts, if there is an end.
    pub(crate) lasts: Option<Span>,
    pub(crate) first_ends: bool,
    pub(crate) after_each: Option<AfterEach>,
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
        let cpus = applied.as_ref().ok().map(|(in_force, _)| in_force.cpus.clone());
        self.rehearse();
        self.tell(Message::Ready(self.number, applied));
        let Some(cpus) = cpus else { return };
        let start = self.gate.pass();
        let (before, began) = (usage::of_this_thread(), clock::now());
        let result = self.measure(start);
        if self.first_ends {
            self.stop.ask();
        }
        let at = clock::now();
        let usage = usage::of_this_thread().since(&before, at.since(began));
        self.tell(Message::Done(
            self.number,
            Box::new(Done { result, usage, at, moved: settings::moved_since(&cpus) }),
        ));
    }

    /// The observer may have given up and gone; then nobody needs to know.
    fn tell(&self, message: Message) {
        drop(self.to_observer.send(message));
    }

    fn waiting(&self) -> Waiting {
        Waiting { clock: self.clock, stop: Arc::clone(&self.stop.asked) }
    }

    /// Turns the loop a few times, so that no page of its code or of its memory is met for the first time while it measures.
    fn rehearse(&mut self) {
        let (samples, until, stop_above) = (3, NO_END, NEVER);
        let (soon, waiting) = (Span::from_micros(1), self.waiting());
        // What fails here fails again when it counts, and is told then.
        drop(match self.task.work {
            Work::Cyclic { mechanism, .. } => {
                let first = clock::now().plus(soon);
                let job = Cyclic { first, period: soon, samples, until, stop_above };
                waiting.with(mechanism, Rehearsal { job, thread: self })
            }
            Work::Sleep { mechanism: Sleeper::Wait(wait), .. } => {
                let job = Sleep { length: soon, samples, until, stop_above };
                waiting.with(wait, Rehearsal { job, thread: self })
            }
            Work::Sleep { .. } | Work::Notify { .. } | Work::Watch { .. } | Work::Foreign { .. } => Ok(0),
        });
        drop(signal::wake_up(thread::id()));
        let _ = usage::of_this_thread();
    }

    fn measure(&mut self, start: MonotonicTime) -> io::Result<u64> {
        let samples = self.task.samples.unwrap_or(u64::MAX);
        let (stop_above, waiting) = (self.stop_above, self.waiting());
        let until = self.lasts.map_or(NO_END, |lasts| start.plus(lead(&self.task)).plus(lasts));
        match self.task.work {
            Work::Cyclic { mechanism, period_ns: period } => {
                let first = start.plus(self.task.phase);
                let job = Cyclic { first, period, samples, until, stop_above };
                waiting.with(mechanism, Measurement { job, thread: self })
            }
            Work::Sleep { mechanism: Sleeper::Wait(wait), target_ns: length } => {
                let job = Sleep { length, samples, until, stop_above };
                waiting.with(wait, Measurement { job, thread: self })
            }
            // Other engines take these.
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// Time from the common start to the first planned time that counts, less a period: what lasts for ten periods from there
/// holds ten wake-ups.
pub(crate) fn lead(task: &Task) -> Span {
    let phase = task.phase.as_nanos().saturating_sub(task.work.period().unwrap_or_default().as_nanos());
    Span::from_nanos(phase).plus(task.work.length().times(task.warm_up))
}

/// A few turns of the loop whose wake-ups are forgotten.
struct Rehearsal<'a, J> {
    job: J,
    thread: &'a mut Measuring,
}

impl<J: Job> WithWaiter for Rehearsal<'_, J> {
    fn with(self, waiter: &mut impl Waiter) -> io::Result<u64> {
        self.job.run(waiter, &self.thread.stop, &mut self.thread.warm_up.forgotten)
    }
}

/// The warm-up, and the loop that counts.
struct Measurement<'a, J> {
    job: J,
    thread: &'a mut Measuring,
}

impl<J: Job> WithWaiter for Measurement<'_, J> {
    fn with(self, waiter: &mut impl Waiter) -> io::Result<u64> {
        let Measuring { warm_up, stop, out, after_each, .. } = self.thread;
        match after_each {
            None => run_warm(&self.job, warm_up, waiter, stop, out),
            Some(after_each) => {
                let mut noting = Noting { waiter, noted: after_each.begin() };
                run_warm(&self.job, warm_up, &mut noting, stop, out)
            }
        }
    }
}
