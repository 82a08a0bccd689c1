//! The table of causes and remedies, and how each cause is provoked.

use std::io;
use std::process::{Command, Stdio};

use howlate_guard::{Guard, QuotaCgroup};
use howlate_linux::sched;
use howlate_model::Span;
use howlate_procfs::{Cgroup, CpuCgroups, Root, SELF};

use super::super::contenders::{RivalOptions, Rivals};
use crate::bench::KilledOnDrop;

/// A cause of lateness, and howlate's advice against it.
pub struct RemedyRow {
    pub cause: &'static str,
    /// The late thread, and what delays it.
    pub what: &'static str,
    /// IDs of the expected findings, of which one has to be advised.
    pub finding: &'static str,
    pub trial: RemedyTrial,
}

pub enum RemedyTrial {
    Possible(CauseSetup),
    /// Cannot be provoked here, and why.
    NotHere(&'static str),
}

/// The statistic that is compared: the median for delays of every wake-up; else the mean, in which rare long waits count.
#[derive(Clone, Copy)]
pub enum LatenessStatistic {
    Median,
    Mean,
}

/// How a cause is provoked, and the late program.
pub struct CauseSetup {
    /// The policy of howlate's threads, for which the advice is. `None` if the cause cannot affect them: the advice is then from
    /// `howlate doctor`.
    pub policy: Option<&'static str>,
    /// Command before the sleeper's, with and without the advice.
    pub before: &'static str,
    /// Options with which howlate is run.
    pub options: &'static [&'static str],
    pub statistic: LatenessStatistic,
    pub make: fn(&Guard) -> io::Result<RunningCause>,
}

/// Threads, processes and group that are the cause, until they are dropped.
#[derive(Default)]
pub struct RunningCause {
    _rivals: Vec<Rivals>,
    _processes: Vec<KilledOnDrop>,
    group: Option<QuotaCgroup>,
    cpu: Option<u32>,
}

impl RunningCause {
    /// Shell commands that put the late program into the group and on the CPU of the cause.
    pub fn enter(&self) -> String {
        let into = |group: &QuotaCgroup| format!("echo $$ > {}/cgroup.procs\n", group.path());
        let bound = |cpu: u32| format!("taskset -cp {cpu} $$ > /dev/null\n");
        format!(
            "{}{}",
            self.group.as_ref().map(into).unwrap_or_default(),
            self.cpu.map(bound).unwrap_or_default()
        )
    }
}

fn last_cpu() -> u32 {
    sched::bindable_cpus().ok().and_then(|cpus| cpus.iter().max()).unwrap_or(0)
}

/// Rivals on the CPU of the late program.
fn beside(rivals: &[(&[&str], RivalOptions)]) -> RunningCause {
    let cpu = Some(last_cpu());
    let start =
        |(names, options): &(&[&str], RivalOptions)| Rivals::start(names, RivalOptions { cpu, ..*options });
    RunningCause { _rivals: rivals.iter().map(start).collect(), cpu, ..RunningCause::default() }
}

const ORDINARY: RivalOptions = RivalOptions { priority: None, cpu: None, awake: false, syncs: false };
const AWAKE: RivalOptions = RivalOptions { awake: true, ..ORDINARY };

const fn at(priority: u32) -> RivalOptions {
    RivalOptions { priority: Some(priority), ..ORDINARY }
}

/// A group whose quota is used up by another process.
fn throttled(guard: &Guard) -> io::Result<RunningCause> {
    // Long throttling, compared with which other delays are small.
    let group = group(guard, Span::from_millis(10), Span::from_millis(100))?;
    let script = format!("echo $$ > {}/cgroup.procs; while :; do :; done", group.path());
    let spender = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).spawn()?;
    Ok(RunningCause {
        group: Some(group),
        _processes: vec![KilledOnDrop(spender)],
        ..RunningCause::default()
    })
}

/// A group of cgroup v1, which has no real-time budget at first if the kernel has `RT_GROUP_SCHED`.
fn without_real_time(guard: &Guard) -> io::Result<RunningCause> {
    let group = group(guard, Span::from_millis(100), Span::from_millis(100))?;
    let share = std::fs::read_to_string(format!("{}/cpu.rt_runtime_us", group.path()));
    if share.map_or(true, |share| share.trim() != "0") {
        return Err(io::Error::other("this kernel does not divide real-time running time among groups"));
    }
    Ok(RunningCause { group: Some(group), ..beside(&[(&["rival-a", "rival-b", "rival-c"], ORDINARY)]) })
}

fn group(guard: &Guard, quota: Span, period: Span) -> io::Result<QuotaCgroup> {
    let above: Vec<String> =
        CpuCgroups::read(&Root::live(), SELF).upwards().iter().map(Cgroup::folder).collect();
    let name = format!("howlate-truth-{}", std::process::id());
    guard.create_quota_cgroup(&above, &name, quota, period).map_err(io::Error::other)
}

/// As a real-time thread where that is allowed.
const IF_ALLOWED: &str =
    "sh -c 'chrt --fifo 80 true 2> /dev/null && exec chrt --fifo 80 \"$@\"; exec \"$@\"' sh ";
/// At `fifo:10`, unless it has been given a real-time priority already.
const AT_TEN: &str = "sh -c 'chrt -p $$ | grep -q SCHED_FIFO || exec chrt --fifo 10 \"$@\"; exec \"$@\"' sh ";

const NEEDS_RESTART: &str = "it takes a restart";

pub const ROWS: &[RemedyRow] = &[
    RemedyRow {
        cause: "timer_slack",
        what: "a normal thread",
        finding: "timer_slack",
        trial: RemedyTrial::Possible(CauseSetup {
            policy: Some("other"),
            before: "",
            options: &[],
            statistic: LatenessStatistic::Median,
            make: |_| Ok(RunningCause::default()),
        }),
    },
    RemedyRow {
        cause: "idle_exit",
        what: "a real-time thread on an idle CPU",
        finding: "cpu_dma_latency",
        trial: RemedyTrial::Possible(CauseSetup {
            policy: Some("fifo:80"),
            before: "chrt --fifo 80 ",
            options: &[],
            statistic: LatenessStatistic::Median,
            make: |_| Ok(RunningCause { cpu: Some(last_cpu()), ..RunningCause::default() }),
        }),
    },
    RemedyRow {
        cause: "idle_exit",
        what: "any thread",
        finding: "idle_states",
        trial: RemedyTrial::NotHere("this machine has no idle state that takes long to leave"),
    },
    RemedyRow {
        cause: "interrupt",
        what: "any thread, of a device",
        finding: "interrupt_affinity",
        trial: RemedyTrial::NotHere("advised beside isolated CPUs, and it takes a restart to have any"),
    },
    RemedyRow {
        cause: "softirq",
        what: "any thread, NET_RX and the like",
        finding: "interrupt_affinity",
        trial: RemedyTrial::NotHere("advised beside isolated CPUs, and it takes a restart to have any"),
    },
    RemedyRow {
        cause: "thread",
        what: "a normal thread beside three others",
        finding: "realtime_permission",
        trial: RemedyTrial::Possible(CauseSetup {
            policy: Some("other"),
            before: "",
            options: &[],
            statistic: LatenessStatistic::Mean,
            make: |_| Ok(beside(&[(&["rival-a", "rival-b", "rival-c"], ORDINARY)])),
        }),
    },
    RemedyRow {
        cause: "thread",
        what: "a normal thread beside three that never sleep",
        finding: "nice_permission",
        trial: RemedyTrial::Possible(CauseSetup {
            policy: None,
            before: "",
            options: &["work_us=300"],
            statistic: LatenessStatistic::Mean,
            make: |_| Ok(beside(&[(&["rival-a", "rival-b", "rival-c"], AWAKE)])),
        }),
    },
    RemedyRow {
        cause: "thread",
        what: "the same in a group that may run nothing real-time",
        finding: "rt_group_scheduling",
        trial: RemedyTrial::Possible(CauseSetup {
            policy: Some("other"),
            before: IF_ALLOWED,
            options: &[],
            statistic: LatenessStatistic::Mean,
            make: without_real_time,
        }),
    },
    RemedyRow {
        cause: "thread",
        what: "a normal thread beside one of fifo:70",
        finding: "realtime_permission",
        trial: RemedyTrial::Possible(CauseSetup {
            policy: Some("other"),
            before: "",
            options: &[],
            statistic: LatenessStatistic::Mean,
            make: |_| Ok(beside(&[(&["above"], at(70))])),
        }),
    },
    RemedyRow {
        cause: "thread",
        what: "a normal thread beside one of fifo:90",
        finding: "realtime_permission",
        trial: RemedyTrial::Possible(CauseSetup {
            policy: Some("other"),
            before: "",
            options: &[],
            statistic: LatenessStatistic::Mean,
            make: |_| Ok(beside(&[(&["far-above"], at(90))])),
        }),
    },
    RemedyRow {
        cause: "thread",
        what: "a fifo:10 thread beside one of fifo:20",
        finding: "realtime_permission",
        trial: RemedyTrial::Possible(CauseSetup {
            policy: Some("fifo:10"),
            before: AT_TEN,
            options: &[],
            statistic: LatenessStatistic::Mean,
            make: |_| Ok(beside(&[(&["above"], at(20))])),
        }),
    },
    RemedyRow {
        cause: "thread",
        what: "a real-time thread held by a normal one in the kernel",
        finding: "preemption",
        trial: RemedyTrial::NotHere(NEEDS_RESTART),
    },
    RemedyRow {
        cause: "thread",
        what: "a real-time thread beside others",
        finding: "isolated_cpus",
        trial: RemedyTrial::NotHere(NEEDS_RESTART),
    },
    RemedyRow {
        cause: "throttled",
        what: "a normal thread in a group whose quota is used up",
        finding: "cpu_quota",
        trial: RemedyTrial::Possible(CauseSetup {
            policy: Some("other"),
            before: "",
            options: &[],
            statistic: LatenessStatistic::Mean,
            make: throttled,
        }),
    },
    RemedyRow {
        cause: "rt_throttled",
        what: "a fifo:80 thread, beside a fifo:50 one that never sleeps",
        finding: "fair_server, rt_throttling",
        trial: RemedyTrial::Possible(CauseSetup {
            policy: Some("fifo:80"),
            before: "chrt --fifo 80 ",
            options: &[],
            statistic: LatenessStatistic::Mean,
            make: |_| {
                let spins = RivalOptions { awake: true, ..at(50) };
                Ok(beside(&[(&["starved"], AWAKE), (&["spins"], spins)]))
            },
        }),
    },
    RemedyRow {
        cause: "page_fault",
        what: "a real-time thread whose pages are taken back",
        finding: "memory_lock",
        trial: RemedyTrial::Possible(CauseSetup {
            policy: None,
            before: "chrt --fifo 80 ",
            options: &["pages"],
            statistic: LatenessStatistic::Mean,
            make: |_| Ok(RunningCause::default()),
        }),
    },
    RemedyRow {
        cause: "page_fault",
        what: "any thread",
        finding: "swap, transparent_huge_pages, numa_balancing",
        trial: RemedyTrial::NotHere("there is no swap, no second node, and huge pages are as they should be"),
    },
    RemedyRow {
        cause: "hypervisor",
        what: "any thread",
        finding: "steal, hypervisor",
        trial: RemedyTrial::NotHere("only the host can do it"),
    },
];
