//! Whether this control group may run real-time threads at all.

use howlate_model::{Finding, FindingId, GroupWithoutRealtime, Verdict};
use howlate_procfs::{
    Cgroup, CgroupMembership, CommandLine, CpuCgroups, CpuQuota, Kernel, Reading, Root, SELF, container,
};

use super::container::Advice;
use super::draft::{Draft, finding};
use super::period::every;
use crate::kernel_config::KernelConfig;

const ID: FindingId = FindingId::RtGroupScheduling;
const BUILD: &str = "CONFIG_RT_GROUP_SCHED";
const WHY: &str = "This kernel divides real-time running time among control groups. A group without any \
    is refused SCHED_FIFO and SCHED_RR with EPERM, whatever its capabilities.";

/// A group of cgroup v1 shows its share; in cgroup v2 there is none to show, and groups
/// below the top have nothing.
///
/// Source: `Documentation/scheduler/sched-rt-group.rst`, `Documentation/admin-guide/cgroup-v2.rst`.
pub(super) fn examine(root: &Root) -> Option<Finding> {
    if let Some(group) = CpuCgroups::read(root, SELF).v1 {
        let share = root.reading(group.file("cpu.rt_runtime_us"));
        if !share.is_missing() {
            return Some(by_share(root, &group, &share));
        }
    }
    match enabled(root) {
        Some(true) => Some(by_unified(root)),
        Some(false) => Some(not_divided(root)),
        None => by_guess(root),
    }
}

/// The control group of a process in which it may run no real-time thread, because the kernel divides their running time among groups
/// and that one has none.
pub fn group_without_realtime(root: &Root, process: u32) -> Option<GroupWithoutRealtime> {
    let groups = CpuCgroups::read(root, process);
    if let Some(group) = &groups.v1 {
        let file = group.file("cpu.rt_runtime_us");
        let share: Option<i64> = root.reading(&file).number();
        return (share == Some(0))
            .then(|| GroupWithoutRealtime { group: group.name().to_owned(), file: Some(file) });
    }
    let group = groups.v2.filter(|_| enabled(root) == Some(true))?;
    let controlled = group.upwards().into_iter().find(|group| root.has(&CpuQuota::file(group)))?;
    Some(GroupWithoutRealtime { group: controlled.name().to_owned(), file: None })
}

/// Whether the kernel divides real-time running time among groups; `None` when that cannot
/// be told. The share file exists only where it does.
pub(super) fn divides(root: &Root) -> Option<bool> {
    let shown =
        CpuCgroups::read(root, SELF).v1.is_some_and(|group| root.has(&group.file("cpu.rt_runtime_us")));
    if shown { Some(true) } else { enabled(root) }
}

/// `None` when the kernel's build cannot be read. Since Linux 6.16 a kernel may have it
/// built in and switched off.
fn enabled(root: &Root) -> Option<bool> {
    let (config, line) = (KernelConfig::read(root), CommandLine::read(root));
    let by_default = config.has("CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED") != Some(true);
    let switched_on = match line.value("rt_group_sched") {
        Some("0") => false,
        Some("1") => true,
        _ => by_default,
    };
    config.has(BUILD).map(|built| built && switched_on)
}

fn evidence(root: &Root, draft: Draft) -> Draft {
    draft.seen(&own_groups(root)).seen(&KernelConfig::read(root).only(&[BUILD]))
}

/// The lines about the hierarchies that divide CPU time.
fn own_groups(root: &Root) -> Reading {
    CgroupMembership::read(root, SELF).cpu_time_lines()
}

fn by_share(root: &Root, group: &Cgroup, share: &Reading) -> Finding {
    let period = root.reading(group.file("cpu.rt_period_us"));
    let Some(budget) = share.number::<i64>() else {
        return unknown(root).seen(share).end();
    };
    let (name, whole) = (group.name(), period.number::<i64>().unwrap_or(1_000_000) / 1000);
    let draft = if budget == 0 {
        finding(ID, Verdict::Blocks, format!("this control group ({name}) has no real-time running time"))
    } else {
        let runs = format!("may run real-time threads for {} ms of {}", budget / 1000, every(whole));
        finding(ID, Verdict::Good, format!("this control group ({name}) {runs}"))
    };
    let draft = draft.seen(share).seen(&period).seen(&own_groups(root)).why(WHY);
    draft.when(budget == 0, |draft| mend_share(root, draft, group)).end()
}

fn mend_share(root: &Root, draft: Draft, group: &Cgroup) -> Draft {
    if let Some(advice) = Advice::detect(root) {
        return advice.realtime_share(draft);
    }
    let (top, own) = (format!("{}/tasks", group.mount), group.file("tasks"));
    draft
        .apply(format!("echo $$ | sudo tee {top}   # moves this shell to the top group"))
        .undo(format!("echo $$ | sudo tee {own}"))
}

fn by_unified(root: &Root) -> Finding {
    // Where a v1 hierarchy divides CPU time, the unified one says nothing about it.
    let by_v1 = CgroupMembership::read(root, SELF).v1("cpu").is_some();
    let Some(group) = CpuCgroups::read(root, SELF).v2.filter(|_| !by_v1) else {
        return unknown(root).end();
    };
    match group.upwards().into_iter().find(|group| root.has(&CpuQuota::file(group))) {
        Some(controlled) => refused(root, &controlled),
        None => top(root),
    }
}

fn refused(root: &Root, group: &Cgroup) -> Finding {
    let found = "real-time threads are refused: the kernel divides their time among control groups, and \
        cgroup v2 gives this group none";
    let draft =
        evidence(root, finding(ID, Verdict::Blocks, found)).seen(&root.reading(CpuQuota::file(group)));
    mend_unified(root, draft.why(WHY), group).end()
}

fn top(root: &Root) -> Finding {
    let found = "real-time running time is divided among control groups; this process is in the top \
        group, which has some";
    evidence(root, finding(ID, Verdict::Note, found)).why(WHY).end()
}

fn mend_unified(root: &Root, draft: Draft, group: &Cgroup) -> Draft {
    let draft = draft.typically(
        "every request for SCHED_FIFO or SCHED_RR fails with EPERM",
        "siderolabs/pkgs issue 1484; Documentation/admin-guide/cgroup-v2.rst",
    );
    // The switch came with Linux 6.16.
    if Kernel::read(root).at_least(6, 16) == Some(true) {
        return draft.boot(root, "rt_group_sched=0");
    }
    if container(root).is_some() {
        return draft
            .apply(
                "boot the host with a kernel built without CONFIG_RT_GROUP_SCHED, or with cgroup v1 \
                (`systemd.unified_cgroup_hierarchy=0`) and `docker run --cpu-rt-runtime=950000`; no \
                option of Docker helps on cgroup v2",
            )
            .undo("boot the host as before");
    }
    draft
        .apply(format!(
            "echo $$ | sudo tee {}/cgroup.procs   # moves this shell to the top group",
            group.mount
        ))
        .undo(format!("echo $$ | sudo tee {}", group.file("cgroup.procs")))
}

fn not_divided(root: &Root) -> Finding {
    evidence(root, finding(ID, Verdict::Good, "real-time running time is not divided among control groups"))
        .why("Permission to run real-time threads depends on capabilities and limits alone.")
        .end()
}

/// Without the build's configuration only a group with its own CPU settings is suspect.
fn by_guess(root: &Root) -> Option<Finding> {
    let group = CpuCgroups::read(root, SELF).v2?;
    let controlled = group.upwards().into_iter().any(|group| root.has(&CpuQuota::file(&group)));
    controlled.then(|| unknown(root).end())
}

fn unknown(root: &Root) -> Draft {
    let found = "whether this control group may run real-time threads could not be read";
    evidence(root, finding(ID, Verdict::Unknown, found))
        .why(
            "A kernel built with CONFIG_RT_GROUP_SCHED refuses SCHED_FIFO and SCHED_RR with EPERM to \
            control groups without real-time running time, whatever their capabilities.",
        )
        .apply("chrt -f 1 true && echo allowed   # tries it")
        .undo("nothing to undo: `true` ends at once")
}
