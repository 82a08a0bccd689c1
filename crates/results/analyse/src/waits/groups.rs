//! Waits by group of processes, and by what had the CPU meanwhile.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use howlate_model::Span;

use super::accumulator::{WaitTable, WaitTotal, WaiterTotals};
use super::kind::WaitKind;
use super::reason::WaitReason;
use super::sum::CpuHolderTime;

/// A process that had a CPU for which others were ready.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuCulprit {
    /// The process; an idle CPU that had to wake up has no name.
    pub who: CpuHolderTime,
    /// The processes that waited for it meanwhile, the longest wait first.
    pub waiters: Vec<CpuHolderTime>,
    /// Share of all the time that was waited for CPUs.
    pub share: f64,
}

impl WaiterTotals {
    /// The time in which its threads did not wait: they ran.
    pub fn ran(&self) -> Span {
        self.waits.iter().fold(self.seen, |remaining, wait| remaining.minus(wait.sum.time))
    }
}

impl WaitTable {
    /// One row for each group that `group_of` puts processes into; those without one are left out.
    pub fn by_group<'a>(&self, group_of: impl Fn(&WaiterTotals) -> Option<&'a str>) -> Vec<WaiterTotals> {
        let mut groups: BTreeMap<&str, Vec<&WaiterTotals>> = BTreeMap::new();
        for process in &self.processes {
            group_of(process).into_iter().for_each(|group| groups.entry(group).or_default().push(process));
        }
        groups.into_iter().map(|(name, members)| join(name, &members)).collect()
    }

    /// What had CPUs for which others were ready, the longest first.
    pub fn culprits(&self) -> Vec<CpuCulprit> {
        let mut culprits: BTreeMap<&str, CpuCulprit> = BTreeMap::new();
        let mut all = Span::ZERO;
        for process in &self.processes {
            for wait in process.waits.iter().filter(|wait| wait.reason.kind == WaitKind::Cpu) {
                all = all.plus(wait.sum.time);
                for behind in &wait.behind {
                    let none = CpuHolderTime { time: Span::ZERO, ..behind.clone() };
                    let new = || CpuCulprit { who: none, waiters: Vec::new(), share: 0.0 };
                    let culprit = culprits.entry(&behind.name).or_insert_with(new);
                    add(&mut culprit.who, behind);
                    let time = behind.time;
                    culprit.waiters.push(CpuHolderTime {
                        name: process.name.clone(),
                        pid: process.pid,
                        time,
                    });
                }
            }
        }
        let mut culprits: Vec<CpuCulprit> = culprits.into_values().collect();
        for culprit in &mut culprits {
            culprit.waiters.sort_by_key(|waiter| Reverse(waiter.time));
            culprit.share = share(culprit.who.time, all);
        }
        culprits.sort_by_key(|culprit| Reverse(culprit.who.time));
        culprits
    }
}

fn join(name: &str, members: &[&WaiterTotals]) -> WaiterTotals {
    let seen = members.iter().fold(Span::ZERO, |sum, member| sum.plus(member.seen));
    let mut by_reason: BTreeMap<WaitReason, WaitTotal> = BTreeMap::new();
    for wait in members.iter().flat_map(|member| &member.waits) {
        match by_reason.get_mut(&wait.reason) {
            None => drop(by_reason.insert(wait.reason.clone(), wait.clone())),
            Some(total) => {
                total.sum.plus(&wait.sum);
                wait.behind.iter().for_each(|holder| add_holder(&mut total.behind, holder));
            }
        }
    }
    let mut waits: Vec<WaitTotal> = by_reason.into_values().collect();
    for wait in &mut waits {
        wait.share = share(wait.sum.time, seen);
        wait.behind.sort_by_key(|holder| Reverse(holder.time));
    }
    waits.sort_by_key(|wait| (wait.rank(), Reverse(wait.sum.time)));
    WaiterTotals {
        pid: None,
        tid: None,
        name: name.to_owned(),
        of_kernel: members.iter().all(|member| member.of_kernel),
        threads: members.iter().map(|member| member.threads).sum(),
        ended: 0,
        seen,
        waits,
    }
}

fn add_holder(all: &mut Vec<CpuHolderTime>, more: &CpuHolderTime) {
    match all.iter_mut().find(|holder| holder.name == more.name) {
        Some(sum) => add(sum, more),
        None => all.push(more.clone()),
    }
}

fn add(sum: &mut CpuHolderTime, more: &CpuHolderTime) {
    sum.time = sum.time.plus(more.time);
    sum.pid = sum.pid.filter(|pid| Some(*pid) == more.pid);
}

fn share(part: Span, whole: Span) -> f64 {
    if whole.is_zero() { 0.0 } else { (part.as_secs_f64() / whole.as_secs_f64()).min(1.0) }
}
