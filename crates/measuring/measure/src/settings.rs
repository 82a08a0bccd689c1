//! Applying settings, and reading back what the kernel made of them.

use std::io;

use howlate_linux::dma_latency::DmaLatency;
use howlate_linux::termination::is_termination_nice;
use howlate_linux::{memory, process, sched, signal, thread};
use howlate_model::{
    AsText, Caveat, CpuSet, EffectiveSettings, Policy, ProcessState, RefusedSettings, SettingRefusal, Task,
    ThreadSettings,
};
use howlate_procfs::{CgroupMembership, Root};

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
            caveats.push(Caveat::MemoryNotLocked { reason: SettingRefusal::of_thread(error) });
        }
        let dma_latency = dma_latency_us.and_then(|asked_us| {
            let refused = |error: &io::Error| {
                let reason = SettingRefusal::of_thread(error);
                Caveat::DmaLatencyRefused { asked_us, reason }
            };
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

    /// What every thread reports of it.
    pub fn state(&self) -> ProcessState {
        ProcessState { memory_locked: self.memory_locked(), dma_latency_us: self.dma_latency_us() }
    }
}

/// Raises what bounds real-time threads of this process, `RLIMIT_RTTIME`, as far as that is allowed, where one of these policies is
/// real-time; what is to be said of it. Deadline threads have a bound of their own.
pub fn allow_realtime(policies: impl IntoIterator<Item = Policy>) -> Option<Caveat> {
    let is_bounded = |policy: Policy| matches!(policy, Policy::Fifo { .. } | Policy::Rr { .. });
    policies.into_iter().any(is_bounded).then_some(())?;
    let limit = process::raise_rttime_limit().ok()?;
    let found_ns = limit.before?;
    Some(Caveat::RealtimeTime { found_ns, now_ns: limit.now })
}

/// Gives the calling thread what `task` asks for; returns what is in force and what was refused.
pub(crate) fn apply(task: &Task, process: ProcessState) -> io::Result<(EffectiveSettings, Vec<Caveat>)> {
    memory::touch_stack();
    signal::block_all_but_wake_up();
    let affinity = task.cpu.and_then(|cpu| bind(cpu, task.policy).err());
    let slack = task.slack.and_then(|slack| thread::set_timer_slack(slack).err());
    let policy = sched::set_policy(sched::THIS_THREAD, task.policy).err();
    let slice = task.slice.and_then(|slice| sched::set_slice(slice).err());
    let slice_ns = if task.slice.is_some() { sched::slice()? } else { None };
    let in_force = EffectiveSettings { slice: slice_ns, ..read_back(process)? };
    let refused = RefusedSettings {
        policy: policy.as_ref().map(SettingRefusal::of_thread),
        affinity,
        slack: slack.is_some(),
        slice: slice.as_ref().map(SettingRefusal::of_thread),
    };
    let mut caveats = refused.caveats(task, &in_force);
    caveats.retain(|caveat| !is_termination_nice(caveat));
    Ok((in_force, caveats))
}

/// What the calling thread has now of what somebody else may change.
pub(crate) fn read() -> ThreadSettings {
    let groups = CgroupMembership::read(&Root::live(), "thread-self");
    ThreadSettings {
        policy: sched::policy(sched::THIS_THREAD).ok(),
        slack: thread::timer_slack().ok(),
        slice: sched::slice().ok().flatten(),
        cpus: sched::affinity().ok(),
        group: groups.reading.text().map(str::to_owned),
    }
}

/// What of the calling thread's settings is not as it `began` any more: a cpuset that shrank, or anybody with the right, may
/// have changed it (`chrt -p`, `renice`, `/proc/PID/timerslack_ns`).
pub(crate) fn changed_since(began: &ThreadSettings) -> Vec<Caveat> {
    began.changes_until(&read())
}

fn bind(cpu: u32, policy: Policy) -> Result<(), AsText<SettingRefusal>> {
    if matches!(policy, Policy::Deadline { .. }) {
        return Err(SettingRefusal::DeadlineAffinity.into());
    }
    sched::bind(&CpuSet::from_iter([cpu])).map_err(|error| SettingRefusal::of_thread(&error))
}

fn read_back(process: ProcessState) -> io::Result<EffectiveSettings> {
    Ok(EffectiveSettings {
        tid: thread::id(),
        policy: sched::policy(sched::THIS_THREAD)?,
        slack: thread::timer_slack()?,
        cpus: sched::affinity()?,
        memory_locked: process.memory_locked,
        dma_latency_us: process.dma_latency_us,
        slice: None,
    })
}
