//! What this process may ask of the scheduler and of memory.

use crate::settings::AUTOGROUP_FILE;
use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{CgroupMembership, Limits, LinuxDistribution, Root, SELF, UNLIMITED, hypervisor};

use super::container::Advice;
use super::draft::{Draft, finding};
use crate::process::{CAPABILITIES, Process};

/// The priority that most real-time programs use.
const USUAL: u64 = 80;

const NAMESPACE: &str = "capabilities do not reach outside this user namespace";

/// Whether a capability counts where it is asked for: in the first user namespace.
fn holds(process: &Process, capability: &str) -> Option<bool> {
    process.holds(capability).map(|held| held && !process.in_user_namespace())
}

/// Whether real-time policies may be asked for: by capability, or up to `RLIMIT_RTPRIO`.
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
            format!("this process may not ask for real-time priorities: {}", lack(&process)),
        ),
        _ => (
            Verdict::Unknown,
            "whether this process may ask for real-time priorities could not be read".to_owned(),
        ),
    };
    let draft = finding(FindingId::RealtimePermission, verdict, found)
        .seen(&process.status.evidence("CapEff"))
        .seen(&limits.evidence("Max realtime priority"))
        .when(process.in_user_namespace(), |draft| draft.seen(&process.uid_map))
        .why(
            "SCHED_FIFO and SCHED_RR need CAP_SYS_NICE, or a limit on real-time priority above 0. \
            Without one of them a thread shares its CPU with every other.",
        );
    let draft = draft.when(verdict == Verdict::Blocks, |draft| grant_realtime(root, draft));
    Some(draft.when(verdict == Verdict::Good, |draft| draft.apply(as_realtime(&process, highest))).end())
}

/// Whether this process may have threads of a real-time policy, as far as its rights go.
pub(super) fn may_be_realtime(root: &Root) -> bool {
    realtime(root).is_some_and(|found| found.verdict == Verdict::Good)
}

/// How one runs who may: no higher than the limit.
fn as_realtime(process: &Process, highest: Option<u64>) -> String {
    let is_free = holds(process, "CAP_SYS_NICE") == Some(true);
    let priority = highest.filter(|_| !is_free).map_or(USUAL, |highest| highest.min(USUAL));
    format!("chrt --fifo {priority} PROGRAM …")
}

fn lack(process: &Process) -> String {
    match process.holds("CAP_SYS_NICE") {
        Some(true) => format!("{NAMESPACE}, and RLIMIT_RTPRIO is 0"),
        _ => "CAP_SYS_NICE is missing and RLIMIT_RTPRIO is 0".to_owned(),
    }
}

fn grant_realtime(root: &Root, draft: Draft) -> Draft {
    let draft = draft.typically(
        "2.5 ms at p99 beside two busy threads, against 20 µs with SCHED_FIFO",
        "measured by howlate's authors on Linux 6.18 in a virtual machine",
    );
    match Advice::detect(root) {
        Some(advice) => advice.capability(draft, "SYS_NICE", "rtprio=99"),
        None => raise_limit(root, draft, "rtprio", "99"),
    }
}

/// A drop-in of its own, so that undoing it is deleting a file: `limits.conf(5)`. Where nothing reads it, what takes its place.
fn raise_limit(root: &Root, draft: Draft, item: &str, value: &str) -> Draft {
    if LinuxDistribution::read(root) == LinuxDistribution::NixOs {
        let line = format!("{{ domain = \"*\"; item = \"{item}\"; type = \"-\"; value = \"{value}\"; }}");
        return draft
            .apply(format!(
                "add `{line}` to the list `security.pam.loginLimits` of configuration.nix, run `nixos-rebuild switch`, and {}",
                &again(root)["then ".len()..]
            ))
            .undo("remove it from configuration.nix and run `nixos-rebuild switch`");
    }
    // The limit of nice is 20 less the value: getrlimit(2).
    let number = if item == "nice" { "40" } else { value };
    let for_this_shell = |draft: Draft, more: &str| {
        draft
            .apply(format!(
                "sudo prlimit --pid $$ --{item}={number}   # for this shell and what it starts{more}"
            ))
            .undo(format!("sudo prlimit --pid $$ --{item}={}", before(root, item)))
    };
    // Shells of WSL are no logins.
    if hypervisor(root).is_some_and(|found| found.name == "wsl2") {
        return for_this_shell(draft, "");
    }
    // Logins of Alpine read no limits; what OpenRC starts has those of its settings.
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
    let again = again(root);
    draft
        .apply(format!("echo \"$(id -un) - {item} {value}\" | sudo tee {file}   # {again}"))
        .undo(format!("sudo rm {file}   # {again}"))
}

/// What makes a login's limits those of what runs. The manager of a user, which starts desktops, goes on for some seconds after the last
/// logout, and has its own until then.
///
/// Source: `logind.conf(5)`, `UserStopDelaySec=`.
fn again(root: &Root) -> &'static str {
    let groups = CgroupMembership::read(root, SELF);
    let is_of_manager = groups.reading.text().is_some_and(|groups| groups.contains("/user@"));
    if is_of_manager { "then restart" } else { "then log out and in" }
}

/// What the limit is now, as prlimit takes it.
fn before(root: &Root, item: &str) -> String {
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

/// What one does who may lock memory: mlockall(2).
const LOCK: &str = "in a program of your own, call `mlockall(MCL_CURRENT | MCL_FUTURE)` before its loop";

/// Whether memory may be locked, so that no page is fetched at the wrong moment.
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
        .seen(&process.status.evidence("CapEff"))
        .seen(&limits.evidence("Max locked memory"))
        .why(
            "Memory that is not locked can be dropped or moved; the next access waits for a page fault. \
            mlockall fails when the limit is smaller than the program.",
        );
    let draft = draft.when(verdict == Verdict::Costs, |draft| grant_lock(root, draft));
    Some(draft.when(verdict == Verdict::Good, |draft| draft.apply(LOCK)).end())
}

fn grant_lock(root: &Root, draft: Draft) -> Draft {
    match Advice::detect(root) {
        Some(advice) => advice.capability(draft, "IPC_LOCK", "memlock=-1"),
        None => raise_limit(root, draft, "memlock", "unlimited"),
    }
}

/// Whether an ordinary thread may be given more weight.
pub(super) fn nice(root: &Root) -> Option<Finding> {
    let (process, limits) = (Process::read(root), Limits::read(root));
    // The limit is 20 less the nice value: getrlimit(2), RLIMIT_NICE.
    let ceiling = limits.soft("Max nice priority")?.min(40);
    let free = holds(&process, "CAP_SYS_NICE") == Some(true);
    let lowest = 20_i64 - i64::try_from(ceiling).unwrap_or(40);
    let (verdict, found) = match (free, lowest) {
        (true, _) | (false, -20) => (Verdict::Good, "this process may set any nice value".to_owned()),
        (false, 0..) => (Verdict::Note, "this process may not set nice values below 0".to_owned()),
        (false, _) => (Verdict::Note, format!("this process may set nice values down to {lowest}")),
    };
    let autogroup = root.reading(AUTOGROUP_FILE);
    let in_groups = autogroup.text() == Some("1");
    let found =
        if in_groups { format!("{found}, which counts within its session (autogroup)") } else { found };
    let draft =
        finding(FindingId::NicePermission, verdict, found).seen(&limits.evidence("Max nice priority"));
    let draft = draft.when(in_groups, |draft| draft.seen(&autogroup)).why(if in_groups {
        "A thread with nice -20 is preferred to other ordinary threads of its session; sessions share the CPUs evenly among them, whatever \
         the nice values of their threads (sched(7), the autogroup feature)."
    } else {
        "A thread with nice -20 is preferred to other ordinary threads: the next best thing where \
            real-time policies are refused."
    });
    let grant = |draft: Draft| {
        let draft = draft.typically(
            "2.5 ms at p99 beside two busy threads, against 29 µs with nice -20",
            "measured by howlate's authors on Linux 6.18 in a virtual machine",
        );
        match Advice::detect(root) {
            Some(advice) => advice.capability(draft, "SYS_NICE", "nice=40"),
            None => raise_limit(root, draft, "nice", "-20"),
        }
    };
    let draft = draft.when(verdict == Verdict::Note, grant);
    Some(draft.when(verdict == Verdict::Good, |draft| draft.apply("nice -n -20 PROGRAM …")).end())
}

/// Whether a filter may refuse calls although the capability is there.
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
    .seen(&process.status.evidence("Seccomp"))
    .why(
        "A filter can refuse a call with EPERM even though the capability is held. Docker's default \
            lets the scheduling calls through, but refuses perf_event_open and bpf without their \
            capabilities.",
    );
    let advised = match Advice::detect(root) {
        Some(advice) => advice.option(draft, "--security-opt seccomp=unconfined"),
        None => draft,
    };
    Some(advised.end())
}

/// Which of the capabilities that matter this process holds.
pub(super) fn capabilities(root: &Root) -> Option<Finding> {
    let process = Process::read(root);
    process.holds("CAP_SYS_NICE")?;
    let (held, missing): (Vec<&str>, Vec<&str>) =
        CAPABILITIES.iter().map(|(name, _)| *name).partition(|name| holds(&process, name) == Some(true));
    let confined = process.in_user_namespace();
    let found = match (held.as_slice(), missing.as_slice()) {
        _ if confined => NAMESPACE.to_owned(),
        (_, []) => "this process holds every capability that matters here".to_owned(),
        ([], _) => "this process holds no capability that matters here".to_owned(),
        _ => format!("this process holds {}; it lacks {}", held.join(", "), missing.join(", ")),
    };
    let verdict = if missing.is_empty() { Verdict::Good } else { Verdict::Note };
    let draft = finding(FindingId::Capabilities, verdict, found)
        .seen(&process.status.evidence("CapEff"))
        .when(confined, |draft| draft.seen(&process.uid_map))
        .why(
            "CAP_SYS_NICE sets policies, CAP_IPC_LOCK locks memory; CAP_PERFMON and CAP_BPF, or \
            CAP_SYS_ADMIN, let howlate trace why a wake-up was late.",
        );
    Some(draft.end())
}
