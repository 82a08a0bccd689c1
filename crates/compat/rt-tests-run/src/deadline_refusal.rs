//! Explains why the kernel refuses `SCHED_DEADLINE` for a thread, with a hint.

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

/// The error, with the facts that explain it.
#[derive(Debug)]
pub(crate) struct DeadlineRefusal {
    error: DeadlineSetupError,
    /// Runtime and period of the refused thread.
    thread: Option<DeadlineThread>,
    thread_count: usize,
    /// CPUs of `-a`; `None` without `-a`.
    option_cpus: Option<CpuSet>,
    limits: SchedulerLimits,
}

/// Permissions and settings that the kernel checks.
#[derive(Debug, Default)]
struct SchedulerLimits {
    has_sys_nice: bool,
    /// Affinity of the calling process.
    allowed: CpuSet,
    /// CPUs to which the process can bind threads.
    bindable: CpuSet,
    online: CpuSet,
    /// Time of each period that real-time and deadline threads get on every CPU.
    runtime_us: Option<i64>,
    period_us: Option<i64>,
    /// Limits of the period; `None` if the kernel does not publish them.
    min_period_us: Option<i64>,
    max_period_us: Option<i64>,
}

impl SchedulerLimits {
    fn read() -> Self {
        let root = Root::live();
        let number = |name: &str| root.read(&format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok();
        Self {
            has_sys_nice: Status::read_own(&root).has_bit("CapEff", SYS_NICE).unwrap_or(true),
            allowed: sched::affinity().unwrap_or_default(),
            bindable: sched::bindable_cpus().unwrap_or_default(),
            online: read_cpu_list(&root, "/sys/devices/system/cpu/online"),
            runtime_us: number("sched_rt_runtime_us"),
            period_us: number("sched_rt_period_us"),
            min_period_us: number("sched_deadline_period_min_us"),
            max_period_us: number("sched_deadline_period_max_us"),
        }
    }

    /// Time for deadline threads, in percent of each CPU.
    fn deadline_percent(&self) -> i64 {
        let (runtime, period) = (self.runtime_us.unwrap_or(950_000), self.period_us.unwrap_or(1_000_000));
        runtime.saturating_mul(100).checked_div(period).unwrap_or(0)
    }
}

/// Cause of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RefusalCause {
    /// Missing permission.
    Permission,
    /// An affinity that is not a whole root domain.
    Affinity,
    /// `kernel.sched_rt_runtime_us` is 0.
    NoDeadlineTime,
    /// Not enough bandwidth left.
    Bandwidth,
    /// Invalid runtime or period.
    InvalidParameters,
    /// The kernel reports other parameters than those set.
    ReadBack,
    Other,
}

impl DeadlineRefusal {
    /// Reads the facts that explain `error`.
    pub(crate) fn new(
        error: DeadlineSetupError,
        threads: &[DeadlineThread],
        option_cpus: Option<CpuSet>,
    ) -> Self {
        let thread = threads.get(error.thread).copied();
        Self { error, thread, thread_count: threads.len(), option_cpus, limits: SchedulerLimits::read() }
    }

    /// CPUs on which the threads were to run.
    fn cpus(&self) -> &CpuSet {
        self.option_cpus.as_ref().unwrap_or(&self.limits.allowed)
    }

    /// Follows the checks of `__sched_setscheduler` and `__checkparam_dl` in `kernel/sched/`.
    fn cause(&self) -> RefusalCause {
        let SchedulerLimits { has_sys_nice, online, runtime_us, .. } = &self.limits;
        match (self.error.step, self.error.source.raw_os_error()) {
            (DeadlineStep::ReadBack, _) => RefusalCause::ReadBack,
            (DeadlineStep::Policy, Some(NOT_PERMITTED)) if !has_sys_nice => RefusalCause::Permission,
            (DeadlineStep::Policy, Some(NOT_PERMITTED)) if *runtime_us == Some(0) => {
                RefusalCause::NoDeadlineTime
            }
            (DeadlineStep::Policy, Some(NOT_PERMITTED)) if self.cpus() != online => RefusalCause::Affinity,
            // CAP_SYS_NICE in this user namespace, but not in the initial one.
            (DeadlineStep::Policy, Some(NOT_PERMITTED)) => RefusalCause::Permission,
            (DeadlineStep::Policy, Some(BUSY)) => RefusalCause::Bandwidth,
            (DeadlineStep::Policy, Some(INVALID)) => RefusalCause::InvalidParameters,
            _ => RefusalCause::Other,
        }
    }

    /// The kernel's error message, without the error number.
    fn kernel_message(&self) -> String {
        let source: &io::Error = &self.error.source;
        source.raw_os_error().map_or_else(|| source.to_string(), |number| OsError(number).message())
    }

    /// Requested runtime in percent of the period.
    fn percent(&self) -> u64 {
        let percent = |thread: DeadlineThread| {
            thread.runtime.as_nanos().saturating_mul(100).checked_div(thread.period.as_nanos())
        };
        self.thread.and_then(percent).unwrap_or(0)
    }

    /// Shortest and longest period in microseconds; the kernel's defaults if it does not publish them.
    fn period_limits(&self) -> (i64, i64) {
        (self.limits.min_period_us.unwrap_or(100), self.limits.max_period_us.unwrap_or(1 << 22))
    }

    /// Remedy; `None` if there is none.
    pub(crate) fn hint(&self) -> Option<String> {
        let cpus = self.cpus();
        Some(match self.cause() {
            RefusalCause::Permission => {
                "run it as root (`sudo`), or with CAP_SYS_NICE, outside of user namespaces such as rootless containers".to_owned()
            }
            RefusalCause::NoDeadlineTime => "`sysctl kernel.sched_rt_runtime_us=950000`".to_owned(),
            RefusalCause::Affinity => {
                let remedy = match &self.option_cpus {
                    _ if self.limits.bindable != self.limits.online => "start it outside of the cpuset or container that keeps it there",
                    Some(_) => "leave the CPUs of `-a` out",
                    None => "`-a` alone takes all of them",
                };
                format!(
                    "{remedy}; or make CPUs {cpus} a partition (cgroup v2: `cpuset.cpus.partition`), and start it there; or switch the \
                     kernel's check off, and real-time throttling with it: `sysctl kernel.sched_rt_runtime_us=-1`"
                )
            }
            RefusalCause::Bandwidth if self.thread_count > 1 => "fewer threads, `-t 1`; or end other programs with such threads".to_owned(),
            RefusalCause::Bandwidth => "end other programs with such threads; `ps -eLo cls,pid,comm | grep DLN` lists them".to_owned(),
            RefusalCause::InvalidParameters => {
                let (shortest, _) = self.period_limits();
                format!("`-i 1000`, or at least `-i {shortest}`, and no more threads than CPUs")
            }
            RefusalCause::ReadBack | RefusalCause::Other => return None,
        })
    }
}

impl std::error::Error for DeadlineRefusal {}

impl fmt::Display for DeadlineRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (thread, SchedulerLimits { bindable, online, .. }) = (self.error.thread, &self.limits);
        let source = self.kernel_message();
        match self.cause() {
            RefusalCause::Permission => {
                write!(f, "this user may not run threads under SCHED_DEADLINE ({source})")
            }
            RefusalCause::NoDeadlineTime => {
                write!(
                    f,
                    "no time is set aside for threads under SCHED_DEADLINE: kernel.sched_rt_runtime_us is 0 ({source})"
                )
            }
            RefusalCause::Affinity => write!(
                f,
                "threads under SCHED_DEADLINE cannot be kept on CPUs {}: the kernel wants them on all CPUs that it balances \
                 together, usually {online} ({source})",
                self.cpus()
            ),
            RefusalCause::Bandwidth => write!(
                f,
                "thread {thread} asks for {} % of a CPU, and not so much is left: all threads under SCHED_DEADLINE, also those \
                 of other programs, get {} % of each of CPUs {bindable} ({source})",
                self.percent(),
                self.limits.deadline_percent()
            ),
            RefusalCause::InvalidParameters => {
                let micros = |nanos: fn(DeadlineThread) -> u64| self.thread.map_or(0, nanos) / 1_000;
                let (runtime, period) =
                    (micros(|thread| thread.runtime.as_nanos()), micros(|thread| thread.period.as_nanos()));
                let (shortest, longest) = self.period_limits();
                write!(
                    f,
                    "thread {thread} asks for {runtime} us in each {period} us; the kernel takes runtimes from 2 us, and periods from \
                     {shortest} to {longest} us ({source})"
                )
            }
            RefusalCause::ReadBack => {
                write!(f, "the kernel took the runtime and the period of thread {thread}, and reports others")
            }
            RefusalCause::Other => write!(f, "thread {thread} cannot run under SCHED_DEADLINE: {source}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::Span;

    use super::*;

    fn refusal(
        step: DeadlineStep,
        number: i32,
        option_cpus: Option<&str>,
        thread_count: usize,
    ) -> DeadlineRefusal {
        let all: CpuSet = "0-3".parse().unwrap();
        let thread = DeadlineThread { runtime: Span::from_micros(30), period: Span::from_micros(50) };
        DeadlineRefusal {
            error: DeadlineSetupError { thread: 1, step, source: io::Error::from_raw_os_error(number) },
            thread: Some(thread),
            thread_count,
            option_cpus: option_cpus.map(|cpus| cpus.parse().unwrap()),
            limits: SchedulerLimits {
                has_sys_nice: true,
                allowed: all.clone(),
                bindable: all.clone(),
                online: all,
                runtime_us: Some(950_000),
                period_us: Some(1_000_000),
                min_period_us: Some(100),
                max_period_us: Some(4_194_304),
            },
        }
    }

    #[track_caller]
    fn check(refusal: &DeadlineRefusal, cause: RefusalCause, text: &str, hint: &str) {
        assert_eq!(refusal.cause(), cause);
        let message = refusal.to_string();
        assert!(message.contains(text), "{message}");
        let remedy = refusal.hint().unwrap_or_default();
        assert!(remedy.contains(hint), "{remedy}");
    }

    #[test]
    fn each_refusal_has_a_cause_and_a_hint() {
        let not_permitted = refusal(DeadlineStep::Policy, NOT_PERMITTED, None, 1);
        check(&not_permitted, RefusalCause::Permission, "this user may not", "outside of user namespaces");
        let pinned = refusal(DeadlineStep::Policy, NOT_PERMITTED, Some("1"), 1);
        check(
            &pinned,
            RefusalCause::Affinity,
            "on CPUs 1: the kernel wants them on all",
            "leave the CPUs of `-a` out; or",
        );
        let mut inherited = refusal(DeadlineStep::Policy, NOT_PERMITTED, None, 1);
        inherited.limits.allowed = "2".parse().unwrap();
        check(&inherited, RefusalCause::Affinity, "on CPUs 2: ", "`-a` alone takes all");
        let mut contained = refusal(DeadlineStep::Policy, NOT_PERMITTED, None, 1);
        (contained.limits.allowed, contained.limits.bindable) = ("2".parse().unwrap(), "2".parse().unwrap());
        check(&contained, RefusalCause::Affinity, "on CPUs 2: ", "outside of the cpuset or container");
        let mut unprivileged = refusal(DeadlineStep::Policy, NOT_PERMITTED, Some("1"), 1);
        unprivileged.limits.has_sys_nice = false;
        check(&unprivileged, RefusalCause::Permission, "this user may not", "run it as root");
        let mut no_runtime = refusal(DeadlineStep::Policy, NOT_PERMITTED, None, 1);
        no_runtime.limits.runtime_us = Some(0);
        check(&no_runtime, RefusalCause::NoDeadlineTime, "kernel.sched_rt_runtime_us is 0", "`sysctl kernel");
        check(
            &refusal(DeadlineStep::Policy, BUSY, None, 2),
            RefusalCause::Bandwidth,
            "asks for 60 % of a CPU",
            "`-t 1`",
        );
        check(
            &refusal(DeadlineStep::Policy, BUSY, None, 1),
            RefusalCause::Bandwidth,
            "get 95 % of each of CPUs 0-3",
            "end other",
        );
        let too_short = refusal(DeadlineStep::Policy, INVALID, None, 1);
        check(
            &too_short,
            RefusalCause::InvalidParameters,
            "30 us in each 50 us; the kernel takes",
            "`-i 100`",
        );
        check(&refusal(DeadlineStep::ReadBack, 0, None, 1), RefusalCause::ReadBack, "reports others", "");
        check(
            &refusal(DeadlineStep::Bind, INVALID, Some("1"), 1),
            RefusalCause::Other,
            "Invalid argument",
            "",
        );
    }
}
