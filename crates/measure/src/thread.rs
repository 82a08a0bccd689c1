//! The measuring threads: settings, the gate, the loop, the account.

use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::Builder;

use howlate_linux::{clock, usage};
use howlate_model::{
    Caveat, InForce, Latency, MonotonicTime, ProcessState, Sleeper, Span, Task, Usage, Wait, Work,
};

use crate::loops::{Cyclic, Job, NO_END, Sleep, Stop, WarmUp, run_warm};
use crate::ring::RingWriter;
use crate::settings;
use crate::wait::{
    BusyWait, ClockNanosleep, ClockNanosleepRelative, EpollPwait2, Futex, Nanosleep, PosixTimer, Ppoll,
    Realtime, RealtimeTimer, SleepThenSpin, Timerfd,
};
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
}

/// A measuring thread's belongings.
pub(crate) struct Measuring {
    pub(crate) number: usize,
    pub(crate) task: Task,
    pub(crate) stop_above: Latency,
    /// Time from the start to the end, if there is one.
    pub(crate) lasts: Option<Span>,
    pub(crate) first_ends: bool,
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
        let usable = applied.is_ok();
        self.tell(Message::Ready(self.number, applied));
        if !usable {
            return;
        }
        let start = self.gate.pass();
        let (before, began) = (usage::of_this_thread(), clock::now());
        let result = self.measure(start);
        if self.first_ends {
            self.stop.ask();
        }
        let at = clock::now();
        let usage = usage::of_this_thread().since(&before, at.since(began));
        self.tell(Message::Done(self.number, Box::new(Done { result, usage, at })));
    }

    /// The observer may have given up and gone; then nobody needs to know.
    fn tell(&self, message: Message) {
        drop(self.to_observer.send(message));
    }

    fn measure(&mut self, start: MonotonicTime) -> io::Result<u64> {
        let samples = self.task.samples.unwrap_or(u64::MAX);
        let stop_above = self.stop_above;
        let until = self.lasts.map_or(NO_END, |lasts| start.plus(lasts));
        match self.task.work {
            Work::Cyclic { mechanism, period_ns: period } => {
                let first = start.plus(self.task.phase);
                self.with(mechanism, &Cyclic { first, period, samples, until, stop_above })
            }
            Work::Sleep { mechanism: Sleeper::Wait(wait), target_ns: length } => {
                self.with(wait, &Sleep { length, samples, until, stop_above })
            }
            // Other engines take these.
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Runs the job with the mechanism's own copy of the loop.
    fn with(&mut self, mechanism: Wait, job: &impl Job) -> io::Result<u64> {
        if let ClockReading::Realtime { ahead } = self.clock {
            return self.with_realtime(ahead, mechanism, job);
        }
        let (warm_up, stop, out) = (&mut self.warm_up, &self.stop, &mut self.out);
        match mechanism {
            Wait::ClockNanosleep => run_warm(job, warm_up, &mut ClockNanosleep, stop, out),
            Wait::ClockNanosleepRelative => run_warm(job, warm_up, &mut ClockNanosleepRelative, stop, out),
            Wait::Nanosleep => run_warm(job, warm_up, &mut Nanosleep, stop, out),
            Wait::Timerfd => run_warm(job, warm_up, &mut Timerfd::new()?, stop, out),
            Wait::PosixTimer => run_warm(job, warm_up, &mut PosixTimer::new()?, stop, out),
            Wait::Ppoll => run_warm(job, warm_up, &mut Ppoll, stop, out),
            Wait::EpollPwait2 => run_warm(job, warm_up, &mut EpollPwait2::new()?, stop, out),
            Wait::Futex => run_warm(job, warm_up, &mut Futex::default(), stop, out),
            Wait::BusyWait => run_warm(job, warm_up, &mut BusyWait::new(Arc::clone(&stop.asked)), stop, out),
            Wait::SleepThenSpin => {
                run_warm(job, warm_up, &mut SleepThenSpin::new(Arc::clone(&stop.asked)), stop, out)
            }
        }
    }
}

impl Measuring {
    /// The same on `CLOCK_REALTIME`, for those mechanisms that know it.
    fn with_realtime(&mut self, ahead: i64, mechanism: Wait, job: &impl Job) -> io::Result<u64> {
        let (warm_up, stop, out) = (&mut self.warm_up, &self.stop, &mut self.out);
        match mechanism {
            Wait::ClockNanosleep => {
                run_warm(job, warm_up, &mut Realtime::new(ClockNanosleep, ahead), stop, out)
            }
            Wait::Nanosleep => run_warm(job, warm_up, &mut Realtime::new(Nanosleep, ahead), stop, out),
            Wait::PosixTimer => run_warm(job, warm_up, &mut RealtimeTimer::new(ahead)?, stop, out),
            other => {
                let text = format!("{other} is not measured on CLOCK_REALTIME");
                Err(io::Error::new(io::ErrorKind::Unsupported, text))
            }
        }
    }
}
