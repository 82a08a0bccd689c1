//! Waits of the threads of each group, all minutes together.

use std::collections::BTreeMap;

use howlate_model::{Distribution, WaitCounts};

use super::Grouping;

/// All waits of one group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupWaits {
    pub name: String,
    /// Number of late waits.
    pub late: u64,
    /// All waits, late or not.
    pub waits: Distribution,
}

/// The waits of these minutes by group: most late waits first, then the longest wait.
pub fn waits_by_group<'a>(
    counts: impl Iterator<Item = &'a WaitCounts>,
    by: Grouping,
    users: &BTreeMap<u32, String>,
) -> Vec<GroupWaits> {
    let mut all: BTreeMap<String, (u64, Distribution)> = BTreeMap::new();
    for count in counts {
        let name = by.group_of(&count.process, count.group.as_deref(), count.uid, users);
        let (late, waits) = all.entry(name).or_default();
        *late = late.saturating_add(count.late);
        waits.merge(&count.waits);
    }
    let mut groups: Vec<GroupWaits> =
        all.into_iter().map(|(name, (late, waits))| GroupWaits { name, late, waits }).collect();
    groups.sort_by_key(|group| std::cmp::Reverse((group.late, group.waits.max())));
    groups
}

#[cfg(test)]
mod tests {
    use howlate_model::Latency;

    use super::*;

    #[test]
    fn minutes_are_added_up_by_what_is_asked_for() {
        let count = |process: &str, late: u64, waits: &[i64]| {
            let mut distribution = Distribution::default();
            waits.iter().for_each(|ns| distribution.record(Latency::from_nanos(*ns)));
            let (process, policy) = (process.to_owned(), "other".to_owned());
            WaitCounts { process, uid: 7, group: None, policy, late, waits: distribution }
        };
        let minutes =
            [count("a", 0, &[5, 6]), count("b", 0, &[900]), count("c", 2, &[3]), count("a", 0, &[7])];
        let found = waits_by_group(minutes.iter(), Grouping::Process, &BTreeMap::new());
        let rows: Vec<_> = found.iter().map(|group| (group.name.as_str(), group.waits.count())).collect();
        assert_eq!(rows, [("c", 1), ("b", 1), ("a", 3)]);
        let found = waits_by_group(minutes.iter(), Grouping::User, &BTreeMap::new());
        assert_eq!((found.len(), found[0].late, found[0].waits.count()), (1, 2, 5));
    }
}
