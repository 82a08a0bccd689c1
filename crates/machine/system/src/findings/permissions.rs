//! Permissions of this process: real-time priorities, locked memory, nice values, capabilities.

use crate::settings::AUTOGROUP_FILE;
use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{CgroupMembership, Limits, LinuxDistribution, Root, SELF, UNLIMITED, hypervisor};

use super::container::ContainerAdvice;
use super::draft::{FindingDraft, finding};
use crate::process::{CAPABILITIES, Process};

/// A common priority of real-time programs.
const USUAL_PRIORITY: u64 = 80;

const NAMESPACE: &str = "capabilities do not reach outside this user namespace";

/// Whether this process has a capability in the initial user namespace, where the kernel checks it.
fn holds(process: &Process, capability: &str) -> Option<bool> {
    process.holds(capability).map(|holds| holds && !process.in_user_namespace())
}

/// Whether real-time policies are allowed: by `CAP_SYS_NICE`, or up to `RLIMIT_RTPRIO`.
///
/// Source: `sched(7)`, privileges and resource limits.
pub(super) fn realtime(root: &Root) -> Option<Finding> {
    let (process, limits) = (Process::read(root), Limits::read(root));
    let limit = limits.soft("Max realtime priority");
    let highest = limit.map(|limit| limit.min(99));
    let (verdict, found) = match (holds(&process, "CAP_SYS_NICE"), highest) {
        (Some(true), _) => {
            (Verdict::Good, "any real-time priority may be set here (CAP_SYS_NICE)".to_owned())
        }
        (_, Some(priority)) if priority > 0 => {
            (Verdict::Good, format!("real-time priorities up to {priority} may be set here (RLIMIT_RTPRIO)"))
        }
        (Some(false), Some(_)) => (
            Verdict::Blocks,
            format!("this process may not ask for real-time priorities: {}", describe_lack(&process)),
        ),
        _ => (
            Verdict::Unknown,
            "whether this process may ask for real-time priorities could not be read".to_owned(),
        ),
    };
    let draft = finding(FindingId::RealtimePermission, verdict, found)
        .evidence(&process.status.evidence("CapEff"))
        .evidence(&limits.evidence("Max realtime priority"))
        .when(process.in_user_namespace(), |draft| draft.evidence(&process.uid_map))
        .why(
            "SCHED_FIFO and SCHED_RR need CAP_SYS_NICE, or a limit on real-time priority above 0. \
            Without one of them a thread shares its CPU with every other.",
        );
    let draft = draft.when(verdict == Verdict::Blocks, |draft| grant_realtime(root, draft));
    Some(draft.when(verdict == Verdict::Good, |draft| draft.apply(chrt_command(&process, highest))).finish())
}

/// Whether capabilities or limits let this process have real-time threads.
pub(super) fn may_be_realtime(root: &Root) -> bool {
    realtime(root).is_some_and(|finding| finding.verdict == Verdict::Good)
}

/// The command that starts a real-time program, with a priority within the limit.
fn chrt_command(process: &Process, highest: Option<u64>) -> String {
    let is_free = holds(process, "CAP_SYS_NICE") == Some(true);
    let priority = highest.filter(|_| !is_free).map_or(USUAL_PRIORITY, |highest| highest.min(USUAL_PRIORITY));
    format!("chrt --fifo {priority} PROGRAM …")
}

fn describe_lack(process: &Process) -> String {
    match process.holds("CAP_SYS_NICE") {
        Some(true) => format!("{NAMESPACE}, and RLIMIT_RTPRIO is 0"),
        _ => "CAP_SYS_NICE is missing and RLIMIT_RTPRIO is 0".to_owned(),
    }
}

fn grant_realtime(root: &Root, draft: FindingDraft) -> FindingDraft {
    let draft = draft.cost(
        "2.5 ms at p99 beside two busy threads, against 20 µs with SCHED_FIFO",
        "measured by howlate's authors on Linux 6.18 in a virtual machine",
    );
    match ContainerAdvice::detect(root) {
        Some(advice) => advice.capability(draft, "SYS_NICE", "rtprio=99"),
        None => raise_limit(root, draft, "rtprio", "99"),
    }
}

/// Adds a drop-in file for `limits.conf(5)`, so that undoing it is deleting a file; other commands where nothing reads that.
fn raise_limit(root: &Root, draft: FindingDraft, item: &str, value: &str) -> FindingDraft {
    if LinuxDistribution::read(root) == LinuxDistribution::NixOs {
        let line = format!("{{ domain = \"*\"; item = \"{item}\"; type = \"-\"; value = \"{value}\"; }}");
        return draft
            .apply(format!(
                "add `{line}` to the list `security.pam.loginLimits` of configuration.nix, run `nixos-rebuild switch`, and {}",
                &take_effect(root)["then ".len()..]
            ))
            .undo("remove it from configuration.nix and run `nixos-rebuild switch`");
    }
    // The limit of nice is 20 less the value: getrlimit(2).
    let number = if item == "nice" { "40" } else { value };
    let for_this_shell = |draft: FindingDraft, remark: &str| {
        draft
            .apply(format!(
                "sudo prlimit --pid $$ --{item}={number}   # for this shell and what it starts{remark}"
            ))
            .undo(format!("sudo prlimit --pid $$ --{item}={}", current_limit(root, item)))
    };
    // Shells of WSL are no logins.
    if hypervisor(root).is_some_and(|found| found.name == "wsl2") {
        return for_this_shell(draft, "");
    }
    // Logins of Alpine read no limits; services have those of their OpenRC settings.
    if LinuxDistribution::read(root) == LinuxDistribution::Alpine {
        let flag = match item {
            "memlock" => "l",
            "nice" => "e",
            _ => "r",
        };
        let service = format!(
            "add `rc_ulimit=\"-{flag} {number}\"` to the file of /etc/conf.d of the service that is to have it, and restart that"
        );
        return for_this_shell(draft, "; prlimit is in the package util-linux-misc").lasting(service);
    }
    let file = format!("/etc/security/limits.d/90-howlate-{item}.conf");
    let take_effect = take_effect(root);
    draft
        .apply(format!("echo \"$(id -un) - {item} {value}\" | sudo tee {file}   # {take_effect}"))
        .undo(format!("sudo rm {file}   # {take_effect}"))
}

/// What makes new limits take effect. The service manager of a user, which starts desktops, outlives the last logout by some seconds, and
/// keeps its limits until then.
///
/// Source: `logind.conf(5)`, `UserStopDelaySec=`.
fn take_effect(root: &Root) -> &'static str {
    let groups = CgroupMembership::read(root, SELF);
    let is_under_manager = groups.reading.text().is_some_and(|groups| groups.contains("/user@"));
    if is_under_manager { "then restart" } else { "then log out and in" }
}

/// The present limit in the format of prlimit.
fn current_limit(root: &Root, item: &str) -> String {
    let name = match item {
        "memlock" => "Max locked memory",
        "nice" => "Max nice priority",
        _ => "Max realtime priority",
    };
    Limits::read(root).soft(name).map_or_else(
        || "0".to_owned(),
        |limit| if limit == UNLIMITED { "unlimited".to_owned() } else { limit.to_string() },
    )
}

/// A limit below this, in bytes, is too small for a program with a handful of threads:
/// each brings a stack of 8 MiB, and mlockall counts what is mapped, not what is used.
const ROOMY: u64 = 64 << 20;

/// What a program with the permission should do: mlockall(2).
const LOCK: &str = "in a program of your own, call `mlockall(MCL_CURRENT | MCL_FUTURE)` before its loop";

/// Whether memory may be locked, so that no access waits for a page fault.
pub(super) fn memory_lock(root: &Root) -> Option<Finding> {
    let (process, limits) = (Process::read(root), Limits::read(root));
    let (verdict, found) = match (holds(&process, "CAP_IPC_LOCK"), limits.soft("Max locked memory")) {
        (Some(true), _) => (Verdict::Good, "this process may lock all its memory (CAP_IPC_LOCK)".to_owned()),
        (_, Some(UNLIMITED)) => {
            (Verdict::Good, "this process may lock all its memory (RLIMIT_MEMLOCK)".to_owned())
        }
        (Some(false), Some(bytes)) if bytes >= ROOMY => {
            (Verdict::Good, format!("this process may lock {} MiB of memory", bytes >> 20))
        }
        (Some(false), Some(bytes)) => {
            (Verdict::Costs, format!("this process may lock only {} KiB of memory", bytes >> 10))
        }
        _ => (Verdict::Unknown, "how much memory this process may lock could not be read".to_owned()),
    };
    let draft = finding(FindingId::MemoryLock, verdict, found)
        .evidence(&process.status.evidence("CapEff"))
        .evidence(&limits.evidence("Max locked memory"))
        .why(
            "Memory that is not locked can be dropped or moved; the next access waits for a page fault. \
            mlockall fails when the limit is smaller than the program.",
        );
    let draft = draft.when(verdict == Verdict::Costs, |draft| grant_lock(root, draft));
    Some(draft.when(verdict == Verdict::Good, |draft| draft.apply(LOCK)).finish())
}

fn grant_lock(root: &Root, draft: FindingDraft) -> FindingDraft {
    match ContainerAdvice::detect(root) {
        Some(advice) => advice.capability(draft, "IPC_LOCK", "memlock=-1"),
        None => raise_limit(root, draft, "memlock", "unlimited"),
    }
}

/// Whether nice values below 0 are allowed.
pub(super) fn nice(root: &Root) -> Option<Finding> {
    let (process, limits) = (Process::read(root), Limits::read(root));
    // The limit is 20 less the nice value: getrlimit(2), RLIMIT_NICE.
    let ceiling = limits.soft("Max nice priority")?.min(40);
    let any_value = holds(&process, "CAP_SYS_NICE") == Some(true);
    let lowest = 20_i64 - i64::try_from(ceiling).unwrap_or(40);
    let (verdict, found) = match (any_value, lowest) {
        (true, _) | (false, -20) => (Verdict::Good, "this process may set any nice value".to_owned()),
        (false, 0..) => (Verdict::Note, "this process may not set nice values below 0".to_owned()),
        (false, _) => (Verdict::Note, format!("this process may set nice values down to {lowest}")),
    };
    let autogroup = root.reading(AUTOGROUP_FILE);
    let has_autogroup = autogroup.text() == Some("1");
    let found =
        if has_autogroup { format!("{found}, which counts within its session (autogroup)") } else { found };
    let draft =
        finding(FindingId::NicePermission, verdict, found).evidence(&limits.evidence("Max nice priority"));
    let draft = draft.when(has_autogroup, |draft| draft.evidence(&autogroup)).why(if has_autogroup {
        "A thread with nice -20 is preferred to other normal threads of its session; sessions share the CPUs evenly among them, whatever \
         the nice values of their threads (sched(7), the autogroup feature)."
    } else {
        "A thread with nice -20 is preferred to other normal threads: the next best thing where \
            real-time policies are refused."
    });
    let grant = |draft: FindingDraft| {
        let draft = draft.cost(
            "2.5 ms at p99 beside two busy threads, against 29 µs with nice -20",
            "measured by howlate's authors on Linux 6.18 in a virtual machine",
        );
        match ContainerAdvice::detect(root) {
            Some(advice) => advice.capability(draft, "SYS_NICE", "nice=40"),
            None => raise_limit(root, draft, "nice", "-20"),
        }
    };
    let draft = draft.when(verdict == Verdict::Note, grant);
    Some(draft.when(verdict == Verdict::Good, |draft| draft.apply("nice -n -20 PROGRAM …")).finish())
}

/// Whether a seccomp filter may refuse system calls despite the capability.
pub(super) fn seccomp(root: &Root) -> Option<Finding> {
    let process = Process::read(root);
    if process.status.field("Seccomp")? == "0" {
        return None;
    }
    let draft = finding(
        FindingId::Seccomp,
        Verdict::Note,
        "a seccomp filter decides which system calls this \
        process may make",
    )
    .evidence(&process.status.evidence("Seccomp"))
    .why(
        "A filter can refuse a call with EPERM even though the capability is held. Docker's default \
            lets the scheduling calls through, but refuses perf_event_open and bpf without their \
            capabilities.",
    );
    let draft = match ContainerAdvice::detect(root) {
        Some(advice) => advice.option(draft, "--security-opt seccomp=unconfined"),
        None => draft,
    };
    Some(draft.finish())
}

/// The capabilities of this process that matter for latency or for tracing.
pub(super) fn capabilities(root: &Root) -> Option<Finding> {
    let process = Process::read(root);
    process.holds("CAP_SYS_NICE")?;
    let (present, missing): (Vec<&str>, Vec<&str>) =
        CAPABILITIES.iter().map(|(name, _)| *name).partition(|name| holds(&process, name) == Some(true));
    let confined = process.in_user_namespace();
    let found = match (present.as_slice(), missing.as_slice()) {
        _ if confined => NAMESPACE.to_owned(),
        (_, []) => "this process holds every capability that matters here".to_owned(),
        ([], _) => "this process holds no capability that matters here".to_owned(),
        _ => format!("this process holds {}; it lacks {}", present.join(", "), missing.join(", ")),
    };
    let verdict = if missing.is_empty() { Verdict::Good } else { Verdict::Note };
    let draft = finding(FindingId::Capabilities, verdict, found)
        .evidence(&process.status.evidence("CapEff"))
        .when(confined, |draft| draft.evidence(&process.uid_map))
        .why(
            "CAP_SYS_NICE sets policies, CAP_IPC_LOCK locks memory; CAP_PERFMON and CAP_BPF, or \
            CAP_SYS_ADMIN, let howlate trace why a wake-up was late.",
        );
    Some(draft.finish())
}
