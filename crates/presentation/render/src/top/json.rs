//! The JSON output of `howlate top`.

use howlate_analyse::waits::{CpuHolderTime, WaitKind, WaitTotal, WaiterTotals};
use howlate_model::LostWaits;
use schemars::JsonSchema;
use serde::Serialize;

use super::{TopReport, TopView};
use crate::bounded_json::answer_schema;

/// What `howlate top --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Top")]
struct TopDocument<'a> {
    /// Of these names: 1.
    format: u32,
    /// The version of the program.
    howlate: &'static str,
    /// Always `top`.
    command: &'static str,
    /// Where it is known from: `bpf`, programs in the kernel, or `proc`, the kernel's accounts.
    tracer: &'static str,
    /// Why a better one cannot be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// How long was looked.
    lasted_ns: u64,
    /// CPUs that are on.
    cpus: usize,
    /// What nobody saw.
    lost: LostEvents,
    /// Processes that there are; those that have ended, one for each name.
    processes: Vec<WaiterEntry<'a>>,
    /// With `--by thread`, or of one process: threads that there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<Vec<WaiterEntry<'a>>>,
}

/// What nobody saw.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Lost")]
struct LostEvents {
    /// Times without CPU that were not seen to begin or to end.
    unseen: u64,
    /// Threads that ended without being read to the end.
    threads: u64,
    /// Places in the kernel that found no room.
    stacks: u64,
}

/// A process or thread.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Entry")]
struct WaiterEntry<'a> {
    /// The process; absent of those that have ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    /// The thread, of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    tid: Option<u32>,
    /// What it is called.
    name: &'a str,
    /// Its control group, where `--by group` or `--group` asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    /// Part of the kernel.
    of_kernel: bool,
    /// Threads that there are.
    threads: u64,
    /// Threads of it, or processes of this name, that have ended.
    ended: u64,
    /// For how long its threads were seen, together.
    seen_ns: u64,
    /// For how long they ran: the time in which none of them waited.
    ran_ns: u64,
    /// What it waited for.
    waits: Vec<WaitEntry<'a>>,
}

/// Waits for one thing.
#[derive(Serialize, JsonSchema)]
struct WaitEntry<'a> {
    /// `cpu`, `disk`, `page_fault`, `memory`, `lock`, `kernel`, `pipe`, `socket`, `futex`, `child`, `stopped`, `other`, `not_seen`, `timer`,
    /// `event`, `signal`, `terminal` or `idle`.
    kind: &'static str,
    /// `held_up`, `for_others` or `as_asked`.
    nature: &'static str,
    /// What it was at: in words, or the kernel's function where there are none. Absent of a CPU.
    #[serde(skip_serializing_if = "str::is_empty")]
    at: &'a str,
    /// Waits that ended meanwhile, or go on.
    count: u64,
    /// Those that go on.
    ongoing: u64,
    /// The time that they took of the while.
    total_ns: u64,
    /// The mean of their whole lengths; of those that go on, so far.
    mean_ns: u64,
    /// The longest one.
    max_ns: u64,
    /// The part of the time in which its threads were seen.
    share: f64,
    /// Of how many the stack was looked at; absent of a CPU, where nothing need be.
    #[serde(skip_serializing_if = "Option::is_none")]
    looked_at: Option<u64>,
    /// Who had the CPU, of waits of 20 µs and more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    behind: Vec<BehindEntry<'a>>,
    /// The kernel's functions at one of these waits, the innermost first.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    functions: &'a [String],
}

/// Who had the CPU.
#[derive(Serialize, JsonSchema)]
struct BehindEntry<'a> {
    /// The process; absent if the CPU was idle and had to wake up; `(quota)` if it was nobody: the control group of its threads had used
    /// up its CPU quota.
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    /// Its id; absent of several of that name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    /// For how long.
    ns: u64,
}

impl TopReport {
    /// As one line of JSON.
    pub fn json(&self, view: &TopView) -> serde_json::Result<String> {
        let LostWaits { unseen, threads, stacks } = self.table.lost;
        let processes = self.table.processes.iter().filter(|waiter| self.is_selected(waiter, view));
        let waiters = self.waiters(view);
        let document = TopDocument {
            format: 1,
            howlate: env!("CARGO_PKG_VERSION"),
            command: "top",
            tracer: self.source,
            refused: self.refused.as_ref().map(ToString::to_string),
            lasted_ns: self.lasted.as_nanos(),
            cpus: self.cpus,
            lost: LostEvents { unseen, threads, stacks },
            processes: processes.map(|waiter| self.entry(waiter, view)).collect(),
            threads: view
                .shows_threads()
                .then(|| waiters.iter().map(|waiter| self.entry(waiter, view)).collect()),
        };
        Ok(serde_json::to_string(&document)? + "\n")
    }

    fn entry<'a>(&'a self, waiter: &'a WaiterTotals, view: &TopView) -> WaiterEntry<'a> {
        let is_selected = |wait: &&WaitTotal| view.kinds.is_empty() || view.kinds.contains(&wait.reason.kind);
        WaiterEntry {
            pid: waiter.pid,
            tid: waiter.tid,
            name: &waiter.name,
            group: self.group_of(waiter),
            of_kernel: waiter.of_kernel,
            threads: waiter.threads,
            ended: waiter.ended,
            seen_ns: waiter.seen.as_nanos(),
            ran_ns: waiter.ran().as_nanos(),
            waits: waiter.waits.iter().filter(is_selected).map(wait).collect(),
        }
    }
}

fn wait(wait: &WaitTotal) -> WaitEntry<'_> {
    let kind = wait.reason.kind;
    WaitEntry {
        kind: kind.name(),
        nature: kind.nature().name(),
        at: &wait.reason.at,
        count: wait.sum.count,
        ongoing: wait.sum.ongoing,
        total_ns: wait.sum.time.as_nanos(),
        mean_ns: wait.sum.mean().as_nanos(),
        max_ns: wait.sum.longest.as_nanos(),
        share: wait.share,
        looked_at: (kind != WaitKind::Cpu).then_some(wait.sum.looked_at),
        behind: wait.behind.iter().map(behind).collect(),
        functions: &wait.functions,
    }
}

fn behind(behind: &CpuHolderTime) -> BehindEntry<'_> {
    BehindEntry { name: &behind.name, pid: behind.pid, ns: behind.time.as_nanos() }
}

/// The JSON Schema of that object, draft 2020-12; `docs/top.schema.json` is a copy.
pub fn top_schema() -> serde_json::Result<String> {
    answer_schema::<TopDocument<'_>>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_published::assert_published;

    #[test]
    fn the_published_schema_is_that_of_the_code() {
        assert_published("top.schema.json", &top_schema().unwrap());
    }
}
