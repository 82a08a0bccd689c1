//! The CPU quota of this control group.

use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{Cgroup, CgroupVersion, CpuCgroups, CpuQuota, CpuStat, Isolation, Root, SELF};

use super::container::ContainerAdvice;
use super::draft::{FindingDraft, finding};

/// A control group and its CPU quota.
struct QuotaSetting {
    group: Cgroup,
    quota: CpuQuota,
}

impl QuotaSetting {
    fn read(root: &Root, group: Cgroup) -> Option<Self> {
        CpuQuota::read(root, &group).map(|quota| Self { group, quota })
    }

    /// The quota in hundredths of a CPU; `u64::MAX` without a limit.
    fn hundredths(&self) -> u64 {
        let hundredfold = self.quota.quota_us.map(|quota: u64| quota.saturating_mul(100));
        hundredfold.and_then(|quota| quota.checked_div(self.quota.period_us)).unwrap_or(u64::MAX)
    }

    /// The quota in CPUs, with two decimals.
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

/// Five minutes in periods, which are 100 ms by default.
const FIVE_MINUTES: u64 = 3_000;

/// The tightest quota of this group and those above it.
///
/// Source: `Documentation/scheduler/sched-bwc.rst`, `Documentation/admin-guide/cgroup-v2.rst`.
pub(super) fn examine(root: &Root) -> Option<Finding> {
    let groups = CpuCgroups::read(root, SELF).upwards().into_iter();
    let tightest =
        groups.filter_map(|group| QuotaSetting::read(root, group)).min_by_key(QuotaSetting::hundredths)?;
    let stat = CpuStat::read(root, &tightest.group);
    let draft = match tightest.quota.quota_us {
        None => finding(FindingId::CpuQuota, Verdict::Good, "this control group has no CPU quota"),
        Some(quota) => limited_group(&tightest, quota, &stat),
    };
    let draft = draft.evidence(&tightest.quota.reading).evidence(&stat.reading).why(
        "When the group has used up its quota, all its threads are stopped until the next period. \
            Several threads running at once use it up sooner. Real-time threads are exempt.",
    );
    Some(draft.when(tightest.quota.quota_us.is_some(), |draft| remove_quota(root, draft, &tightest)).finish())
}

fn limited_group(tightest: &QuotaSetting, quota: u64, stat: &CpuStat) -> FindingDraft {
    let (name, cpus, period_us) = (tightest.group.name(), tightest.cpus(), tightest.quota.period_us);
    let count = |count: Option<u64>| count.unwrap_or(0);
    let stopped = format!("{} of {} periods", count(stat.throttled()), count(stat.periods()));
    // A quota that was never used up in five minutes costs nothing so far.
    if count(stat.throttled()) == 0 && count(stat.periods()) >= FIVE_MINUTES {
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
        .cost(typical, "Documentation/scheduler/sched-bwc.rst; kubernetes/kubernetes issue 67577")
}

fn remove_quota(root: &Root, draft: FindingDraft, tightest: &QuotaSetting) -> FindingDraft {
    let now = tightest.quota.quota_us.unwrap_or(0).to_string();
    match ContainerAdvice::detect(root) {
        Some(advice) => {
            let isolation = Isolation::read(root);
            // Exclusive CPUs: fewer than the machine has, and as many as the quota.
            let is_confined = !isolation.online.without(&isolation.allowed).is_empty();
            let matches_quota = tightest.hundredths() == 100 * isolation.allowed.len() as u64;
            advice.quota(draft, &now, &tightest.cpus(), is_confined && matches_quota)
        }
        None => match unit_of(&tightest.group) {
            Some(unit) => set_unit_quota(draft, &unit, tightest),
            None => {
                let unlimited = if tightest.group.version == CgroupVersion::Two { "max" } else { "-1" };
                draft.apply(tightest.write(unlimited)).undo(tightest.write(&now))
            }
        },
    }
}

/// The systemd unit of the group; systemd owns its files, and overwrites them. `None` for other groups.
fn unit_of(group: &Cgroup) -> Option<String> {
    let name = group.name();
    let last = name.rsplit('/').next()?;
    let is_unit = [".service", ".scope", ".slice"].iter().any(|kind| last.ends_with(kind));
    (is_unit && group.version == CgroupVersion::Two).then(|| last.to_owned())
}

/// Source: `systemd.resource-control(5)`, `CPUQuota=`; `systemctl(1)`, `set-property`.
fn set_unit_quota(draft: FindingDraft, unit: &str, tightest: &QuotaSetting) -> FindingDraft {
    let percent = tightest.hundredths();
    draft
        .apply(format!("sudo systemctl set-property --runtime {unit} CPUQuota="))
        .undo(format!("sudo systemctl set-property --runtime {unit} CPUQuota={percent}%"))
        .lasting(format!("sudo systemctl set-property {unit} CPUQuota="))
}
