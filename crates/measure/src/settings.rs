//! Applying settings, and reading back what the kernel made of them.

use std::io;

use howlate_linux::{memory, sched, signal, thread};
use howlate_model::{Caveat, CpuSet, InForce, Policy, Span, Task};

use crate::DmaLatency;

/// What holds for the whole process while it measures.
pub struct Process {
    memory: io::Result<()>,
    dma_latency: Option<DmaLatency>,
    /// What was refused.
    pub caveats: Vec<Caveat>,
}

impl Process {
    /// Locks the memory where allowed, and holds `/dev/cpu_dma_latency` if asked to.
    pub fn prepare(dma_latency_us: Option<i32>) -> Self {
        let memory = memory::lock_all();
        let mut caveats = Vec::new();
        if let Err(error) = &memory {
            caveats.push(Caveat::MemoryNotLocked { reason: words(error) });
        }
        let dma_latency = dma_latency_us.and_then(|asked_us| {
            let refused = |error: &io::Error| Caveat::DmaLatencyRefused { asked_us, reason: words(error) };
            DmaLatency::hold(asked_us).map_err(|error| caveats.push(refused(&error))).ok()
        });
        Self { memory, dma_latency, caveats }
    }

    /// Whether the memory is locked.
    pub const fn memory_locked(&self) -> bool {
        self.memory.is_ok()
    }

    /// What is held in `/dev/cpu_dma_latency`, in microseconds.
    pub fn dma_latency_us(&self) -> Option<i32> {
        self.dma_latency.as_ref().map(DmaLatency::micros)
    }
}

/// Settings of the whole process that every thread reports.
#[derive(Clone, Copy)]
pub(crate) struct Shared {
    pub(crate) memory_locked: bool,
    pub(crate) dma_latency_us: Option<i32>,
}

/// The kernel's words, without the number that the library adds.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Gives the calling thread what `task` asks for; returns what is in force and what was refused.
pub(crate) fn apply(task: &Task, shared: Shared) -> io::Result<(InForce, Vec<Caveat>)> {
    memory::touch_stack();
    signal::block_all_but_wake_up();
    let mut caveats = Vec::new();
    let affinity = task.cpu.map(|cpu| bind(cpu, task.policy));
    let slack = task.slack.map(thread::set_timer_slack);
    let policy = sched::set_policy(sched::THIS_THREAD, task.policy);
    let in_force = read_back(shared)?;
    if let Err(error) = policy {
        let reason = words(&error);
        caveats.push(Caveat::policy_refused(task.policy, in_force.policy, reason, String::new()));
    } else if !task.policy.is_met_by(in_force.policy) {
        let reason = "the kernel accepted it but reports another".to_owned();
        caveats.push(Caveat::policy_refused(task.policy, in_force.policy, reason, String::new()));
    }
    caveats.extend(inherited(task, &in_force));
    if let (Some(asked), Some(result)) = (task.cpu, affinity) {
        caveats.extend(affinity_caveat(asked, result, &in_force.cpus));
    }
    if let (Some(asked_ns), Some(result)) = (task.slack, slack) {
        caveats.extend(slack_caveat(asked_ns, result.is_ok(), &in_force));
    }
    Ok((in_force, caveats))
}

fn bind(cpu: u32, policy: Policy) -> io::Result<()> {
    if matches!(policy, Policy::Deadline { .. }) {
        // sched_setattr(2): a deadline thread must be allowed on all CPUs of its root domain.
        return Err(io::Error::new(io::ErrorKind::Unsupported, "SCHED_DEADLINE takes no affinity"));
    }
    sched::bind(&CpuSet::from_iter([cpu]))
}

fn affinity_caveat(asked: u32, result: io::Result<()>, in_force: &CpuSet) -> Option<Caveat> {
    let asked = CpuSet::from_iter([asked]);
    let reason = match result {
        Err(error) => words(&error),
        Ok(()) if *in_force != asked => "the kernel accepted it but reports another".to_owned(),
        Ok(()) => return None,
    };
    Some(Caveat::AffinityDiffers { asked, in_force: in_force.clone(), reason })
}

/// What the thread has from whoever started howlate, and a normal program would not.
fn inherited(task: &Task, in_force: &InForce) -> Option<Caveat> {
    let text = match (task.policy, in_force.policy) {
        (Policy::Other { nice: None }, Policy::Other { nice: Some(nice) }) if nice.get() != 0 => {
            format!("`other` runs at nice {}, as howlate was started.", nice.get())
        }
        (asked, _) if !asked.is_realtime() && task.slack.is_none() && in_force.slack_ns.is_zero() => {
            format!("`{asked}` has no timer slack here, because howlate was started with a real-time policy.")
        }
        _ => return None,
    };
    Some(Caveat::Note { text })
}

/// Real-time threads have no slack; asking for some under one is no loss worth a caveat.
fn slack_caveat(asked_ns: Span, applied: bool, in_force: &InForce) -> Option<Caveat> {
    let met = applied && in_force.slack_ns == asked_ns;
    let none_needed = in_force.policy.is_realtime() && in_force.slack_ns.is_zero();
    (!met && !none_needed).then_some(Caveat::SlackDiffers { asked_ns, in_force_ns: in_force.slack_ns })
}

fn read_back(shared: Shared) -> io::Result<InForce> {
    Ok(InForce {
        tid: thread::id(),
        policy: sched::policy(sched::THIS_THREAD)?,
        slack_ns: thread::timer_slack()?,
        cpus: sched::affinity()?,
        memory_locked: shared.memory_locked,
        dma_latency_us: shared.dma_latency_us,
    })
}
