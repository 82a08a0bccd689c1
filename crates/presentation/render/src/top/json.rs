//! The same for machines.

use howlate_analyse::waits::{CpuHolderTime, WaitKind, WaitTotal, WaiterTotals};
use howlate_model::{LostWaits, schema_as_written};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Top, TopView};

/// What `howlate top --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Top")]
struct Document<'a> {
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
    lost: Lost,
    /// Processes that there are; those that have ended, one for each name.
    processes: Vec<Entry<'a>>,
    /// With `--by thread`, or of one process: threads that there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<Vec<Entry<'a>>>,
}

/// What nobody saw.
#[derive(Serialize, JsonSchema)]
struct Lost {
    /// Times without CPU that were not seen to begin or to end.
    unseen: u64,
    /// Threads that ended without being read to the end.
    threads: u64,
    /// Places in the kernel that found no room.
    stacks: u64,
}

/// A process or thread.
#[derive(Serialize, JsonSchema)]
struct Entry<'a> {
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

impl Top {
    /// For machines, on one line.
    pub fn json(&self, view: &TopView) -> serde_json::Result<String> {
        let LostWaits { unseen, threads, stacks } = self.table.lost;
        let processes = self.table.processes.iter().filter(|one| self.is_meant(one, view));
        let waiters = self.waiters(view);
        let document = Document {
            format: 1,
            howlate: env!("CARGO_PKG_VERSION"),
            command: "top",
            tracer: self.source,
            refused: self.refused.as_ref().map(ToString::to_string),
            lasted_ns: self.lasted.as_nanos(),
            cpus: self.cpus,
            lost: Lost { unseen, threads, stacks },
            processes: processes.map(|one| self.entry(one, view)).collect(),
            threads: view.shows_threads().then(|| waiters.iter().map(|one| self.entry(one, view)).collect()),
        };
        Ok(serde_json::to_string(&document)? + "\n")
    }

    fn entry<'a>(&'a self, one: &'a WaiterTotals, view: &TopView) -> Entry<'a> {
        let is_wanted = |wait: &&WaitTotal| view.kinds.is_empty() || view.kinds.contains(&wait.reason.kind);
        Entry {
            pid: one.pid,
            tid: one.tid,
            name: &one.name,
            group: self.group_of(one),
            of_kernel: one.of_kernel,
            threads: one.threads,
            ended: one.ended,
            seen_ns: one.seen.as_nanos(),
            ran_ns: one.ran().as_nanos(),
            waits: one.waits.iter().filter(is_wanted).map(wait).collect(),
        }
    }
}

fn wait(one: &WaitTotal) -> WaitEntry<'_> {
    let kind = one.reason.kind;
    WaitEntry {
        kind: kind.name(),
        nature: kind.nature().name(),
        at: &one.reason.at,
        count: one.sum.count,
        ongoing: one.sum.ongoing,
        total_ns: one.sum.time.as_nanos(),
        mean_ns: one.sum.mean().as_nanos(),
        max_ns: one.sum.longest.as_nanos(),
        share: one.share,
        looked_at: (kind != WaitKind::Cpu).then_some(one.sum.looked_at),
        behind: one.behind.iter().map(behind).collect(),
        functions: &one.functions,
    }
}

fn behind(one: &CpuHolderTime) -> BehindEntry<'_> {
    BehindEntry { name: &one.name, pid: one.pid, ns: one.time.as_nanos() }
}

/// The JSON Schema of that object, draft 2020-12; `docs/top.schema.json` is a copy.
pub fn top_schema() -> serde_json::Result<String> {
    serde_json::to_string_pretty(&schema_as_written::<Document<'_>>()).map(|text| text + "\n")
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
