//! Applies settings, and reads back those in force.

use std::io;

use howlate_linux::dma_latency::DmaLatency;
use howlate_linux::termination::is_termination_nice;
use howlate_linux::{memory, process, sched, signal, thread};
use howlate_model::{
    AsText, Caveat, CpuSet, EffectiveSettings, Policy, ProcessState, RefusedSettings, SettingRefusal, Task,
    ThreadSettings,
};
use howlate_procfs::{CgroupMembership, Root};

/// Settings of the whole process while it measures.
pub struct ProcessSetup {
    memory: io::Result<()>,
    dma_latency: Option<DmaLatency>,
    /// Settings that the kernel refused.
    pub caveats: Vec<Caveat>,
}

impl ProcessSetup {
    /// Locks the memory where permitted, and holds `/dev/cpu_dma_latency` if requested.
    pub fn prepare(dma_latency_us: Option<i32>) -> Self {
        let memory = memory::lock_all();
        let mut caveats = Vec::new();
        if let Err(error) = &memory {
            caveats.push(Caveat::MemoryNotLocked { reason: SettingRefusal::of_thread(error) });
        }
        let dma_latency = dma_latency_us.and_then(|micros| {
            let refused = |error: &io::Error| {
                let reason = SettingRefusal::of_thread(error);
                Caveat::DmaLatencyRefused { asked_us: micros, reason }
            };
            DmaLatency::hold(micros).map_err(|error| caveats.push(refused(&error))).ok()
        });
        Self { memory, dma_latency, caveats }
    }

    pub const fn memory_locked(&self) -> bool {
        self.memory.is_ok()
    }

    /// The limit requested through `/dev/cpu_dma_latency`, in microseconds.
    pub fn dma_latency_us(&self) -> Option<i32> {
        self.dma_latency.as_ref().map(DmaLatency::micros)
    }

    /// The part that every thread reports.
    pub fn state(&self) -> ProcessState {
        ProcessState { memory_locked: self.memory_locked(), dma_latency_us: self.dma_latency_us() }
    }
}

/// Raises `RLIMIT_RTTIME` of this process as far as permitted, if one of these policies is `SCHED_FIFO` or `SCHED_RR`; returns a caveat if
/// there was a limit. It does not apply to deadline threads.
pub fn allow_realtime(policies: impl IntoIterator<Item = Policy>) -> Option<Caveat> {
    let is_bounded = |policy: Policy| matches!(policy, Policy::Fifo { .. } | Policy::Rr { .. });
    policies.into_iter().any(is_bounded).then_some(())?;
    let limit = process::raise_rttime_limit().ok()?;
    let found_ns = limit.before?;
    Some(Caveat::RealtimeTime { found_ns, now_ns: limit.now })
}

/// Applies the settings of `task` to the calling thread; returns those in force and those refused.
pub(crate) fn apply(task: &Task, process: ProcessState) -> io::Result<(EffectiveSettings, Vec<Caveat>)> {
    memory::touch_stack();
    signal::block_all_but_wake_up();
    let affinity = task.cpu.and_then(|cpu| bind(cpu, task.policy).err());
    let slack = task.slack.and_then(|slack| thread::set_timer_slack(slack).err());
    let policy = sched::set_policy(sched::THIS_THREAD, task.policy).err();
    let slice = task.slice.and_then(|slice| sched::set_slice(slice).err());
    let slice_in_force = if task.slice.is_some() { sched::slice()? } else { None };
    let in_force = EffectiveSettings { slice: slice_in_force, ..read_back(process)? };
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

/// Settings of the calling thread that other programs may change.
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

/// Changes of the calling thread's settings since `before`: by a cpuset that shrank, or another program
/// (`chrt -p`, `renice`, `/proc/PID/timerslack_ns`).
pub(crate) fn changed_since(before: &ThreadSettings) -> Vec<Caveat> {
    before.changes_until(&read())
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
