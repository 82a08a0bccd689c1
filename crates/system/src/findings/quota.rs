//! The CPU time that this control group may use up.

use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{Reading, Root};

use super::container::Advice;
use super::draft::{Draft, finding};
use crate::cgroup::{Cgroup, Version};

/// A quota of a group, with the file it was read from.
struct Quota {
    group: Cgroup,
    reading: Reading,
    /// Microseconds of CPU time; `None` means no limit.
    quota_us: Option<u64>,
    period_us: u64,
}

impl Quota {
    /// `cpu.max` holds quota and period, `cpu.cfs_quota_us` the quota alone.
    fn of(root: &Root, group: Cgroup) -> Option<Self> {
        let (reading, period_us) = match group.version {
            Version::Two => {
                let reading = root.reading(group.file("cpu.max"));
                let period = reading.text().and_then(|text| text.split_whitespace().nth(1)?.parse().ok());
                (reading, period)
            }
            Version::One => {
                let period = root.reading(group.file("cpu.cfs_period_us")).number();
                (root.reading(group.file("cpu.cfs_quota_us")), period)
            }
        };
        let quota_us = reading.text()?.split_whitespace().next()?.parse().ok();
        Some(Self { group, reading, quota_us, period_us: period_us.unwrap_or(100_000) })
    }

    /// CPUs' worth of time, in hundredths; no limit compares as the most.
    fn hundredths(&self) -> u64 {
        let hundredfold = self.quota_us.map(|quota: u64| quota.saturating_mul(100));
        hundredfold.and_then(|quota| quota.checked_div(self.period_us)).unwrap_or(u64::MAX)
    }

    /// CPUs' worth of time, for people.
    fn cpus(&self) -> String {
        format!("{}.{:02}", self.hundredths() / 100, self.hundredths() % 100)
    }

    /// The command that writes a quota.
    fn write(&self, quota: &str) -> String {
        let path = &self.reading.path;
        match self.group.version {
            Version::Two => format!("echo \"{quota} {}\" | sudo tee {path}", self.period_us),
            Version::One => format!("echo {quota} | sudo tee {path}"),
        }
    }
}

/// The tightest quota of this group and those above it.
///
/// Source: `Documentation/scheduler/sched-bwc.rst`, `Documentation/admin-guide/cgroup-v2.rst`.
pub(super) fn examine(root: &Root) -> Option<Finding> {
    let groups = [Cgroup::v1(root), Cgroup::v2(root)].into_iter().flatten().flat_map(|group| group.upwards());
    let tightest = groups.filter_map(|group| Quota::of(root, group)).min_by_key(Quota::hundredths)?;
    let stat = root
        .reading(tightest.group.file("cpu.stat"))
        .lines(|line| line.starts_with("nr_") || line.starts_with("throttled"));
    let draft = match tightest.quota_us {
        None => finding(FindingId::CpuQuota, Verdict::Good, "this control group has no CPU quota"),
        Some(quota) => limited(&tightest, quota, &stat),
    };
    let draft = draft.seen(&tightest.reading).seen(&stat).why(
        "When the group has used up its quota, all its threads are stopped until the next period. \
            Several threads running at once use it up sooner. Real-time threads are exempt.",
    );
    Some(draft.when(tightest.quota_us.is_some(), |draft| lift(root, draft, &tightest)).end())
}

fn limited(tightest: &Quota, quota: u64, stat: &Reading) -> Draft {
    let count = |name: &str| {
        let lines = stat.text().unwrap_or_default().lines();
        lines.filter_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).next().unwrap_or(0)
    };
    let (name, cpus) = (tightest.group.name(), tightest.cpus());
    let stopped = format!("{} of {} periods", count("nr_throttled "), count("nr_periods "));
    let found = format!("this control group ({name}) may use {cpus} CPUs, and was stopped in {stopped}");
    let typical = match tightest.period_us.saturating_sub(quota) / 1000 {
        0 => format!("up to the rest of a period of {} ms", tightest.period_us / 1000),
        rest => format!("up to {rest} ms for a thread that runs alone, longer when several run"),
    };
    finding(FindingId::CpuQuota, Verdict::Costs, found)
        .typically(typical, "Documentation/scheduler/sched-bwc.rst; kubernetes/kubernetes issue 67577")
}

fn lift(root: &Root, draft: Draft, tightest: &Quota) -> Draft {
    let now = tightest.quota_us.unwrap_or(0).to_string();
    match Advice::of(root) {
        Some(advice) => advice.quota(draft, &now, &tightest.cpus()),
        None => {
            let unlimited = if tightest.group.version == Version::Two { "max" } else { "-1" };
            draft.apply(tightest.write(unlimited)).undo(tightest.write(&now))
        }
    }
}
