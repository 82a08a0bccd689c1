//! Pairs of sender and receiver CPUs.

use howlate_model::{Caveat, Combination, CombinationRefusal, Cpu, CpuSet, Placement};

use crate::{PlanError, PlanMachine};

/// Choice of CPU pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuPairs {
    /// Two cores that share a cache if possible, else the next best pair.
    Nearest,
    /// One pair of each existing placement.
    All,
    /// Given pairs: sender, receiver.
    These(Vec<(u32, u32)>),
}

/// Two CPUs and their relative placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuPair {
    pub(crate) sender: u32,
    pub(crate) receiver: u32,
    pub(crate) placement: Placement,
}

/// Placements by preference, for [`CpuPairs::Nearest`].
const NEAREST: [Placement; 5] = [
    Placement::SameCache,
    Placement::OtherCache,
    Placement::OtherNode,
    Placement::SmtSibling,
    Placement::SameCpu,
];

impl CpuPairs {
    /// Chooses pairs among `usable` CPUs; also returns caveats for what is impossible.
    pub(crate) fn choose(
        &self,
        usable: &CpuSet,
        machine: &PlanMachine,
        cpus: &[Cpu],
    ) -> Result<(Vec<CpuPair>, Vec<Caveat>), PlanError> {
        let find = |placement| first_pair(placement, usable, cpus);
        let pairs: Vec<CpuPair> = match self {
            Self::Nearest => NEAREST.into_iter().find_map(find).into_iter().collect(),
            Self::All => Placement::ALL.into_iter().filter_map(find).collect(),
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

/// The first pair with this placement, by CPU number.
fn first_pair(placement: Placement, usable: &CpuSet, cpus: &[Cpu]) -> Option<CpuPair> {
    let pairs = usable.iter().flat_map(|sender| usable.iter().map(move |receiver| (sender, receiver)));
    pairs.map(|(sender, receiver)| pair(sender, receiver, cpus)).find(|pair| pair.placement == placement)
}

fn pair(sender: u32, receiver: u32, cpus: &[Cpu]) -> CpuPair {
    CpuPair { sender, receiver, placement: placement(sender, receiver, cpus) }
}

/// Placement of two CPUs relative to each other.
fn placement(sender: u32, receiver: u32, cpus: &[Cpu]) -> Placement {
    let find = |number| cpus.iter().find(|cpu| cpu.number == number);
    match (find(sender), find(receiver)) {
        _ if sender == receiver => Placement::SameCpu,
        (Some(cpu), _) if cpu.siblings.contains(receiver) => Placement::SmtSibling,
        (Some(cpu), _) if cpu.cache.contains(receiver) => Placement::SameCache,
        (Some(Cpu { node: Some(from), .. }), Some(Cpu { node: Some(to), .. })) if from != to => {
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

    fn machine(bindable: &str) -> PlanMachine {
        PlanMachine { bindable: bindable.parse().unwrap(), ..crate::testing::machine() }
    }

    #[track_caller]
    fn check(pairs: &CpuPairs, usable: &str, expected: &[(u32, u32, &str)]) {
        let usable = usable.parse().unwrap();
        let (got, _) = pairs.choose(&usable, &machine("0-15"), &topology()).unwrap();
        let got: Vec<_> =
            got.iter().map(|pair| (pair.sender, pair.receiver, pair.placement.name())).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn pairs_are_named_by_topology() {
        check(
            &CpuPairs::All,
            "0-15",
            &[
                (0, 0, "same_cpu"),
                (0, 1, "smt_sibling"),
                (0, 2, "same_cache"),
                (0, 4, "other_cache"),
                (0, 8, "other_node"),
            ],
        );
        check(&CpuPairs::Nearest, "0-15", &[(0, 2, "same_cache")]);
        check(&CpuPairs::Nearest, "0,1", &[(0, 1, "smt_sibling")]);
        check(&CpuPairs::Nearest, "1,9", &[(1, 9, "other_node")]);
        check(&CpuPairs::Nearest, "3", &[(3, 3, "same_cpu")]);
        check(&CpuPairs::These(vec![(9, 1), (2, 3)]), "0-15", &[(9, 1, "other_node"), (2, 3, "smt_sibling")]);
    }

    #[test]
    fn one_cpu_is_told_and_a_missing_one_is_an_error() {
        let single: CpuSet = "3".parse().unwrap();
        assert_eq!(CpuPairs::All.choose(&single, &machine("3"), &[]).unwrap().1.len(), 1);
        let wrong = CpuPairs::These(vec![(3, 4)]).choose(&single, &machine("3"), &[]);
        assert!(matches!(wrong, Err(PlanError::NoSuchCpu { cpu: 4, .. })));
        let left_out = CpuPairs::Nearest.choose(&single, &machine("2-3"), &[]).unwrap().1;
        assert!(
            matches!(&left_out[..], [Caveat::LeftOut { reason, .. }] if reason.to_string().contains("--cpus 2-3"))
        );
    }
}
