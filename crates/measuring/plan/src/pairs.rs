//! Which CPU notifies which.

use howlate_model::{Caveat, Combination, CombinationRefusal, Cpu, CpuSet, Placement};

use crate::{Machine, PlanError};

/// Pairs of CPUs to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Two cores behind one cache where there are any, else the next best.
    Nearest,
    /// One pair of each placement that there is.
    All,
    /// These: sender, receiver.
    These(Vec<(u32, u32)>),
}

/// Two CPUs, and where they are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) sender: u32,
    pub(crate) receiver: u32,
    pub(crate) placement: Placement,
}

/// Placements in the order in which one is chosen when nothing was asked for.
const NEAREST: [Placement; 5] = [
    Placement::SameCache,
    Placement::OtherCache,
    Placement::OtherNode,
    Placement::SmtSibling,
    Placement::SameCpu,
];

impl Pairs {
    /// The pairs among `usable` CPUs, and what cannot be had.
    pub(crate) fn choose(
        &self,
        usable: &CpuSet,
        machine: &Machine,
        cpus: &[Cpu],
    ) -> Result<(Vec<Pair>, Vec<Caveat>), PlanError> {
        let of = |placement| first_pair(placement, usable, cpus);
        let pairs: Vec<Pair> = match self {
            Self::Nearest => NEAREST.into_iter().find_map(of).into_iter().collect(),
            Self::All => Placement::ALL.into_iter().filter_map(of).collect(),
            Self::These(pairs) => {
                let used: CpuSet = pairs.iter().flat_map(|pair| [pair.0, pair.1]).collect();
                machine.check_cpus(&used)?;
                pairs.iter().map(|&(sender, receiver)| pair(sender, receiver, cpus)).collect()
            }
        };
        let across = pairs.iter().any(|pair| pair.placement != Placement::SameCpu);
        let impossible = !across && usable.len() < 2 && !matches!(self, Self::These(_));
        let left_out = impossible.then(|| Caveat::LeftOut {
            condition: Combination::AcrossCpus.into(),
            reason: CombinationRefusal::OneCpu { usable: usable.clone(), bindable: machine.bindable.clone() }
                .into(),
        });
        Ok((pairs, left_out.into_iter().collect()))
    }
}

/// The first pair with this placement, in order of CPU numbers.
fn first_pair(placement: Placement, usable: &CpuSet, cpus: &[Cpu]) -> Option<Pair> {
    let pairs = usable.iter().flat_map(|sender| usable.iter().map(move |receiver| (sender, receiver)));
    pairs.map(|(sender, receiver)| pair(sender, receiver, cpus)).find(|pair| pair.placement == placement)
}

fn pair(sender: u32, receiver: u32, cpus: &[Cpu]) -> Pair {
    Pair { sender, receiver, placement: placement(sender, receiver, cpus) }
}

/// Where two CPUs are to each other.
fn placement(one: u32, other: u32, cpus: &[Cpu]) -> Placement {
    let find = |number| cpus.iter().find(|cpu| cpu.number == number);
    match (find(one), find(other)) {
        _ if one == other => Placement::SameCpu,
        (Some(cpu), _) if cpu.siblings.contains(other) => Placement::SmtSibling,
        (Some(cpu), _) if cpu.cache.contains(other) => Placement::SameCache,
        (Some(Cpu { node: Some(one), .. }), Some(Cpu { node: Some(other), .. })) if one != other => {
            Placement::OtherNode
        }
        _ => Placement::OtherCache,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes of two caches of two cores of two threads: 0-15.
    fn topology() -> Vec<Cpu> {
        let set = |first: u32, count: u32| (first..first + count).collect::<CpuSet>();
        let cpu = |number: u32| Cpu {
            number,
            siblings: set(number / 2 * 2, 2),
            cache: set(number / 4 * 4, 4),
            node: Some(number / 8),
            ..Cpu::default()
        };
        (0..16).map(cpu).collect()
    }

    fn machine(bindable: &str) -> Machine {
        Machine { bindable: bindable.parse().unwrap(), ..crate::testing::machine() }
    }

    #[track_caller]
    fn check(pairs: &Pairs, usable: &str, expected: &[(u32, u32, &str)]) {
        let usable = usable.parse().unwrap();
        let (got, _) = pairs.choose(&usable, &machine("0-15"), &topology()).unwrap();
        let got: Vec<_> =
            got.iter().map(|pair| (pair.sender, pair.receiver, pair.placement.name())).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn pairs_are_named_by_topology() {
        check(
            &Pairs::All,
            "0-15",
            &[
                (0, 0, "same_cpu"),
                (0, 1, "smt_sibling"),
                (0, 2, "same_cache"),
                (0, 4, "other_cache"),
                (0, 8, "other_node"),
            ],
        );
        check(&Pairs::Nearest, "0-15", &[(0, 2, "same_cache")]);
        check(&Pairs::Nearest, "0,1", &[(0, 1, "smt_sibling")]);
        check(&Pairs::Nearest, "1,9", &[(1, 9, "other_node")]);
        check(&Pairs::Nearest, "3", &[(3, 3, "same_cpu")]);
        check(&Pairs::These(vec![(9, 1), (2, 3)]), "0-15", &[(9, 1, "other_node"), (2, 3, "smt_sibling")]);
    }

    #[test]
    fn one_cpu_is_told_and_a_missing_one_is_an_error() {
        let one: CpuSet = "3".parse().unwrap();
        assert_eq!(Pairs::All.choose(&one, &machine("3"), &[]).unwrap().1.len(), 1);
        let wrong = Pairs::These(vec![(3, 4)]).choose(&one, &machine("3"), &[]);
        assert!(matches!(wrong, Err(PlanError::NoSuchCpu { cpu: 4, .. })));
        let told = Pairs::Nearest.choose(&one, &machine("2-3"), &[]).unwrap().1;
        assert!(
            matches!(&told[..], [Caveat::LeftOut { reason, .. }] if reason.to_string().contains("--cpus 2-3"))
        );
    }
}
