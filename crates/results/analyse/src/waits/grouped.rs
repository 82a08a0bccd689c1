//! The same waits by whom they belong to, and by who had the CPU meanwhile.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use howlate_model::Span;

use super::accumulator::{Table, Wait, Waiter};
use super::kind::WaitKind;
use super::reason::Reason;
use super::sum::Behind;

/// Who had a CPU for which others were ready.
#[derive(Clone, Debug, PartialEq)]
pub struct Culprit {
    /// The process; an idle CPU that had to wake up has no name.
    pub who: Behind,
    /// The processes that waited for it meanwhile, the longest wait first.
    pub waiters: Vec<Behind>,
    /// The part of all the time that was waited for CPUs.
    pub share: f64,
}

impl Waiter {
    /// The time in which its threads did not wait: they ran.
    pub fn ran(&self) -> Span {
        self.waits.iter().fold(self.seen, |left, wait| left.minus(wait.sum.time))
    }
}

impl Table {
    /// A waiter for each group that `group_of` puts processes into; those without one are left out.
    pub fn by_group<'a>(&self, group_of: impl Fn(&Waiter) -> Option<&'a str>) -> Vec<Waiter> {
        let mut groups: BTreeMap<&str, Vec<&Waiter>> = BTreeMap::new();
        for process in &self.processes {
            group_of(process).into_iter().for_each(|group| groups.entry(group).or_default().push(process));
        }
        groups.into_iter().map(|(name, members)| joined(name, &members)).collect()
    }

    /// Who had CPUs for which others were ready, the longest first.
    pub fn culprits(&self) -> Vec<Culprit> {
        let mut culprits: BTreeMap<&str, Culprit> = BTreeMap::new();
        let mut all = Span::ZERO;
        for process in &self.processes {
            for wait in process.waits.iter().filter(|wait| wait.reason.kind == WaitKind::Cpu) {
                all = all.plus(wait.sum.time);
                for behind in &wait.behind {
                    let none = Behind { time: Span::ZERO, ..behind.clone() };
                    let new = || Culprit { who: none, waiters: Vec::new(), share: 0.0 };
                    let culprit = culprits.entry(&behind.name).or_insert_with(new);
                    add(&mut culprit.who, behind);
                    let time = behind.time;
                    culprit.waiters.push(Behind { name: process.name.clone(), pid: process.pid, time });
                }
            }
        }
        let mut culprits: Vec<Culprit> = culprits.into_values().collect();
        for one in &mut culprits {
            one.waiters.sort_by_key(|waiter| Reverse(waiter.time));
            one.share = share(one.who.time, all);
        }
        culprits.sort_by_key(|one| Reverse(one.who.time));
        culprits
    }
}

fn joined(name: &str, members: &[&Waiter]) -> Waiter {
    let seen = members.iter().fold(Span::ZERO, |sum, one| sum.plus(one.seen));
    let mut by_reason: BTreeMap<Reason, Wait> = BTreeMap::new();
    for wait in members.iter().flat_map(|one| &one.waits) {
        match by_reason.get_mut(&wait.reason) {
            None => drop(by_reason.insert(wait.reason.clone(), wait.clone())),
            Some(known) => {
                known.sum.plus(&wait.sum);
                wait.behind.iter().for_each(|behind| add_behind(&mut known.behind, behind));
            }
        }
    }
    let mut waits: Vec<Wait> = by_reason.into_values().collect();
    for wait in &mut waits {
        wait.share = share(wait.sum.time, seen);
        wait.behind.sort_by_key(|one| Reverse(one.time));
    }
    waits.sort_by_key(|one| (one.place(), Reverse(one.sum.time)));
    Waiter {
        pid: None,
        tid: None,
        name: name.to_owned(),
        of_kernel: members.iter().all(|one| one.of_kernel),
        threads: members.iter().map(|one| one.threads).sum(),
        ended: 0,
        seen,
        waits,
    }
}

fn add_behind(all: &mut Vec<Behind>, more: &Behind) {
    match all.iter_mut().find(|one| one.name == more.name) {
        Some(known) => add(known, more),
        None => all.push(more.clone()),
    }
}

fn add(known: &mut Behind, more: &Behind) {
    known.time = known.time.plus(more.time);
    known.pid = known.pid.filter(|pid| Some(*pid) == more.pid);
}

fn share(part: Span, whole: Span) -> f64 {
    if whole.is_zero() { 0.0 } else { (part.as_secs_f64() / whole.as_secs_f64()).min(1.0) }
}
