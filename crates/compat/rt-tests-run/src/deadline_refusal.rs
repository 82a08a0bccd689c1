//! Why the kernel gives a thread no `SCHED_DEADLINE`, in words, and what to type.

use std::fmt;
use std::io;

use howlate_linux::sched;
use howlate_measure::{DeadlineSetupError, DeadlineStep, DeadlineThread};
use howlate_model::{CpuSet, OsError};
use howlate_procfs::{Root, Status, read_cpu_list};

/// `EPERM`, `EBUSY` and `EINVAL` of `<asm-generic/errno-base.h>`.
const NOT_PERMITTED: i32 = 1;
const BUSY: i32 = 16;
const INVALID: i32 = 22;
/// `CAP_SYS_NICE` of `<linux/capability.h>`.
const SYS_NICE: u32 = 23;

/// What was refused, and what of the machine explains it.
#[derive(Debug)]
pub(crate) struct DeadlineRefusal {
    refused: DeadlineSetupError,
    /// What the thread asked for.
    asked: Option<DeadlineThread>,
    /// How many threads did.
    threads: usize,
    /// CPUs that were named.
    named: Option<CpuSet>,
    facts: Facts,
}

/// What the kernel looks at.
#[derive(Debug, Default)]
struct Facts {
    may: bool,
    /// Where the calling process may run, and where it could be bound to.
    allowed: CpuSet,
    bindable: CpuSet,
    online: CpuSet,
    /// Of each period of all CPUs, in microseconds: what real-time and deadline threads get.
    runtime_us: Option<i64>,
    period_us: Option<i64>,
    /// Shortest and longest period.
    shortest_us: Option<i64>,
    longest_us: Option<i64>,
}

impl Facts {
    fn read() -> Self {
        let root = Root::live();
        let number = |name: &str| root.read(&format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok();
        Self {
            may: Status::read_own(&root).has_bit("CapEff", SYS_NICE).unwrap_or(true),
            allowed: sched::affinity().unwrap_or_default(),
            bindable: sched::bindable_cpus().unwrap_or_default(),
            online: read_cpu_list(&root, "/sys/devices/system/cpu/online"),
            runtime_us: number("sched_rt_runtime_us"),
            period_us: number("sched_rt_period_us"),
            shortest_us: number("sched_deadline_period_min_us"),
            longest_us: number("sched_deadline_period_max_us"),
        }
    }

    /// What all deadline threads get of the CPUs, in percent.
    fn share(&self) -> i64 {
        let (runtime, period) = (self.runtime_us.unwrap_or(950_000), self.period_us.unwrap_or(1_000_000));
        runtime.saturating_mul(100).checked_div(period).unwrap_or(0)
    }
}

/// What it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// The right to ask.
    Right,
    /// CPUs that are not all that the kernel balances together.
    Affinity,
    /// Nothing is set aside for such threads.
    NoShare,
    /// More than is left.
    Bandwidth,
    /// Runtime and period themselves.
    Lengths,
    /// What the kernel reports.
    ReadBack,
    Other,
}

impl DeadlineRefusal {
    /// Reads what explains it.
    pub(crate) fn new(
        refused: DeadlineSetupError,
        threads: &[DeadlineThread],
        named: Option<CpuSet>,
    ) -> Self {
        let asked = threads.get(refused.thread).copied();
        Self { refused, asked, threads: threads.len(), named, facts: Facts::read() }
    }

    fn cpus(&self) -> &CpuSet {
        self.named.as_ref().unwrap_or(&self.facts.allowed)
    }

    /// As `__sched_setscheduler` and `__checkparam_dl` in `kernel/sched/` refuse it.
    fn cause(&self) -> Cause {
        let Facts { may, online, runtime_us, .. } = &self.facts;
        match (self.refused.step, self.refused.source.raw_os_error()) {
            (DeadlineStep::ReadBack, _) => Cause::ReadBack,
            (DeadlineStep::Policy, Some(NOT_PERMITTED)) if !may => Cause::Right,
            (DeadlineStep::Policy, Some(NOT_PERMITTED)) if *runtime_us == Some(0) => Cause::NoShare,
            (DeadlineStep::Policy, Some(NOT_PERMITTED)) if self.cpus() != online => Cause::Affinity,
            // It has the right, but not that of the host.
            (DeadlineStep::Policy, Some(NOT_PERMITTED)) => Cause::Right,
            (DeadlineStep::Policy, Some(BUSY)) => Cause::Bandwidth,
            (DeadlineStep::Policy, Some(INVALID)) => Cause::Lengths,
            _ => Cause::Other,
        }
    }

    /// What it answered, without the error's number.
    fn kernels_words(&self) -> String {
        let source: &io::Error = &self.refused.source;
        source.raw_os_error().map_or_else(|| source.to_string(), |number| OsError(number).message())
    }

    /// Percent of a CPU that the thread asks for.
    fn percent(&self) -> u64 {
        let of = |asked: DeadlineThread| {
            asked.runtime.as_nanos().saturating_mul(100).checked_div(asked.period.as_nanos())
        };
        self.asked.and_then(of).unwrap_or(0)
    }

    /// Shortest and longest period, in microseconds; the kernel's own where it tells none.
    fn periods(&self) -> (i64, i64) {
        (self.facts.shortest_us.unwrap_or(100), self.facts.longest_us.unwrap_or(1 << 22))
    }

    /// What to type.
    pub(crate) fn hint(&self) -> Option<String> {
        let cpus = self.cpus();
        Some(match self.cause() {
            Cause::Right => {
                "run it as root (`sudo`), or with CAP_SYS_NICE, outside of user namespaces such as rootless containers".to_owned()
            }
            Cause::NoShare => "`sysctl kernel.sched_rt_runtime_us=950000`".to_owned(),
            Cause::Affinity => {
                let all = match &self.named {
                    _ if self.facts.bindable != self.facts.online => "start it outside of the cpuset or container that keeps it there",
                    Some(_) => "leave the CPUs of `-a` out",
                    None => "`-a` alone takes all of them",
                };
                format!(
                    "{all}; or make CPUs {cpus} a partition (cgroup v2: `cpuset.cpus.partition`), and start it there; or switch the \
                     kernel's check off, and real-time throttling with it: `sysctl kernel.sched_rt_runtime_us=-1`"
                )
            }
            Cause::Bandwidth if self.threads > 1 => "fewer threads, `-t 1`; or end other programs with such threads".to_owned(),
            Cause::Bandwidth => "end other programs with such threads; `ps -eLo cls,pid,comm | grep DLN` lists them".to_owned(),
            Cause::Lengths => {
                let (shortest, _) = self.periods();
                format!("`-i 1000`, or at least `-i {shortest}`, and no more threads than CPUs")
            }
            Cause::ReadBack | Cause::Other => return None,
        })
    }
}

impl std::error::Error for DeadlineRefusal {}

impl fmt::Display for DeadlineRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (thread, Facts { bindable, online, .. }) = (self.refused.thread, &self.facts);
        let source = self.kernels_words();
        match self.cause() {
            Cause::Right => write!(f, "this user may not run threads under SCHED_DEADLINE ({source})"),
            Cause::NoShare => {
                write!(
                    f,
                    "no time is set aside for threads under SCHED_DEADLINE: kernel.sched_rt_runtime_us is 0 ({source})"
                )
            }
            Cause::Affinity => write!(
                f,
                "threads under SCHED_DEADLINE cannot be kept on CPUs {}: the kernel wants them on all CPUs that it balances \
                 together, usually {online} ({source})",
                self.cpus()
            ),
            Cause::Bandwidth => write!(
                f,
                "thread {thread} asks for {} % of a CPU, and not so much is left: all threads under SCHED_DEADLINE, also those \
                 of other programs, get {} % of each of CPUs {bindable} ({source})",
                self.percent(),
                self.facts.share()
            ),
            Cause::Lengths => {
                let micros = |of: fn(DeadlineThread) -> u64| self.asked.map_or(0, of) / 1_000;
                let (runtime, period) =
                    (micros(|one| one.runtime.as_nanos()), micros(|one| one.period.as_nanos()));
                let (shortest, longest) = self.periods();
                write!(
                    f,
                    "thread {thread} asks for {runtime} us in each {period} us; the kernel takes runtimes from 2 us, and periods from \
                     {shortest} to {longest} us ({source})"
                )
            }
            Cause::ReadBack => {
                write!(f, "the kernel took the runtime and the period of thread {thread}, and reports others")
            }
            Cause::Other => write!(f, "thread {thread} cannot run under SCHED_DEADLINE: {source}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::Span;

    use super::*;

    fn refusal(step: DeadlineStep, number: i32, named: Option<&str>, threads: usize) -> DeadlineRefusal {
        let all: CpuSet = "0-3".parse().unwrap();
        let asked = DeadlineThread { runtime: Span::from_micros(30), period: Span::from_micros(50) };
        DeadlineRefusal {
            refused: DeadlineSetupError { thread: 1, step, source: io::Error::from_raw_os_error(number) },
            asked: Some(asked),
            threads,
            named: named.map(|cpus| cpus.parse().unwrap()),
            facts: Facts {
                may: true,
                allowed: all.clone(),
                bindable: all.clone(),
                online: all,
                runtime_us: Some(950_000),
                period_us: Some(1_000_000),
                shortest_us: Some(100),
                longest_us: Some(4_194_304),
            },
        }
    }

    #[track_caller]
    fn check(refusal: &DeadlineRefusal, cause: Cause, text: &str, hint: &str) {
        assert_eq!(refusal.cause(), cause);
        let said = refusal.to_string();
        assert!(said.contains(text), "{said}");
        let hinted = refusal.hint().unwrap_or_default();
        assert!(hinted.contains(hint), "{hinted}");
    }

    #[test]
    fn each_refusal_says_what_it_comes_from_and_what_to_type() {
        let permitted = refusal(DeadlineStep::Policy, NOT_PERMITTED, None, 1);
        check(&permitted, Cause::Right, "this user may not", "outside of user namespaces");
        let named = refusal(DeadlineStep::Policy, NOT_PERMITTED, Some("1"), 1);
        check(
            &named,
            Cause::Affinity,
            "on CPUs 1: the kernel wants them on all",
            "leave the CPUs of `-a` out; or",
        );
        let mut inherited = refusal(DeadlineStep::Policy, NOT_PERMITTED, None, 1);
        inherited.facts.allowed = "2".parse().unwrap();
        check(&inherited, Cause::Affinity, "on CPUs 2: ", "`-a` alone takes all");
        let mut contained = refusal(DeadlineStep::Policy, NOT_PERMITTED, None, 1);
        (contained.facts.allowed, contained.facts.bindable) = ("2".parse().unwrap(), "2".parse().unwrap());
        check(&contained, Cause::Affinity, "on CPUs 2: ", "outside of the cpuset or container");
        let mut unprivileged = refusal(DeadlineStep::Policy, NOT_PERMITTED, Some("1"), 1);
        unprivileged.facts.may = false;
        check(&unprivileged, Cause::Right, "this user may not", "run it as root");
        let mut nothing = refusal(DeadlineStep::Policy, NOT_PERMITTED, None, 1);
        nothing.facts.runtime_us = Some(0);
        check(&nothing, Cause::NoShare, "kernel.sched_rt_runtime_us is 0", "`sysctl kernel");
        check(
            &refusal(DeadlineStep::Policy, BUSY, None, 2),
            Cause::Bandwidth,
            "asks for 60 % of a CPU",
            "`-t 1`",
        );
        check(
            &refusal(DeadlineStep::Policy, BUSY, None, 1),
            Cause::Bandwidth,
            "get 95 % of each of CPUs 0-3",
            "end other",
        );
        let lengths = refusal(DeadlineStep::Policy, INVALID, None, 1);
        check(&lengths, Cause::Lengths, "30 us in each 50 us; the kernel takes", "`-i 100`");
        check(&refusal(DeadlineStep::ReadBack, 0, None, 1), Cause::ReadBack, "reports others", "");
        check(&refusal(DeadlineStep::Bind, INVALID, Some("1"), 1), Cause::Other, "Invalid argument", "");
    }
}
