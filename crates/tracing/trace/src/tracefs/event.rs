//! Parses trace records into events. Pure.

use std::collections::HashMap;

use howlate_model::MonotonicTime;

use super::format::{EventFormat, FieldError, FieldLocation};
use crate::irq_names::HRTIMER;

/// Padded with zeros, as in the kernel.
pub(super) type ThreadName = [u8; 16];

/// An event on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TraceEvent {
    pub(super) at: MonotonicTime,
    pub(super) cpu: u32,
    /// The thread that had the CPU; 0: idle.
    pub(super) pid: u32,
    pub(super) kind: EventKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    /// Earlier events of this CPU are missing.
    Missed,
    /// The CPU switches to the thread `next`; the previous one sleeps in `state`, or is runnable: 0. Priorities are the kernel's:
    /// see [`REAL_TIME`] and [`ORDINARY`].
    Switch {
        comm: ThreadName,
        state: u32,
        priority: u32,
        next: u32,
        next_comm: ThreadName,
        next_priority: u32,
    },
    /// A thread that last ran on CPU `on` is being woken.
    Waking {
        thread: u32,
        on: u32,
    },
    /// A thread is moved to another CPU.
    Migrates {
        thread: u32,
        to: u32,
    },
    /// The CPU-local timer interrupt.
    TickBegins,
    TickEnds,
    /// A timer was armed: earliest and latest time of its expiry.
    TimerSet {
        timer: u64,
        soft: MonotonicTime,
        hard: MonotonicTime,
    },
    /// A timer was to be armed for a time that has passed: the thread does not sleep.
    TimerPassed,
    /// The timer device, which was not armed since its interrupt, is armed.
    Rearmed,
    TimerServed {
        timer: u64,
    },
    HandlerBegins {
        interrupt: u32,
    },
    HandlerEnds,
    /// A softirq is raised to serve timers that are due.
    Deferred,
    SoftirqBegins {
        vector: u32,
    },
    SoftirqEnds {
        vector: u32,
    },
    /// A page fault of the current thread.
    PageFault,
    /// A signal is sent to a thread.
    Signal {
        number: u32,
        thread: u32,
    },
}

/// Parses one kind of record.
type Reader = Box<dyn Fn(&[u8]) -> Option<EventKind>>;

/// Parses records by the formats of their events.
#[derive(Default)]
pub(super) struct EventParser {
    readers: HashMap<u16, (FieldLocation, Reader)>,
}

impl EventParser {
    /// Adds the format of an event.
    pub(super) fn add(&mut self, name: &str, format: &EventFormat) -> Result<(), FieldError> {
        let reader = reader(name, format)?;
        self.readers.insert(format.id, (format.number("common_pid")?, reader));
        Ok(())
    }

    /// `None`: another kind of record.
    pub(super) fn read(&self, cpu: u32, at: u64, record: &[u8]) -> Option<TraceEvent> {
        let id = u16::from_le_bytes(record.get(..2)?.try_into().ok()?);
        let (pid, reader) = self.readers.get(&id)?;
        Some(TraceEvent { at: time(at)?, cpu, pid: pid.id(record)?, kind: reader(record)? })
    }
}

/// The event that earlier events of a CPU are missing.
pub(super) fn missed(cpu: u32, at: u64) -> Option<TraceEvent> {
    Some(TraceEvent { at: time(at)?, cpu, pid: 0, kind: EventKind::Missed })
}

fn time(nanos: u64) -> Option<MonotonicTime> {
    i64::try_from(nanos).ok().map(MonotonicTime::from_nanos)
}

/// States in which a thread sleeps; a preempted thread has a bit above them.
///
/// Source: `__trace_sched_switch_state` of `include/trace/events/sched.h`, Linux 4.14 and later.
const ASLEEP: u64 = 0xff;

/// The kernel's priorities of real-time and of normal threads; those of deadline threads are read as -1.
///
/// Source: `include/linux/sched/prio.h`.
pub(super) const REAL_TIME: std::ops::Range<u32> = 0..100;
pub(super) const ORDINARY: std::ops::Range<u32> = 100..140;

/// Parser of an event.
pub(super) fn reader(name: &str, format: &EventFormat) -> Result<Reader, FieldError> {
    let number = |name| format.number(name);
    Ok(match name {
        "sched_switch" => {
            let (comm, state) = (format.comm("prev_comm")?, number("prev_state")?);
            let (next, next_comm) = (number("next_pid")?, format.comm("next_comm")?);
            let (priority, next_priority) = (number("prev_prio")?, number("next_prio")?);
            Box::new(move |record| {
                let state = u32::try_from(state.number(record)? & ASLEEP).ok()?;
                let (comm, next_comm) = (comm.comm(record)?, next_comm.comm(record)?);
                let (priority, next_priority) = (priority.id(record)?, next_priority.id(record)?);
                Some(EventKind::Switch {
                    comm,
                    state,
                    priority,
                    next: next.id(record)?,
                    next_comm,
                    next_priority,
                })
            })
        }
        "sched_waking" => {
            let (thread, on) = (number("pid")?, number("target_cpu")?);
            Box::new(move |record| Some(EventKind::Waking { thread: thread.id(record)?, on: on.id(record)? }))
        }
        "sched_migrate_task" => {
            let (thread, to) = (number("pid")?, number("dest_cpu")?);
            Box::new(move |record| {
                Some(EventKind::Migrates { thread: thread.id(record)?, to: to.id(record)? })
            })
        }
        "hrtimer_start" => {
            let (timer, soft, hard) = (number("hrtimer")?, number("softexpires")?, number("expires")?);
            Box::new(move |record| {
                let (soft, hard) = (time(soft.number(record)?)?, time(hard.number(record)?)?);
                Some(EventKind::TimerSet { timer: timer.number(record)?, soft, hard })
            })
        }
        "hrtimer_expire_entry" => {
            let timer = number("hrtimer")?;
            Box::new(move |record| Some(EventKind::TimerServed { timer: timer.number(record)? }))
        }
        "hrtimer_rearm" => {
            let deferred = number("deferred")?;
            Box::new(move |record| (deferred.id(record)? != 0).then_some(EventKind::Rearmed))
        }
        "irq_handler_entry" => {
            let interrupt = number("irq")?;
            Box::new(move |record| Some(EventKind::HandlerBegins { interrupt: interrupt.id(record)? }))
        }
        "softirq_entry" => {
            let vector = number("vec")?;
            Box::new(move |record| Some(EventKind::SoftirqBegins { vector: vector.id(record)? }))
        }
        "softirq_exit" => {
            let vector = number("vec")?;
            Box::new(move |record| Some(EventKind::SoftirqEnds { vector: vector.id(record)? }))
        }
        "softirq_raise" => {
            let vector = number("vec")?;
            Box::new(move |record| (vector.id(record)? == HRTIMER).then_some(EventKind::Deferred))
        }
        "signal_generate" => {
            let (number, thread) = (number("sig")?, number("pid")?);
            Box::new(move |record| {
                Some(EventKind::Signal { number: number.id(record)?, thread: thread.id(record)? })
            })
        }
        "hrtimer_start_expired" => Box::new(|_| Some(EventKind::TimerPassed)),
        "irq_handler_exit" => Box::new(|_| Some(EventKind::HandlerEnds)),
        "local_timer_entry" => Box::new(|_| Some(EventKind::TickBegins)),
        "local_timer_exit" => Box::new(|_| Some(EventKind::TickEnds)),
        "page_fault_user" => Box::new(|_| Some(EventKind::PageFault)),
        other => unreachable!("{other} is in the table of events, and nobody reads it"),
    })
}
