//! The CPU time that this control group may use up.

use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{Cgroup, CgroupVersion, CpuCgroups, CpuQuota, CpuStat, Isolation, Root, SELF};

use super::container::Advice;
use super::draft::{Draft, finding};

/// A quota of a group.
struct Quota {
    group: Cgroup,
    quota: CpuQuota,
}

impl Quota {
    fn read(root: &Root, group: Cgroup) -> Option<Self> {
        CpuQuota::read(root, &group).map(|quota| Self { group, quota })
    }

    /// CPUs' worth of time, in hundredths; no limit compares as the most.
    fn hundredths(&self) -> u64 {
        let hundredfold = self.quota.quota_us.map(|quota: u64| quota.saturating_mul(100));
        hundredfold.and_then(|quota| quota.checked_div(self.quota.period_us)).unwrap_or(u64::MAX)
    }

    /// CPUs' worth of time, for people.
    fn cpus(&self) -> String {
        format!("{}.{:02}", self.hundredths() / 100, self.hundredths() % 100)
    }

    /// The command that writes a quota.
    fn write(&self, quota: &str) -> String {
        let path = &self.quota.reading.path;
        match self.group.version {
            CgroupVersion::Two => format!("echo \"{quota} {}\" | sudo tee {path}", self.quota.period_us),
            CgroupVersion::One => format!("echo {quota} | sudo tee {path}"),
        }
    }
}

/// Periods, of 100 ms as a rule.
const SOME_MINUTES: u64 = 3_000;

/// The tightest quota of this group and those above it.
///
/// Source: `Documentation/scheduler/sched-bwc.rst`, `Documentation/admin-guide/cgroup-v2.rst`.
pub(super) fn examine(root: &Root) -> Option<Finding> {
    let groups = CpuCgroups::read(root, SELF).upwards().into_iter();
    let tightest = groups.filter_map(|group| Quota::read(root, group)).min_by_key(Quota::hundredths)?;
    let stat = CpuStat::read(root, &tightest.group);
    let draft = match tightest.quota.quota_us {
        None => finding(FindingId::CpuQuota, Verdict::Good, "this control group has no CPU quota"),
        Some(quota) => limited(&tightest, quota, &stat),
    };
    let draft = draft.seen(&tightest.quota.reading).seen(&stat.reading).why(
        "When the group has used up its quota, all its threads are stopped until the next period. \
            Several threads running at once use it up sooner. Real-time threads are exempt.",
    );
    Some(draft.when(tightest.quota.quota_us.is_some(), |draft| lift(root, draft, &tightest)).end())
}

fn limited(tightest: &Quota, quota: u64, stat: &CpuStat) -> Draft {
    let (name, cpus, period_us) = (tightest.group.name(), tightest.cpus(), tightest.quota.period_us);
    let count = |count: Option<u64>| count.unwrap_or(0);
    let stopped = format!("{} of {} periods", count(stat.throttled()), count(stat.periods()));
    // What was never used up in some minutes costs nothing so far.
    if count(stat.throttled()) == 0 && count(stat.periods()) >= SOME_MINUTES {
        let found =
            format!("this control group ({name}) may use {cpus} CPUs, which it has not used up so far");
        return finding(FindingId::CpuQuota, Verdict::Note, found);
    }
    let found = format!("this control group ({name}) may use {cpus} CPUs, and was stopped in {stopped}");
    let typical = match period_us.saturating_sub(quota) / 1000 {
        0 => format!("up to the rest of a period of {} ms", period_us / 1000),
        rest => format!("up to {rest} ms for a thread that runs alone, longer when several run"),
    };
    finding(FindingId::CpuQuota, Verdict::Costs, found)
        .typically(typical, "Documentation/scheduler/sched-bwc.rst; kubernetes/kubernetes issue 67577")
}

fn lift(root: &Root, draft: Draft, tightest: &Quota) -> Draft {
    let now = tightest.quota.quota_us.unwrap_or(0).to_string();
    match Advice::detect(root) {
        Some(advice) => {
            let isolation = Isolation::read(root);
            // Fewer CPUs than the machine has, and as many as the quota is for.
            let is_apart = !isolation.online.without(&isolation.allowed).is_empty();
            let is_whole = tightest.hundredths() == 100 * isolation.allowed.len() as u64;
            advice.quota(draft, &now, &tightest.cpus(), is_apart && is_whole)
        }
        None => match unit_of(&tightest.group) {
            Some(unit) => of_unit(draft, &unit, tightest),
            None => {
                let unlimited = if tightest.group.version == CgroupVersion::Two { "max" } else { "-1" };
                draft.apply(tightest.write(unlimited)).undo(tightest.write(&now))
            }
        },
    }
}

/// The unit of systemd that the group is of: systemd owns its files, and writes them again.
fn unit_of(group: &Cgroup) -> Option<String> {
    let name = group.name();
    let last = name.rsplit('/').next()?;
    let is_unit = [".service", ".scope", ".slice"].iter().any(|kind| last.ends_with(kind));
    (is_unit && group.version == CgroupVersion::Two).then(|| last.to_owned())
}

/// Source: `systemd.resource-control(5)`, `CPUQuota=`; `systemctl(1)`, `set-property`.
fn of_unit(draft: Draft, unit: &str, tightest: &Quota) -> Draft {
    let percent = tightest.hundredths();
    draft
        .apply(format!("sudo systemctl set-property --runtime {unit} CPUQuota="))
        .undo(format!("sudo systemctl set-property --runtime {unit} CPUQuota={percent}%"))
        .lasting(format!("sudo systemctl set-property {unit} CPUQuota="))
}
