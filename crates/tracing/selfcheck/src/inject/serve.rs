//! The helper processes: prepare, say so, wait for the time to begin, do it, tell.

use std::ffi::CString;
use std::io::{self, Write, stdin, stdout};

use howlate_linux::helper::{Helper, Lifetime};
use howlate_linux::{memory, sched, thread};
use howlate_model::{CpuSet, MonotonicTime, Policy, Priority};

use super::class::RequestedPolicy;
use super::expected::{known, name};
use super::request::{Order, Part, Ready, Stretch};
use super::work::{Work, reason};
use super::{
    class::Class, competitor, cpu_hog, machine_stop, measured_thread, packet_flood, sigstop, timer_burst,
};

/// The helper process that takes one part in the making of a class.
pub const HELPER: Helper =
    Helper { role: "__culprit", name: c"howlate-inject", lifetime: Lifetime::OfParent, serve };

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
            measured_thread::prepare(order.class)
        }
        Part::Maker(number) => prepare_maker(order, number),
    }
}

fn prepare_maker(order: &Order, number: u32) -> io::Result<Work> {
    match order.class {
        Class::Stopped => sigstop::prepare(order),
        Class::MachineStopped if number == 0 => {
            let work = machine_stop::prepare(order)?;
            has_policy(Policy::Fifo { priority: ABOVE_MEASURED })?;
            Ok(work)
        }
        Class::MachineStopped => {
            comes_first(order.cpu)?;
            Ok(machine_stop::prepare_thread())
        }
        Class::Thread => {
            comes_first(order.cpu)?;
            Ok(cpu_hog::prepare(known(order)))
        }
        Class::Competitors | Class::Throttled => {
            bind(order.cpu)?;
            has_policy(Policy::OTHER)?;
            Ok(competitor::prepare(known(order), order.group.clone()))
        }
        Class::OtherTimers => {
            bind(order.cpu)?;
            // Without the right it has to share the CPU, and arms its timers too late now and then.
            drop(has_policy(Policy::Fifo { priority: Priority::USUAL.lowered(40) }));
            timer_burst::prepare(known(order), order.class.period())
        }
        Class::Softirq => {
            bind(order.cpu)?;
            packet_flood::prepare(known(order))
        }
        Class::PageFault | Class::TimerSlack | Class::LateArming => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Has a CPU before the measured thread.
fn comes_first(cpu: u32) -> io::Result<()> {
    bind(cpu)?;
    has_policy(Policy::Fifo { priority: ABOVE_MEASURED })
}

/// 95: above what most real-time programs use, below the kernel's watchdogs.
const ABOVE_MEASURED: Priority = Priority::USUAL.raised(15);

fn bind(cpu: u32) -> io::Result<()> {
    let cpus = CpuSet::from_iter([cpu]);
    sched::bind(&cpus).map_err(|error| reason(&format!("cannot be bound to CPU {cpu}"), &error))
}

fn become_measured(class: Class) -> io::Result<()> {
    thread::set_timer_slack(class.slack())?;
    match class.measured_as() {
        RequestedPolicy::Needed(policy) => has_policy(policy),
        // Without the right it stays as it is, and others disturb it.
        RequestedPolicy::IfAllowed(policy) => {
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
