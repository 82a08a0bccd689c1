//! How long the threads of each group waited, all minutes together.

use std::collections::BTreeMap;

use howlate_model::{Distribution, WaitCounts};

use super::Grouping;

/// All waits of one group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupWaits {
    /// What it is called.
    pub name: String,
    /// How many waits were late.
    pub late: u64,
    /// All of them.
    pub waits: Distribution,
}

/// The groups of these minutes: those with the most late waits first, then those with the longest.
pub fn groups<'a>(
    counts: impl Iterator<Item = &'a WaitCounts>,
    by: Grouping,
    users: &BTreeMap<u32, String>,
) -> Vec<GroupWaits> {
    let mut all: BTreeMap<String, (u64, Distribution)> = BTreeMap::new();
    for one in counts {
        let name = by.of(&one.process, one.group.as_deref(), one.uid, users);
        let (late, waits) = all.entry(name).or_default();
        *late = late.saturating_add(one.late);
        waits.merge(&one.waits);
    }
    let mut groups: Vec<GroupWaits> =
        all.into_iter().map(|(name, (late, waits))| GroupWaits { name, late, waits }).collect();
    groups.sort_by_key(|one| std::cmp::Reverse((one.late, one.waits.max())));
    groups
}

#[cfg(test)]
mod tests {
    use howlate_model::Latency;

    use super::*;

    #[test]
    fn minutes_are_added_up_by_what_is_asked_for() {
        let one = |process: &str, late: u64, waits: &[i64]| {
            let mut distribution = Distribution::default();
            waits.iter().for_each(|ns| distribution.record(Latency::from_nanos(*ns)));
            let (process, policy) = (process.to_owned(), "other".to_owned());
            WaitCounts { process, uid: 7, group: None, policy, late, waits: distribution }
        };
        let minutes = [one("a", 0, &[5, 6]), one("b", 0, &[900]), one("c", 2, &[3]), one("a", 0, &[7])];
        let found = groups(minutes.iter(), Grouping::Process, &BTreeMap::new());
        let told: Vec<_> = found.iter().map(|one| (one.name.as_str(), one.waits.count())).collect();
        assert_eq!(told, [("c", 1), ("b", 1), ("a", 3)]);
        let found = groups(minutes.iter(), Grouping::User, &BTreeMap::new());
        assert_eq!((found.len(), found[0].late, found[0].waits.count()), (1, 2, 5));
    }
}
