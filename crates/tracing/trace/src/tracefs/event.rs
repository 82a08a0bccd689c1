//! What the kernel's records tell. Pure.

use std::collections::HashMap;

use howlate_model::MonotonicTime;

use super::format::{Field, Format, Unreadable};
use crate::irq_names::HRTIMER;

/// A thread's name as the kernel has it: filled up with zeros.
pub(super) type Comm = [u8; 16];

/// Something that happened on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) at: MonotonicTime,
    pub(super) cpu: u32,
    /// The thread that had the CPU; 0: none.
    pub(super) pid: u32,
    pub(super) what: What,
}

/// What an event tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Events of this CPU before this one are missing.
    Missed,
    /// The CPU goes to the thread `next`; the one before sleeps in `state`, or wants to run on: 0. Priorities are the kernel's:
    /// see [`REAL_TIME`] and [`ORDINARY`].
    Switch {
        comm: Comm,
        state: u32,
        priority: u32,
        next: u32,
        next_comm: Comm,
        next_priority: u32,
    },
    /// A thread that last ran on `on` is being woken.
    Waking {
        thread: u32,
        on: u32,
    },
    /// A thread is moved.
    Migrates {
        thread: u32,
        to: u32,
    },
    /// The interrupt of the CPU's own timer.
    TickBegins,
    TickEnds,
    /// A timer was set to two times: from when on, and by when.
    TimerSet {
        timer: u64,
        soft: MonotonicTime,
        hard: MonotonicTime,
    },
    /// A timer was to be set to a time that has passed: the thread does not sleep.
    TimerPassed,
    /// The device that interrupts for timers, which was not armed since its interrupt, is armed anew.
    Rearmed,
    /// A timer is served.
    TimerServed {
        timer: u64,
    },
    HandlerBegins {
        interrupt: u32,
    },
    HandlerEnds,
    /// A softirq is to serve timers that are due.
    Deferred,
    SoftirqBegins {
        vector: u32,
    },
    SoftirqEnds {
        vector: u32,
    },
    /// A page of a program was not there.
    PageFault,
    /// A signal is sent to a thread.
    Signal {
        number: u32,
        thread: u32,
    },
}

/// Reads one kind of record.
type Reader = Box<dyn Fn(&[u8]) -> Option<What>>;

/// Reads the records of the events whose formats it was given.
#[derive(Default)]
pub(super) struct Records {
    readers: HashMap<u16, (Field, Reader)>,
}

impl Records {
    /// Takes in the format of an event that is known by `name`.
    pub(super) fn add(&mut self, name: &str, format: &Format) -> Result<(), Unreadable> {
        let reader = reader(name, format)?;
        self.readers.insert(format.id, (format.number("common_pid")?, reader));
        Ok(())
    }

    /// Reads a record; `None` if it is none of those.
    pub(super) fn read(&self, cpu: u32, at: u64, record: &[u8]) -> Option<Event> {
        let id = u16::from_le_bytes(record.get(..2)?.try_into().ok()?);
        let (pid, reader) = self.readers.get(&id)?;
        Some(Event { at: time(at)?, cpu, pid: pid.id(record)?, what: reader(record)? })
    }
}

/// The event that events of a CPU before this time are missing.
pub(super) fn missed(cpu: u32, at: u64) -> Option<Event> {
    Some(Event { at: time(at)?, cpu, pid: 0, what: What::Missed })
}

fn time(nanos: u64) -> Option<MonotonicTime> {
    i64::try_from(nanos).ok().map(MonotonicTime::from_nanos)
}

/// The states that a thread sleeps in; whoever is preempted has a bit above them.
/// Source: `__trace_sched_switch_state` of `include/trace/events/sched.h`, Linux 4.14 and later.
const ASLEEP: u64 = 0xff;

/// The kernel's priorities of real-time threads, of ordinary ones, and, as this reads it, -1 of those with deadlines.
/// Source: `include/linux/sched/prio.h`.
pub(super) const REAL_TIME: std::ops::Range<u32> = 0..100;
pub(super) const ORDINARY: std::ops::Range<u32> = 100..140;

/// What reads the records of an event that is known by `name`.
pub(super) fn reader(name: &str, format: &Format) -> Result<Reader, Unreadable> {
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
                Some(What::Switch { comm, state, priority, next: next.id(record)?, next_comm, next_priority })
            })
        }
        "sched_waking" => {
            let (thread, on) = (number("pid")?, number("target_cpu")?);
            Box::new(move |record| Some(What::Waking { thread: thread.id(record)?, on: on.id(record)? }))
        }
        "sched_migrate_task" => {
            let (thread, to) = (number("pid")?, number("dest_cpu")?);
            Box::new(move |record| Some(What::Migrates { thread: thread.id(record)?, to: to.id(record)? }))
        }
        "hrtimer_start" => {
            let (timer, soft, hard) = (number("hrtimer")?, number("softexpires")?, number("expires")?);
            Box::new(move |record| {
                let (soft, hard) = (time(soft.number(record)?)?, time(hard.number(record)?)?);
                Some(What::TimerSet { timer: timer.number(record)?, soft, hard })
            })
        }
        "hrtimer_expire_entry" => {
            let timer = number("hrtimer")?;
            Box::new(move |record| Some(What::TimerServed { timer: timer.number(record)? }))
        }
        "hrtimer_rearm" => {
            let deferred = number("deferred")?;
            Box::new(move |record| (deferred.id(record)? != 0).then_some(What::Rearmed))
        }
        "irq_handler_entry" => {
            let interrupt = number("irq")?;
            Box::new(move |record| Some(What::HandlerBegins { interrupt: interrupt.id(record)? }))
        }
        "softirq_entry" => {
            let vector = number("vec")?;
            Box::new(move |record| Some(What::SoftirqBegins { vector: vector.id(record)? }))
        }
        "softirq_exit" => {
            let vector = number("vec")?;
            Box::new(move |record| Some(What::SoftirqEnds { vector: vector.id(record)? }))
        }
        "softirq_raise" => {
            let vector = number("vec")?;
            Box::new(move |record| (vector.id(record)? == HRTIMER).then_some(What::Deferred))
        }
        "signal_generate" => {
            let (number, thread) = (number("sig")?, number("pid")?);
            Box::new(move |record| {
                Some(What::Signal { number: number.id(record)?, thread: thread.id(record)? })
            })
        }
        "hrtimer_start_expired" => Box::new(|_| Some(What::TimerPassed)),
        "irq_handler_exit" => Box::new(|_| Some(What::HandlerEnds)),
        "local_timer_entry" => Box::new(|_| Some(What::TickBegins)),
        "local_timer_exit" => Box::new(|_| Some(What::TickEnds)),
        "page_fault_user" => Box::new(|_| Some(What::PageFault)),
        other => unreachable!("{other} is in the table of events, and nobody reads it"),
    })
}
