//! The helper processes: prepare, say so, wait for the time to begin, do it, tell.

use std::ffi::CString;
use std::io::{self, Write, stdin, stdout};

use howlate_linux::helper::{Helper, Lifetime};
use howlate_linux::{clock, memory, sched, thread};
use howlate_model::{CpuSet, Known, MonotonicTime, Policy, Priority};
use rustix::thread::{ClockId, clock_nanosleep_absolute};

use crate::class::Asked;
use crate::order::{Order, Part, Ready, Stretch, Told};
use crate::{Class, flood, herd, hog, measured, rival, stopper};

/// The helper process that takes one part in the making of a class.
pub const HELPER: Helper = Helper { role: "__culprit", lifetime: Lifetime::OfParent, serve };

/// Something prepared that is done from one time to another.
pub(crate) type Work = Box<dyn FnOnce(Stretch) -> io::Result<Told>>;

fn serve(arguments: &[String]) -> io::Result<()> {
    let order: Order = serde_json::from_str(arguments.first().map_or("", String::as_str))?;
    let work = match prepare(&order) {
        Ok(work) => work,
        Err(reason) => return say(&Ready::Cannot(reason.to_string())),
    };
    say(&Ready::Ready)?;
    let mut start = String::new();
    stdin().read_line(&mut start)?;
    let start = start.trim().parse().map(MonotonicTime::from_nanos).map_err(io::Error::other)?;
    say(&work(Stretch { start, end: start.plus(order.lasts) })?)
}

fn say(what: &impl serde::Serialize) -> io::Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{}", serde_json::to_string(what)?)?;
    out.flush()
}

fn prepare(order: &Order) -> io::Result<Work> {
    rustix::thread::set_name(&CString::new(name(order))?)?;
    memory::touch_stack();
    match order.part {
        Part::Measured => {
            bind(order.cpu)?;
            become_measured(order.class)?;
            measured::prepare(order.class)
        }
        Part::Maker(_) => prepare_maker(order),
    }
}

fn prepare_maker(order: &Order) -> io::Result<Work> {
    match order.class {
        Class::Stopped => stopper::prepare(order),
        Class::Thread => {
            bind(order.cpu)?;
            has_policy(Policy::Fifo { priority: ABOVE_MEASURED })?;
            Ok(hog::prepare(known(order)))
        }
        Class::Competitors | Class::Throttled => {
            bind(order.cpu)?;
            has_policy(Policy::OTHER)?;
            Ok(rival::prepare(known(order), order.group_stat.clone()))
        }
        Class::OtherTimers => {
            bind(order.cpu)?;
            // Without the right it has to share the CPU, and arms its timers too late now and then.
            drop(has_policy(Policy::Fifo { priority: Priority::USUAL.lowered(40) }));
            herd::prepare(known(order), order.class.period())
        }
        Class::Softirq => {
            bind(order.cpu)?;
            flood::prepare(known(order))
        }
        Class::PageFault | Class::TimerSlack | Class::LateArming => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// 95: above what most real-time programs use, below the kernel's watchdogs.
const ABOVE_MEASURED: Priority = Priority::USUAL.raised(15);

/// What others see the thread as; at most 15 bytes.
fn name(order: &Order) -> String {
    match (order.part, order.class) {
        (Part::Measured, _) => "howlate-late".to_owned(),
        (Part::Maker(number), class) => {
            let what = match class {
                Class::Thread => "hog",
                Class::Competitors => "rival",
                Class::Stopped => "stop",
                Class::Throttled => "spend",
                Class::OtherTimers => "herd",
                _ => "flood",
            };
            format!("howlate-{what}{number}")
        }
    }
}

/// What the maker of `order` is to be called: itself, where a thread is to blame.
pub(crate) fn known(order: &Order) -> Known {
    let (name, pid) = match order.class {
        Class::Thread | Class::Competitors | Class::Stopped => (name(order), Some(std::process::id())),
        Class::Softirq => ("NET_RX".to_owned(), None),
        _ => (String::new(), None),
    };
    Known { kind: order.class.kind(), name, pid, stamps: Vec::new() }
}

fn bind(cpu: u32) -> io::Result<()> {
    let cpus = CpuSet::from_iter([cpu]);
    sched::bind(&cpus).map_err(|error| reason(&format!("cannot be bound to CPU {cpu}"), &error))
}

fn become_measured(class: Class) -> io::Result<()> {
    thread::set_timer_slack(class.slack())?;
    match class.measured_as() {
        Asked::Needed(policy) => has_policy(policy),
        // Without the right it stays as it is, and others disturb it.
        Asked::IfAllowed(policy) => {
            drop(has_policy(policy));
            Ok(())
        }
    }
}

/// Gives the calling thread a policy, and reads it back.
fn has_policy(policy: Policy) -> io::Result<()> {
    let set = sched::set_policy(sched::THIS_THREAD, policy);
    set.map_err(|error| reason(&format!("cannot run as `{policy}`"), &error))
}

/// The kernel's reason, in a sentence.
pub(crate) fn reason(what: &str, error: &io::Error) -> io::Error {
    let text = error.to_string();
    io::Error::other(format!("{what}: {}", text.split(" (os error").next().unwrap_or_default()))
}

/// Sleeps until `time`, whatever signals come.
pub(crate) fn sleep_until(time: MonotonicTime) {
    while clock_nanosleep_absolute(ClockId::Monotonic, &clock::timespec_at(time)).is_err() {}
}
