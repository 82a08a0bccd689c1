//! The helper process: prepares its task, waits for the start time, runs, and reports.

use std::ffi::CString;
use std::io::{self, Write, stdin, stdout};

use howlate_linux::helper::{Helper, Lifetime};
use howlate_linux::{memory, sched, thread};
use howlate_model::{CpuSet, MonotonicTime, Policy, Priority};

use super::class::RequestedPolicy;
use super::task::{HelperRole, HelperStatus, HelperTask, InjectionWindow, PreparedTask, with_reason};
use super::{
    busy_thread, class::CauseClass, machine_stop, measured_thread, packet_flood, sigstop, timer_burst,
};

/// Runs one role in the injection of a class.
pub const HELPER: Helper =
    Helper { role: "__culprit", name: c"howlate-inject", lifetime: Lifetime::OfParent, serve };

fn serve(arguments: &[String]) -> io::Result<()> {
    let task: HelperTask = serde_json::from_str(arguments.first().map_or("", String::as_str))?;
    let work = match prepare(&task) {
        Ok(work) => work,
        Err(reason) => return send(&HelperStatus::Impossible(reason.to_string())),
    };
    send(&HelperStatus::Ready)?;
    let mut start = String::new();
    stdin().read_line(&mut start)?;
    let start = start.trim().parse().map(MonotonicTime::from_nanos).map_err(io::Error::other)?;
    send(&work(InjectionWindow { start, end: start.plus(task.lasts) })?)
}

fn send(message: &impl serde::Serialize) -> io::Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{}", serde_json::to_string(message)?)?;
    out.flush()
}

fn prepare(task: &HelperTask) -> io::Result<PreparedTask> {
    rustix::thread::set_name(&CString::new(task.thread_name())?)?;
    memory::touch_stack();
    match task.role {
        HelperRole::Measured => {
            bind(task.cpu)?;
            set_measured_policy(task.class)?;
            measured_thread::prepare(task.class)
        }
        HelperRole::Injector(number) => prepare_injector(task, number),
    }
}

fn prepare_injector(task: &HelperTask, number: u32) -> io::Result<PreparedTask> {
    match task.class {
        CauseClass::Stopped => sigstop::prepare(task),
        CauseClass::MachineStopped if number == 0 => {
            let work = machine_stop::prepare(task)?;
            set_policy(Policy::Fifo { priority: ABOVE_MEASURED })?;
            Ok(work)
        }
        CauseClass::MachineStopped => {
            set_above_measured(task.cpu)?;
            Ok(machine_stop::prepare_thread())
        }
        CauseClass::Thread => {
            set_above_measured(task.cpu)?;
            Ok(busy_thread::prepare_hog(task.cause()))
        }
        CauseClass::Competitors | CauseClass::Throttled => {
            bind(task.cpu)?;
            set_policy(Policy::OTHER)?;
            Ok(busy_thread::prepare(task.cause(), task.group.clone()))
        }
        CauseClass::OtherTimers => {
            bind(task.cpu)?;
            // Without privilege it has to share the CPU, and sometimes arms its timers too late.
            drop(set_policy(Policy::Fifo { priority: Priority::USUAL.lowered(40) }));
            timer_burst::prepare(task.cause(), task.class.period())
        }
        CauseClass::Softirq => {
            bind(task.cpu)?;
            packet_flood::prepare(task.cause())
        }
        CauseClass::PageFault | CauseClass::TimerSlack | CauseClass::LateArming => {
            Err(io::ErrorKind::InvalidInput.into())
        }
    }
}

/// Gives the thread a higher priority than the measured one on this CPU.
fn set_above_measured(cpu: u32) -> io::Result<()> {
    bind(cpu)?;
    set_policy(Policy::Fifo { priority: ABOVE_MEASURED })
}

/// 95: above what most real-time programs use, below the kernel's watchdogs.
const ABOVE_MEASURED: Priority = Priority::USUAL.raised(15);

fn bind(cpu: u32) -> io::Result<()> {
    let cpus = CpuSet::from_iter([cpu]);
    sched::bind(&cpus).map_err(|error| with_reason(&format!("cannot be bound to CPU {cpu}"), &error))
}

fn set_measured_policy(class: CauseClass) -> io::Result<()> {
    thread::set_timer_slack(class.slack())?;
    match class.measured_policy() {
        RequestedPolicy::Required(policy) => set_policy(policy),
        // Without privilege its policy stays, and other threads disturb it.
        RequestedPolicy::IfAllowed(policy) => {
            drop(set_policy(policy));
            Ok(())
        }
    }
}

/// Sets the policy of the calling thread.
fn set_policy(policy: Policy) -> io::Result<()> {
    let set = sched::set_policy(sched::THIS_THREAD, policy);
    set.map_err(|error| with_reason(&format!("cannot run as `{policy}`"), &error))
}
