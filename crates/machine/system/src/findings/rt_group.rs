//! Whether this control group may run real-time threads at all.

use howlate_model::{Finding, FindingId, GroupWithoutRealtime, Verdict};
use howlate_procfs::{
    Cgroup, CgroupMembership, CommandLine, CpuCgroups, CpuQuota, Kernel, Reading, Root, SELF, container,
};

use super::container::ContainerAdvice;
use super::draft::{FindingDraft, finding};
use crate::kernel_config::KernelConfig;

const ID: FindingId = FindingId::RtGroupScheduling;
const BUILD: &str = "CONFIG_RT_GROUP_SCHED";
const WHY: &str = "This kernel divides real-time running time among control groups. A group without any \
    is refused SCHED_FIFO and SCHED_RR with EPERM, whatever its capabilities.";

/// In cgroup v1 a group shows its real-time budget; in cgroup v2 groups other than the root have none.
///
/// Source: `Documentation/scheduler/sched-rt-group.rst`, `Documentation/admin-guide/cgroup-v2.rst`.
pub(super) fn examine(root: &Root) -> Option<Finding> {
    if let Some(group) = CpuCgroups::read(root, SELF).v1 {
        let share = root.reading(group.file("cpu.rt_runtime_us"));
        if !share.is_missing() {
            return Some(v1_group(root, &group, &share));
        }
    }
    match enabled(root) {
        Some(true) => Some(v2_group(root)),
        Some(false) => Some(not_group_scheduled(root)),
        None => guess_by_controller(root),
    }
}

/// The control group that keeps a process from real-time threads, as `CONFIG_RT_GROUP_SCHED` gives it no running time;
/// `None` if it has some.
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

/// Whether the kernel divides real-time running time among groups; `None` if unknown. Only then a group of cgroup v1 has
/// the file of its budget.
pub(super) fn is_group_scheduled(root: &Root) -> Option<bool> {
    let has_budget_file =
        CpuCgroups::read(root, SELF).v1.is_some_and(|group| root.has(&group.file("cpu.rt_runtime_us")));
    if has_budget_file { Some(true) } else { enabled(root) }
}

/// Whether it is built in and switched on; `None` if the kernel's configuration cannot be read. Since Linux 6.16 it can be
/// switched off at boot.
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

fn add_evidence(root: &Root, draft: FindingDraft) -> FindingDraft {
    draft.evidence(&own_groups(root)).evidence(&KernelConfig::read(root).only(&[BUILD]))
}

/// The lines of `/proc/self/cgroup` about CPU controllers.
fn own_groups(root: &Root) -> Reading {
    CgroupMembership::read(root, SELF).cpu_time_lines()
}

fn v1_group(root: &Root, group: &Cgroup, share: &Reading) -> Finding {
    let period = root.reading(group.file("cpu.rt_period_us"));
    let Some(budget) = share.number::<i64>() else {
        return unreadable(root).evidence(share).finish();
    };
    let (name, period_ms) = (group.name(), period.number::<i64>().unwrap_or(1_000_000) / 1000);
    let draft = if budget == 0 {
        finding(ID, Verdict::Blocks, format!("this control group ({name}) has no real-time running time"))
    } else {
        let runs =
            format!("may run real-time threads for {} ms of {}", budget / 1000, describe_period(period_ms));
        finding(ID, Verdict::Good, format!("this control group ({name}) {runs}"))
    };
    let draft = draft.evidence(share).evidence(&period).evidence(&own_groups(root)).why(WHY);
    draft.when(budget == 0, |draft| v1_remedy(root, draft, group)).finish()
}

fn v1_remedy(root: &Root, draft: FindingDraft, group: &Cgroup) -> FindingDraft {
    if let Some(advice) = ContainerAdvice::detect(root) {
        return advice.realtime_share(draft);
    }
    let (top, own) = (format!("{}/tasks", group.mount), group.file("tasks"));
    draft
        .apply(format!("echo $$ | sudo tee {top}   # moves this shell to the top group"))
        .undo(format!("echo $$ | sudo tee {own}"))
}

fn v2_group(root: &Root) -> Finding {
    // With a CPU controller of cgroup v1, cgroup v2 does not show this.
    let has_v1_controller = CgroupMembership::read(root, SELF).v1("cpu").is_some();
    let Some(group) = CpuCgroups::read(root, SELF).v2.filter(|_| !has_v1_controller) else {
        return unreadable(root).finish();
    };
    match group.upwards().into_iter().find(|group| root.has(&CpuQuota::file(group))) {
        Some(controlled) => refused_by_v2(root, &controlled),
        None => root_group(root),
    }
}

fn refused_by_v2(root: &Root, group: &Cgroup) -> Finding {
    let found = "real-time threads are refused: the kernel divides their time among control groups, and \
        cgroup v2 gives this group none";
    let draft = add_evidence(root, finding(ID, Verdict::Blocks, found))
        .evidence(&root.reading(CpuQuota::file(group)));
    v2_remedy(root, draft.why(WHY), group).finish()
}

fn root_group(root: &Root) -> Finding {
    let found = "real-time running time is divided among control groups; this process is in the top \
        group, which has some";
    add_evidence(root, finding(ID, Verdict::Note, found)).why(WHY).finish()
}

fn v2_remedy(root: &Root, draft: FindingDraft, group: &Cgroup) -> FindingDraft {
    let draft = draft.cost(
        "every request for SCHED_FIFO or SCHED_RR fails with EPERM",
        "siderolabs/pkgs issue 1484; Documentation/admin-guide/cgroup-v2.rst",
    );
    // The switch came with Linux 6.16.
    if Kernel::read(root).at_least(6, 16) == Some(true) {
        return draft.kernel_parameter(root, "rt_group_sched=0");
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

fn not_group_scheduled(root: &Root) -> Finding {
    add_evidence(
        root,
        finding(ID, Verdict::Good, "real-time running time is not divided among control groups"),
    )
    .why("Permission to run real-time threads depends on capabilities and limits alone.")
    .finish()
}

/// Without the kernel's configuration, `Unknown` for a group with a CPU controller.
fn guess_by_controller(root: &Root) -> Option<Finding> {
    let group = CpuCgroups::read(root, SELF).v2?;
    let controlled = group.upwards().into_iter().any(|group| root.has(&CpuQuota::file(&group)));
    controlled.then(|| unreadable(root).finish())
}

fn unreadable(root: &Root) -> FindingDraft {
    let found = "whether this control group may run real-time threads could not be read";
    add_evidence(root, finding(ID, Verdict::Unknown, found))
        .why(
            "A kernel built with CONFIG_RT_GROUP_SCHED refuses SCHED_FIFO and SCHED_RR with EPERM to \
            control groups without real-time running time, whatever their capabilities.",
        )
        .apply("chrt -f 1 true && echo allowed   # tries it")
        .undo("nothing to undo: `true` ends at once")
}

/// `every second`, `every 500 ms`.
pub(super) fn describe_period(millis: impl Into<i128>) -> String {
    match millis.into() {
        1000 => "every second".to_owned(),
        millis => format!("every {millis} ms"),
    }
}
