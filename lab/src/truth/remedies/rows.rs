//! The rows of the table cause → remedy, and how each cause is made here.

use std::io;
use std::process::{Child, Command, Stdio};

use howlate_guard::{Guard, QuotaCgroup};
use howlate_linux::sched;
use howlate_model::Span;
use howlate_procfs::{Cgroup, CpuCgroups, Root, SELF};

use super::super::contenders::{Manner, Rivals};

/// A row: whom a cause makes late, and what howlate advises.
pub struct Row {
    pub cause: &'static str,
    /// Who is late, beside whom.
    pub what: &'static str,
    /// The findings that are advised: one of them.
    pub finding: &'static str,
    pub trial: Trial,
}

pub enum Trial {
    Made(Making),
    /// It cannot be tried here, and why.
    NotHere(&'static str),
}

/// Which lateness is compared: of what comes with every wake-up, the usual one; else the mean, in which long waits count.
#[derive(Clone, Copy)]
pub enum Of {
    Median,
    Mean,
}

/// How a cause is made, and who is late.
pub struct Making {
    /// The policy of howlate's threads, to which the advice is given; `None` where howlate's own threads cannot meet the cause:
    /// the advice is then what `howlate doctor` says.
    pub policy: Option<&'static str>,
    /// What the sleeper is started with, advice or not.
    pub before: &'static str,
    /// Options with which howlate is run.
    pub options: &'static [&'static str],
    pub of: Of,
    pub make: fn(&Guard) -> io::Result<Made>,
}

/// What makes the cause, until it is dropped.
#[derive(Default)]
pub struct Made {
    _rivals: Vec<Rivals>,
    _processes: Vec<Killed>,
    group: Option<QuotaCgroup>,
    cpu: Option<u32>,
}

impl Made {
    /// What a shell runs before the late program, to be where the cause is.
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

/// A process that ends with this.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn last_cpu() -> u32 {
    sched::bindable_cpus().ok().and_then(|cpus| cpus.iter().max()).unwrap_or(0)
}

/// Beside rivals, all on one CPU.
fn beside(all: &[(&[&str], Manner)]) -> Made {
    let cpu = Some(last_cpu());
    let start = |(names, manner): &(&[&str], Manner)| Rivals::start(names, Manner { cpu, ..*manner });
    Made { _rivals: all.iter().map(start).collect(), cpu, ..Made::default() }
}

const ORDINARY: Manner = Manner { priority: None, cpu: None, awake: false, syncs: false };
const AWAKE: Manner = Manner { awake: true, ..ORDINARY };

const fn at(priority: u32) -> Manner {
    Manner { priority: Some(priority), ..ORDINARY }
}

/// In a group whose quota somebody else uses up.
fn throttled(guard: &Guard) -> io::Result<Made> {
    // Long stops, beside which whatever else the machine does is little.
    let group = group(guard, Span::from_millis(10), Span::from_millis(100))?;
    let script = format!("echo $$ > {}/cgroup.procs; while :; do :; done", group.path());
    let spender = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).spawn()?;
    Ok(Made { group: Some(group), _processes: vec![Killed(spender)], ..Made::default() })
}

/// In a group of the first hierarchy, which begins without real-time running time where the kernel divides that.
fn without_real_time(guard: &Guard) -> io::Result<Made> {
    let group = group(guard, Span::from_millis(100), Span::from_millis(100))?;
    let share = std::fs::read_to_string(format!("{}/cpu.rt_runtime_us", group.path()));
    if share.map_or(true, |share| share.trim() != "0") {
        return Err(io::Error::other("this kernel does not divide real-time running time among groups"));
    }
    Ok(Made { group: Some(group), ..beside(&[(&["rival-a", "rival-b", "rival-c"], ORDINARY)]) })
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

pub const ROWS: &[Row] = &[
    Row {
        cause: "timer_slack",
        what: "an ordinary thread",
        finding: "timer_slack",
        trial: Trial::Made(Making {
            policy: Some("other"),
            before: "",
            options: &[],
            of: Of::Median,
            make: |_| Ok(Made::default()),
        }),
    },
    Row {
        cause: "idle_exit",
        what: "a real-time thread on an idle CPU",
        finding: "cpu_dma_latency",
        trial: Trial::Made(Making {
            policy: Some("fifo:80"),
            before: "chrt --fifo 80 ",
            options: &[],
            of: Of::Median,
            make: |_| Ok(Made { cpu: Some(last_cpu()), ..Made::default() }),
        }),
    },
    Row {
        cause: "idle_exit",
        what: "any thread",
        finding: "idle_states",
        trial: Trial::NotHere("this machine has no idle state that takes long to leave"),
    },
    Row {
        cause: "interrupt",
        what: "any thread, of a device",
        finding: "interrupt_affinity",
        trial: Trial::NotHere("advised beside isolated CPUs, and it takes a restart to have any"),
    },
    Row {
        cause: "softirq",
        what: "any thread, NET_RX and the like",
        finding: "interrupt_affinity",
        trial: Trial::NotHere("advised beside isolated CPUs, and it takes a restart to have any"),
    },
    Row {
        cause: "thread",
        what: "an ordinary thread beside three others",
        finding: "realtime_permission",
        trial: Trial::Made(Making {
            policy: Some("other"),
            before: "",
            options: &[],
            of: Of::Mean,
            make: |_| Ok(beside(&[(&["rival-a", "rival-b", "rival-c"], ORDINARY)])),
        }),
    },
    Row {
        cause: "thread",
        what: "an ordinary thread beside three that never sleep",
        finding: "nice_permission",
        trial: Trial::Made(Making {
            policy: None,
            before: "",
            options: &["work_us=300"],
            of: Of::Mean,
            make: |_| Ok(beside(&[(&["rival-a", "rival-b", "rival-c"], AWAKE)])),
        }),
    },
    Row {
        cause: "thread",
        what: "the same in a group that may run nothing real-time",
        finding: "rt_group_scheduling",
        trial: Trial::Made(Making {
            policy: Some("other"),
            before: IF_ALLOWED,
            options: &[],
            of: Of::Mean,
            make: without_real_time,
        }),
    },
    Row {
        cause: "thread",
        what: "an ordinary thread beside one of fifo:70",
        finding: "realtime_permission",
        trial: Trial::Made(Making {
            policy: Some("other"),
            before: "",
            options: &[],
            of: Of::Mean,
            make: |_| Ok(beside(&[(&["above"], at(70))])),
        }),
    },
    Row {
        cause: "thread",
        what: "an ordinary thread beside one of fifo:90",
        finding: "realtime_permission",
        trial: Trial::Made(Making {
            policy: Some("other"),
            before: "",
            options: &[],
            of: Of::Mean,
            make: |_| Ok(beside(&[(&["far-above"], at(90))])),
        }),
    },
    Row {
        cause: "thread",
        what: "a fifo:10 thread beside one of fifo:20",
        finding: "realtime_permission",
        trial: Trial::Made(Making {
            policy: Some("fifo:10"),
            before: AT_TEN,
            options: &[],
            of: Of::Mean,
            make: |_| Ok(beside(&[(&["above"], at(20))])),
        }),
    },
    Row {
        cause: "thread",
        what: "a real-time thread held by an ordinary one in the kernel",
        finding: "preemption",
        trial: Trial::NotHere(NEEDS_RESTART),
    },
    Row {
        cause: "thread",
        what: "a real-time thread beside others",
        finding: "isolated_cpus",
        trial: Trial::NotHere(NEEDS_RESTART),
    },
    Row {
        cause: "throttled",
        what: "an ordinary thread in a group whose quota is used up",
        finding: "cpu_quota",
        trial: Trial::Made(Making {
            policy: Some("other"),
            before: "",
            options: &[],
            of: Of::Mean,
            make: throttled,
        }),
    },
    Row {
        cause: "rt_throttled",
        what: "a fifo:80 thread, beside a fifo:50 one that never sleeps",
        finding: "fair_server, rt_throttling",
        trial: Trial::Made(Making {
            policy: Some("fifo:80"),
            before: "chrt --fifo 80 ",
            options: &[],
            of: Of::Mean,
            make: |_| {
                let spins = Manner { awake: true, ..at(50) };
                Ok(beside(&[(&["starved"], AWAKE), (&["spins"], spins)]))
            },
        }),
    },
    Row {
        cause: "page_fault",
        what: "a real-time thread whose pages are taken back",
        finding: "memory_lock",
        trial: Trial::Made(Making {
            policy: None,
            before: "chrt --fifo 80 ",
            options: &["pages"],
            of: Of::Mean,
            make: |_| Ok(Made::default()),
        }),
    },
    Row {
        cause: "page_fault",
        what: "any thread",
        finding: "swap, transparent_huge_pages, numa_balancing",
        trial: Trial::NotHere("there is no swap, no second node, and huge pages are as they should be"),
    },
    Row {
        cause: "hypervisor",
        what: "any thread",
        finding: "steal, hypervisor",
        trial: Trial::NotHere("only the host can do it"),
    },
];
