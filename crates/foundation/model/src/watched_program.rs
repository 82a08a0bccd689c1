//! What is known of a program that was watched, besides how late its threads were: what advice for it depends on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Span;

/// A program that was watched, as it was while that went on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedProgram {
    /// Its process; the first one where several were watched.
    pub process: u32,
    /// Whether it was started to be watched, and had ended with that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub started: bool,
    /// The most threads that it had at a time.
    pub threads: u64,
    /// What runs it, where that is known by the name of its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<ProgramLanguage>,
    /// How much of a CPU its busiest threads had, the most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub busiest: Vec<ThreadShare>,
    /// The control group that has no running time for real-time threads, so that its threads are refused such a policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_realtime: Option<String>,
    /// The file by which that group is given running time; absent where there is none, as in cgroup v2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub realtime_file: Option<String>,
    /// Threads that have ended while it went on: their ids are nobody's now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<u32>,
    /// The limits on CPU time of its control groups, its own group first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<GroupQuota>,
}

impl WatchedProgram {
    /// The control group that refuses real-time policies, if any.
    pub fn group_without_realtime(&self) -> Option<GroupWithoutRealtime> {
        let group = self.without_realtime.clone()?;
        Some(GroupWithoutRealtime { group, file: self.realtime_file.clone() })
    }
}

/// A control group that refuses real-time policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupWithoutRealtime {
    pub group: String,
    /// The file that grants real-time runtime, in cgroup v1.
    pub file: Option<String>,
}

/// What runs a program that brings no code of the machine itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgramLanguage {
    /// CPython, whose threads share one interpreter lock.
    Python,
    /// Node.js.
    Node,
    /// A Java virtual machine.
    Java,
    /// Go, whose runtime moves goroutines from thread to thread.
    Go,
}

impl ProgramLanguage {
    /// From the name of the program file: `python3.11`.
    pub fn from_program(name: &str) -> Option<Self> {
        match name {
            "node" | "nodejs" => Some(Self::Node),
            "java" => Some(Self::Java),
            _ if name.starts_with("python") => Some(Self::Python),
            _ => None,
        }
    }
}

/// How much of a CPU a thread had.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadShare {
    /// The thread's id.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// From 0 to 1: of the time in which it was there.
    pub share: f64,
    /// How long it ran.
    #[serde(rename = "ran_ns")]
    pub ran: Span,
}

/// The limit on CPU time of a control group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupQuota {
    /// The group's path.
    pub group: String,
    /// The file that has the limit: `cpu.max`, or `cpu.cfs_quota_us` of cgroup v1.
    pub file: String,
    /// CPU time within each period.
    #[serde(rename = "quota_ns")]
    pub quota: Span,
    /// The period.
    #[serde(rename = "period_ns")]
    pub period: Span,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_a_program_is_known_by_its_name() {
        let of = ProgramLanguage::from_program;
        assert_eq!([of("python3.11"), of("node"), of("java")].map(|language| language.is_some()), [true; 3]);
        assert_eq!([of("javac"), of("my-python"), of("redis-server")], [None; 3]);
    }
}
