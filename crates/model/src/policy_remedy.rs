//! What would let a thread have a policy that it was refused.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{FindingId, Priority};

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
    /// What `SCHED_DEADLINE` asks for, which no limit grants.
    DeadlineRights,
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
