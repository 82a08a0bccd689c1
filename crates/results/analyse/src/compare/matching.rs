//! Which conditions are compared with which.

use std::collections::HashMap;
use std::rc::Rc;

use howlate_model::{Condition, Property, Work};

use super::block_series::Track;
use crate::{Outcome, grouped};

/// Two sets of conditions to compare, as indices into two recordings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Match {
    pub(crate) base: Vec<usize>,
    pub(crate) new: Vec<usize>,
    /// What they differ in, with the value on each side.
    pub(crate) differs: Vec<Difference>,
}

/// A property that differs between the two sides.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// The property, by its name in the recording.
    pub property: &'static str,
    /// Its value in the base.
    pub base: String,
    /// Its value in the new one.
    pub new: String,
}

/// The properties by which conditions are matched: threads that run side by side are one condition.
fn matched() -> impl Iterator<Item = Property> {
    Property::ALL.iter().copied().filter(|property| *property != Property::Thread)
}

/// Conditions of a recording that are the same but for the thread and what is to be ignored.
struct Group {
    key: Rc<[String]>,
    members: Vec<usize>,
}

impl Group {
    fn from_members(members: Vec<(Rc<[String]>, usize)>) -> Option<Self> {
        let key = Rc::clone(&members.first()?.0);
        Some(Self { key, members: members.into_iter().map(|(_, index)| index).collect() })
    }
}

/// The conditions that ran as asked, each with its index. What was refused ran as something else, and is not
/// compared.
fn as_asked(track: &Track) -> impl Iterator<Item = (usize, &Condition)> {
    let ran = |(_, outcome): &(usize, &Outcome)| outcome.fallback_policy().is_none();
    track.analysis.outcomes().iter().enumerate().filter(ran).map(|(index, one)| (index, &one.condition))
}

fn groups(track: &Track, ignored: &[Property]) -> Vec<Group> {
    let kept: Vec<Property> = matched().filter(|property| !ignored.contains(property)).collect();
    let key = |condition: &Condition| -> Rc<[String]> {
        kept.iter().map(|property| property.text(condition)).collect()
    };
    let keyed = as_asked(track).map(|(index, condition)| {
        let key = key(condition);
        (Rc::clone(&key), (key, index))
    });
    grouped(keyed).into_iter().filter_map(Group::from_members).collect()
}

/// Pairs of the same conditions of two recordings. The kernel may differ, and what is one thing throughout
/// the base and another throughout the new one. Also how many conditions have no partner.
pub(crate) fn recordings(base: &Track, new: &Track) -> (Vec<Match>, usize) {
    let (tracks, base, new) =
        ((base, new), &base.analysis.header.conditions, &new.analysis.header.conditions);
    let is_unsaid = |one: &Property| [base, new].iter().any(|side| says_nothing(*one, side));
    let may_differ =
        |one: &Property| *one == Property::Kernel || differs_throughout(*one, base, new) || is_unsaid(one);
    let ignored: Vec<Property> = matched().filter(may_differ).collect();
    let (olds, news) = (groups(tracks.0, &ignored), groups(tracks.1, &ignored));
    let by_key: HashMap<&[String], &Group> = news.iter().map(|new| (&*new.key, new)).collect();
    let partner = |old: &Group| {
        let found = by_key.get(&*old.key)?;
        let differs = differences(&ignored, &base[old.members[0]], &new[found.members[0]]);
        Some(Match { base: old.members.clone(), new: found.members.clone(), differs })
    };
    let matches: Vec<Match> = olds.iter().filter_map(partner).collect();
    let alone = olds.len() + news.len() - 2 * matches.len();
    (matches, alone)
}

fn differs_throughout(property: Property, base: &[Condition], new: &[Condition]) -> bool {
    let only = |conditions: &[Condition]| {
        let first = property.text(conditions.first()?);
        conditions.iter().all(|one| property.text(one) == first).then_some(first)
    };
    only(base).zip(only(new)).is_some_and(|(base, new)| base != new)
}

/// Whether files of another program do not say it of any condition: then it tells none of theirs apart.
fn says_nothing(property: Property, conditions: &[Condition]) -> bool {
    let is_unsaid =
        |one: &Condition| matches!(one.work, Work::Foreign { .. }) && property.value_in(one).is_none();
    !conditions.is_empty() && conditions.iter().all(is_unsaid)
}

fn differences(properties: &[Property], base: &Condition, new: &Condition) -> Vec<Difference> {
    let difference = |property: &Property| {
        let (base, new) = (property.text(base), property.text(new));
        (base != new).then(|| Difference { property: property.name(), base, new })
    };
    properties.iter().filter_map(difference).collect()
}

/// Pairs of conditions of one recording that differ in `property` and in nothing else: each with the one that
/// has `base`, or the first value measured.
///
/// # Errors
///
/// The values there are, when `base` is none of them.
pub(crate) fn property(
    track: &Track,
    property: Property,
    base: Option<&str>,
) -> Result<Vec<Match>, Vec<String>> {
    let conditions = &track.analysis.header.conditions;
    let mut values: Vec<String> = Vec::new();
    for (_, condition) in as_asked(track) {
        let value = property.text(condition);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let base = base.map(str::to_owned).or_else(|| values.first().cloned()).unwrap_or_default();
    if !values.contains(&base) {
        return Err(values);
    }
    let groups = groups(track, &together_with(property));
    Ok(groups.iter().flat_map(|group| within(conditions, group, property, &base)).collect())
}

/// What differs with a property: a knob that is turned changes what it is about.
fn together_with(property: Property) -> Vec<Property> {
    match property {
        Property::Knob => {
            vec![property, Property::Policy, Property::Slack, Property::Cpu, Property::Mechanism]
        }
        _ => vec![property],
    }
}

fn within(conditions: &[Condition], group: &Group, property: Property, base: &str) -> Vec<Match> {
    let having = |value: &str| -> Vec<usize> {
        group.members.iter().copied().filter(|index| property.text(&conditions[*index]) == value).collect()
    };
    let old = having(base);
    let mut others: Vec<String> = Vec::new();
    for index in &group.members {
        let value = property.text(&conditions[*index]);
        if value != base && !others.contains(&value) {
            others.push(value);
        }
    }
    let one = |value: String| Match {
        base: old.clone(),
        new: having(&value),
        differs: vec![Difference { property: property.name(), base: base.to_owned(), new: value }],
    };
    if old.is_empty() { Vec::new() } else { others.into_iter().map(one).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{Policy, Span, Wait, Work};

    fn track(policies: &[&str], cpus: &[u32], kernel: &str) -> Track {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let mut header = crate::testing::analysis_of(&[]).header;
        for (policy, (thread, cpu)) in policies
            .iter()
            .flat_map(|policy| cpus.iter().zip(0..).map(move |(cpu, thread)| (policy, (thread, *cpu))))
        {
            let policy: Policy = policy.parse().unwrap();
            let (cpu, kernel) = (Some(cpu), kernel.to_owned());
            header.conditions.push(Condition { policy, cpu, thread, ..Condition::new(work, kernel) });
        }
        Track::new(header)
    }

    fn shown(matches: &[Match]) -> Vec<String> {
        let differs = |one: &Match| {
            let differs: Vec<String> =
                one.differs.iter().map(|by| format!("{} {} → {}", by.property, by.base, by.new)).collect();
            format!("{:?} {:?} {}", one.base, one.new, differs.join(", "))
        };
        matches.iter().map(differs).collect()
    }

    #[test]
    fn the_same_conditions_of_two_recordings_are_matched() {
        let (old, new) =
            (track(&["other", "fifo:80"], &[0, 1], "6.1"), track(&["fifo:80", "other"], &[0, 1], "6.18"));
        let (matches, alone) = recordings(&old, &new);
        let kernel = "kernel 6.1 → 6.18";
        assert_eq!(
            shown(&matches),
            [
                format!("[0] [2] {kernel}"),
                format!("[1] [3] {kernel}"),
                format!("[2] [0] {kernel}"),
                format!("[3] [1] {kernel}")
            ]
        );
        assert_eq!(alone, 0);
    }

    #[test]
    fn what_differs_throughout_is_what_is_compared() {
        let (matches, _) =
            recordings(&track(&["other"], &[0, 1], "6.1"), &track(&["fifo:80"], &[0, 1], "6.1"));
        assert_eq!(shown(&matches), ["[0] [0] policy other → fifo:80", "[1] [1] policy other → fifo:80"]);
        let (matches, alone) =
            recordings(&track(&["other"], &[0, 1], "6.1"), &track(&["other"], &[1, 2, 3], "6.1"));
        assert_eq!((shown(&matches), alone), (vec!["[1] [0] ".to_owned()], 3));
    }

    #[test]
    fn what_was_refused_is_not_compared() {
        let mut track = track(&["other", "fifo:80", "rr:1"], &[1], "6.1");
        let refused = crate::testing::refused(&track.analysis, 1);
        track.add(&refused);
        assert_eq!(
            shown(&property(&track, Property::Policy, None).unwrap()),
            ["[0] [2] policy other → rr:1"]
        );
        assert_eq!(property(&track, Property::Policy, Some("fifo:80")).unwrap_err(), ["other", "rr:1"]);
    }

    #[test]
    fn threads_of_one_condition_belong_together() {
        let track = track(&["other", "fifo:80", "fifo:90"], &[1, 1], "6.1");
        assert_eq!(
            shown(&property(&track, Property::Policy, None).unwrap()),
            ["[0, 1] [2, 3] policy other → fifo:80", "[0, 1] [4, 5] policy other → fifo:90"]
        );
        assert_eq!(
            shown(&property(&track, Property::Policy, Some("fifo:90")).unwrap()),
            ["[4, 5] [0, 1] policy fifo:90 → other", "[4, 5] [2, 3] policy fifo:90 → fifo:80"]
        );
        assert_eq!(
            property(&track, Property::Policy, Some("rr:1")).unwrap_err(),
            ["other", "fifo:80", "fifo:90"]
        );
        assert!(property(&track, Property::Cpu, None).unwrap().is_empty());
    }
}
