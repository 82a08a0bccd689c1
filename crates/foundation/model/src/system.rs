//! The machine: its description, changed settings, and what measuring costs on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CpuSet, Span};

/// The system a recording was made on, as far as it bears on punctuality.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct System {
    /// Kernel release, as `uname -r` prints it.
    pub kernel: String,
    /// Kernel build, as `uname -v` prints it.
    pub kernel_build: String,
    /// `PREEMPT_RT`, `PREEMPT_DYNAMIC`, `PREEMPT`, `PREEMPT_VOLUNTARY` or `PREEMPT_NONE`, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption: Option<String>,
    /// The scheduler of normal threads where it is one of BPF (sched_ext), by its name; `None`: the kernel's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Whether this is a `PREEMPT_RT` kernel.
    pub realtime_kernel: bool,
    /// Ticks per second, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick_hz: Option<u32>,
    /// `x86_64`, `aarch64`, ….
    pub architecture: String,
    /// The processor's name, or the board's.
    pub processor: String,
    /// CPUs that are online.
    pub online: CpuSet,
    /// CPUs this process was started on: the mask that it inherited, as `taskset` sets it. Isolated CPUs
    /// are in it only where somebody put them there.
    pub allowed: CpuSet,
    /// CPUs that the kernel lets it bind threads to, whatever it inherited; empty where that was not asked.
    #[serde(default, skip_serializing_if = "CpuSet::is_empty")]
    pub bindable: CpuSet,
    /// CPUs that the scheduler leaves alone (`isolcpus=`, isolated cpuset partitions).
    #[serde(default, skip_serializing_if = "CpuSet::is_empty")]
    pub isolated: CpuSet,
    /// One entry per online CPU.
    pub cpus: Vec<Cpu>,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// The clock source in use.
    pub clocksource: String,
    /// The hypervisor this is a guest of, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// The container runtime this runs in, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// How long the guest itself polls before it halts, where its CPUs idle by cpuidle's `haltpoll`; 0: it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest_halt_poll_ns: Option<Span>,
    /// The distribution, as it names itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<String>,
    /// What the kernel was booted with, `/proc/cmdline`.
    pub command_line: String,
}

impl System {
    /// Where threads can be bound to; the inherited mask where more is not known.
    pub fn can_bind(&self) -> &CpuSet {
        if self.bindable.is_empty() { &self.allowed } else { &self.bindable }
    }

    /// Isolated CPUs that threads can be bound to.
    pub fn isolated_to_bind(&self) -> CpuSet {
        self.isolated.iter().filter(|cpu| self.can_bind().contains(*cpu)).collect()
    }
}

/// A CPU of the machine, with its settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Its number, as in `/sys/devices/system/cpu/cpuN`.
    pub number: u32,
    /// CPUs on the same core, itself included.
    pub siblings: CpuSet,
    /// CPUs behind the same last-level cache, itself included; empty where it is not known.
    #[serde(default, skip_serializing_if = "CpuSet::is_empty")]
    pub cache: CpuSet,
    /// The memory node it belongs to, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// The frequency governor, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Idle states, shallowest first, where the kernel manages them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle_states: Vec<IdleState>,
}

/// An idle state of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleState {
    /// As the driver names it: `C1E`, `WFI`, ….
    pub name: String,
    /// Time to leave it, in microseconds, worst case.
    pub exit_latency_us: u64,
    /// Time it must last to be worth entering, in microseconds.
    pub residency_us: u64,
    /// Whether it has been switched off.
    pub disabled: bool,
}

/// What the instrument itself contributes, measured before each run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Instrument {
    /// The smallest step between two different readings of the clock.
    #[serde(rename = "clock_precision_ns")]
    pub clock_precision: Span,
    /// The time that one reading of the clock takes (median).
    #[serde(rename = "clock_read_ns")]
    pub clock_read: Span,
    /// The time one turn of the measuring loop takes when the wait is over at once (median).
    #[serde(rename = "loop_ns")]
    pub loop_cost: Span,
    /// The time one `clock_nanosleep(2)` takes whose time has already come (the least of many): the least
    /// CPU time a wake-up can cost.
    #[serde(rename = "wait_ns")]
    pub wait: Span,
}

/// A setting of the machine, as it was changed for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// The file it was written to.
    pub path: String,
    /// What was read from it before.
    pub before: String,
    /// What was read back.
    pub in_force: String,
}
