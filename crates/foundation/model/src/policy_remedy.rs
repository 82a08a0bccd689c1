//! What would let a thread have a policy that it was refused.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CpuSet, FindingId, Priority, Span};

/// What helps against a refused policy. A value: `howlate-render` words it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PolicyRemedy {
    /// `CAP_SYS_NICE`, or a higher `RLIMIT_NICE`.
    NiceLimit,
    /// `CAP_SYS_NICE`, or a higher `RLIMIT_RTPRIO`.
    RealtimeLimit {
        /// The priority asked for.
        priority: Priority,
    },
    /// A kernel with sched_ext: Linux 6.12 or later, with `CONFIG_SCHED_CLASS_EXT`.
    SchedExtKernel,
    /// The right to `SCHED_DEADLINE`, which no limit grants.
    DeadlineRights,
    /// `SCHED_DEADLINE` is for threads that may run on all CPUs that the kernel balances together.
    DeadlineAffinity {
        /// Where the process may run.
        allowed: CpuSet,
        /// All CPUs.
        online: CpuSet,
    },
    /// Real-time and deadline threads get no time at all.
    DeadlineNoShare,
    /// More was asked for than is left.
    DeadlineBandwidth {
        /// Threads that asked, side by side.
        threads: u32,
        /// What each asked for.
        runtime_ns: Span,
        /// In each of these.
        period_ns: Span,
        /// What all such threads get of a CPU, in percent.
        share_percent: u32,
        /// CPUs of the machine.
        cpus: u32,
    },
    /// The kernel takes no such runtime or period.
    DeadlineLengths {
        /// Its shortest period.
        shortest_us: u64,
        /// Its longest.
        longest_us: u64,
    },
    /// A finding of `howlate doctor` stands in the way.
    Finding {
        /// The finding that the remedy answers.
        #[schemars(with = "String")]
        id: FindingId,
        /// What was found.
        found: String,
        /// What to type.
        apply: Vec<String>,
    },
    /// Root on the host that runs the guest.
    RootOnHost,
}
