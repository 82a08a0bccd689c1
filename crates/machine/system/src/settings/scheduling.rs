//! Scheduler and CPU topology.

use crate::settings::numbered_files::NumberedFiles;
use crate::settings::permanent::PermanentText;
use crate::settings::tunable::{Probe, Tunable};
use howlate_model::SettingScope;
use howlate_procfs::Root;

/// The preemption model, on kernels that can change it (`PREEMPT_DYNAMIC`).
///
/// Source: kernel/sched/core.c, `sched_dynamic_update`.
pub(crate) const PREEMPTION_MODEL: Tunable = Tunable {
    name: "preemption_model",
    scope: SettingScope::Machine,
    what: "the kernel can be preempted almost everywhere",
    cost: "a little throughput",
    probe: |root| Probe::file(root, PREEMPTION_MODEL_FILE, "full"),
    permanent: &[PermanentText::Line("boot", "preempt=full")],
};

pub(crate) const PREEMPTION_MODEL_FILE: &str = "/sys/kernel/debug/sched/preempt";

/// The CPU time budget of all real-time threads.
///
/// Source: `sched(7)`; since Linux 6.12 the fair server does this.
pub(crate) const RT_THROTTLING: Tunable = Tunable {
    name: "rt_throttling",
    scope: SettingScope::Machine,
    what: "real-time threads are never throttled",
    cost: "a real-time thread that never sleeps takes its CPU for good",
    probe: |root| Probe::file(root, RT_THROTTLING_FILE, "-1"),
    permanent: &[],
};

pub(crate) const RT_THROTTLING_FILE: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// CPU time reserved for normal threads that real-time threads starve.
///
/// Source: Linux commit d741f297, since 6.12.
pub(crate) const FAIR_SERVER: Tunable = Tunable {
    name: "fair_server",
    scope: SettingScope::Machine,
    what: "no time reserved for starving normal threads",
    cost: "a real-time thread that never sleeps takes its CPU for good",
    probe: |root| Probe::files(fair_server_runtimes(root).write("0")),
    permanent: &[],
};

/// Contains a folder for each CPU.
pub(crate) const FAIR_SERVER_FOLDER: &str = "/sys/kernel/debug/sched/fair_server";

/// The time reserved on each CPU, in nanoseconds per period.
pub(crate) fn fair_server_runtimes(root: &Root) -> NumberedFiles {
    NumberedFiles::list(root, FAIR_SERVER_FOLDER, "cpu", "runtime")
}

/// Whether a timer may be queued on another CPU than the one that sets it.
///
/// Source: kernel/sched/core.c, `get_nohz_timer_target`.
pub(crate) const TIMER_MIGRATION: Tunable = Tunable {
    name: "timer_migration",
    scope: SettingScope::Machine,
    what: "timers stay on the CPU that set them",
    cost: "idle CPUs wake for timers that others would have handled: power",
    probe: |root| Probe::file(root, TIMER_MIGRATION_FILE, "0"),
    permanent: &[],
};

pub(crate) const TIMER_MIGRATION_FILE: &str = "/proc/sys/kernel/timer_migration";

/// Simultaneous multithreading: the CPUs of a core compete for its units. Disabling it takes CPUs offline.
///
/// Source: Documentation/ABI/testing/sysfs-devices-system-cpu.
pub(crate) const SMT: Tunable = Tunable {
    name: "smt",
    scope: SettingScope::Machine,
    what: "no core is shared by two CPUs",
    cost: "half of the CPUs",
    probe: probe_smt,
    permanent: &[],
};

pub(crate) const SMT_CONTROL: &str = "/sys/devices/system/cpu/smt/control";

fn probe_smt(root: &Root) -> Probe {
    match root.read(SMT_CONTROL).as_deref() {
        Ok("on") => Probe::file(root, SMT_CONTROL, "off")
            .but_never_tried("it takes CPUs offline; keep the sibling of a CPU idle instead"),
        Ok("off" | "forceoff") => Probe::AsWanted("off".to_owned()),
        _ => Probe::Absent("no core of this machine is shared".to_owned()),
    }
}

/// CPUs reserved for a control group at run time, to which the scheduler moves no other threads.
///
/// Source: Documentation/admin-guide/cgroup-v2.rst, `cpuset.cpus.partition`.
pub(crate) const CPUSET_ISOLATION: Tunable = Tunable {
    name: "cpuset_isolation",
    scope: SettingScope::Machine,
    what: "CPUs reserved for one control group",
    cost: "fewer CPUs for everything else",
    probe: probe_cpuset_isolation,
    permanent: &[PermanentText::Line(
        "systemd",
        "AllowedCPUs=N, and `isolated` in cpuset.cpus.partition of the unit's control group",
    )],
};

/// Never tried: it takes a control group and moving the thread there, not just a file that can be restored.
fn probe_cpuset_isolation(root: &Root) -> Probe {
    let controllers = root.read("/sys/fs/cgroup/cgroup.controllers").unwrap_or_default();
    match controllers.split_whitespace().any(|controller| controller == "cpuset") {
        true => Probe::never_tried("the program would need a control group of its own; howlate creates none"),
        false => Probe::Absent("this machine has no cgroup v2 cpuset controller".to_owned()),
    }
}

/// Whether each terminal session is scheduled as one group, so that nice values count only within it.
///
/// Source: `sched(7)`, the autogroup feature.
pub(crate) const AUTOGROUP: Tunable = Tunable {
    name: "autogroup",
    scope: SettingScope::Machine,
    what: "nice values apply across sessions",
    cost: "a session with many threads takes more of the CPU",
    probe: |root| Probe::file(root, AUTOGROUP_FILE, "0"),
    permanent: &[],
};

pub(crate) const AUTOGROUP_FILE: &str = "/proc/sys/kernel/sched_autogroup_enabled";
