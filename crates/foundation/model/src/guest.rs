//! Guests: other kernels, booted in a virtual machine to measure in.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CpuSet, Finding, Instrument, Load, LoadReport, MonotonicTime, Policy, Span, System};

/// The port through which a guest asks its host to stop it: so many nanoseconds a line, and in answer how many it were.
pub const STOP_PORT: &str = "howlate.stop";

/// What was done on the host while a condition was measured in a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OnHost")]
pub struct HostCondition {
    /// The background load on the host.
    pub load: Load,
    /// The policy asked for the threads that run the guest's CPUs, as typed; absent: as they are.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::policy::optional_text")]
    #[schemars(with = "Option<String>")]
    pub vcpu_policy: Option<Policy>,
}

/// What runs a guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Accelerator {
    /// The processor itself, through `/dev/kvm`.
    Kvm,
    /// QEMU's translator: software.
    Tcg,
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        })
    }
}

/// A guest was booted, and measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Boot {
    /// Which of the run's boots this is, from 0.
    pub boot: u32,
    /// When its first line arrived, on the host's clock.
    #[serde(rename = "at_ns")]
    pub at: MonotonicTime,
    /// The kernel, as in the conditions.
    pub kernel: String,
    /// The kernel, as asked for.
    pub asked: String,
    /// SHA-256 of the kernel's image.
    pub image_sha256: String,
    /// What happened on the host meanwhile.
    pub on_host: HostCondition,
    /// The first round of its conditions' turns.
    pub first_round: u32,
    /// What runs its instructions.
    pub accelerator: Accelerator,
    /// The emulator's version.
    pub qemu: String,
    /// The threads that run its CPUs, in order.
    pub vcpus: Vec<HostThread>,
    /// The emulator's main thread.
    pub emulator: HostThread,
    /// How long it took from the start to the first line.
    #[serde(rename = "boot_took_ns")]
    pub boot_took: Span,
    /// Add this to a reading of the guest's clock to get the host's, within the time a line travels.
    /// All times of the guest's lines are already moved.
    pub moved_by_ns: i64,
    /// The guest, as it describes itself.
    pub system: System,
    /// What in the guest bears on punctuality.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What measuring costs in the guest.
    pub instrument: Instrument,
}

/// A thread of the emulator, its settings read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostThread {
    /// Thread id on the host.
    pub tid: u32,
    /// Policy as read back, `sched_getattr(2)`.
    #[serde(flatten)]
    pub policy: Policy,
    /// CPUs it may use, as read back, `sched_getaffinity(2)`.
    pub cpus: CpuSet,
}

/// A guest ended; what the host did to it while it measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BootEnded")]
pub struct BootEnd {
    /// Which of the run's boots this is, from 0.
    pub boot: u32,
    /// From the first line to the last.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Span,
    /// CPU time that the host itself was denied by its own hypervisor, all CPUs together, in steps
    /// of a tick; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "host_steal_ns")]
    pub host_steal: Option<Span>,
    /// What each of the threads that run its CPUs got.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vcpus: Vec<VcpuTime>,
    /// What the load on the host did; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_load: Option<LoadReport>,
    /// Why it ended, unless it did all that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a thread that runs a guest's CPU got of the host: `/proc/PID/task/TID/schedstat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VcpuTime {
    /// How long it ran.
    #[serde(rename = "ran_ns")]
    pub ran: Span,
    /// How long it could have run, but waited for a CPU of the host: the guest's steal.
    #[serde(rename = "waited_ns")]
    pub waited: Span,
}
