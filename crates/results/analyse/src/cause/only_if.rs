//! What advice depends on that no event tells.

use schemars::JsonSchema;
use serde::Serialize;

/// What has to be so for a remedy to help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnlyIf {
    /// The thread that had the CPU has a lower real-time priority than the late one is given.
    LowerPriority,
    /// The thread that had the CPU is not bound to it: isolation keeps those away that may run elsewhere.
    NotBound,
    /// A device brought the work: what programs of one machine send to each other is served on the CPU of whoever sends.
    OfDevice,
    /// Nice values count among threads of one session or control group.
    SameGroup,
    /// It is one of the CPUs that are named there.
    CpuOfIts,
}
