//! Matches the conditions to compare.

use std::collections::HashMap;
use std::rc::Rc;

use howlate_model::{Condition, Header, Property, Work};

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
fn matching_properties() -> impl Iterator<Item = Property> {
    Property::ALL.iter().copied().filter(|property| *property != Property::Thread)
}

/// Conditions of a recording that differ only in the thread and in ignored properties.
struct ConditionGroup {
    key: Rc<[String]>,
    members: Vec<usize>,
}

impl ConditionGroup {
    fn from_members(members: Vec<(Rc<[String]>, usize)>) -> Option<Self> {
        let key = Rc::clone(&members.first()?.0);
        Some(Self { key, members: members.into_iter().map(|(_, index)| index).collect() })
    }
}

/// The conditions that ran as requested, with their indices. A refused policy ran as another one and is not compared.
fn as_requested(track: &Track) -> impl Iterator<Item = (usize, &Condition)> {
    let ran = |(_, outcome): &(usize, &Outcome)| outcome.fallback_policy().is_none();
    track
        .analysis
        .outcomes()
        .iter()
        .enumerate()
        .filter(ran)
        .map(|(index, outcome)| (index, &outcome.condition))
}

fn groups(track: &Track, ignored: &[Property]) -> Vec<ConditionGroup> {
    let considered: Vec<Property> =
        matching_properties().filter(|property| !ignored.contains(property)).collect();
    let key = |condition: &Condition| -> Rc<[String]> {
        considered.iter().map(|property| property.text(condition)).collect()
    };
    let keyed = as_requested(track).map(|(index, condition)| {
        let key = key(condition);
        (Rc::clone(&key), (key, index))
    });
    grouped(keyed).into_iter().filter_map(ConditionGroup::from_members).collect()
}

/// Pairs of equal conditions of two recordings. The kernel may differ, and properties with one value throughout the base and another
/// throughout the new one. Also the number of conditions without a partner.
pub(crate) fn recordings(base: &Track, new: &Track) -> (Vec<Match>, usize) {
    let (tracks, base, new) =
        ((base, new), &base.analysis.header.conditions, &new.analysis.header.conditions);
    let is_unrecorded =
        |property: &Property| [base, new].iter().any(|side| is_unrecorded_in(*property, side));
    let may_differ = |property: &Property| {
        *property == Property::Kernel || differs_throughout(*property, base, new) || is_unrecorded(property)
    };
    let ignored: Vec<Property> = matching_properties().filter(may_differ).collect();
    let (olds, news) = (groups(tracks.0, &ignored), groups(tracks.1, &ignored));
    let scheduler = scheduler_difference(&tracks.0.analysis.header, &tracks.1.analysis.header);
    let by_key: HashMap<&[String], &ConditionGroup> = news.iter().map(|new| (&*new.key, new)).collect();
    let partner = |old: &ConditionGroup| {
        let found = by_key.get(&*old.key)?;
        let mut differs = differences(&ignored, &base[old.members[0]], &new[found.members[0]]);
        differs.extend(scheduler.clone());
        Some(Match { base: old.members.clone(), new: found.members.clone(), differs })
    };
    let matches: Vec<Match> = olds.iter().filter_map(partner).collect();
    let alone = olds.len() + news.len() - 2 * matches.len();
    (matches, alone)
}

/// The scheduler of normal threads, where only one of the two machines had one of BPF, or another one. Files of other programs do not
/// say which it was.
fn scheduler_difference(base: &Header, new: &Header) -> Option<Difference> {
    let is_foreign = |condition: &Condition| matches!(condition.work, Work::Foreign { .. });
    let says = |header: &Header| !header.conditions.iter().any(is_foreign);
    let name = |header: &Header| header.system.scheduler.clone().unwrap_or_else(|| "kernel".to_owned());
    let (old, later) = (name(base), name(new));
    let differs = says(base) && says(new) && old != later;
    differs.then_some(Difference { property: "scheduler", base: old, new: later })
}

fn differs_throughout(property: Property, base: &[Condition], new: &[Condition]) -> bool {
    let only = |conditions: &[Condition]| {
        let first = property.text(conditions.first()?);
        conditions.iter().all(|condition| property.text(condition) == first).then_some(first)
    };
    only(base).zip(only(new)).is_some_and(|(base, new)| base != new)
}

/// Whether a file of another program does not record the property for any condition.
fn is_unrecorded_in(property: Property, conditions: &[Condition]) -> bool {
    let is_unrecorded = |condition: &Condition| {
        matches!(condition.work, Work::Foreign { .. }) && property.value_in(condition).is_none()
    };
    !conditions.is_empty() && conditions.iter().all(is_unrecorded)
}

fn differences(properties: &[Property], base: &Condition, new: &Condition) -> Vec<Difference> {
    let difference = |property: &Property| {
        let (base, new) = (property.text(base), property.text(new));
        (base != new).then(|| Difference { property: property.name(), base, new })
    };
    properties.iter().filter_map(difference).collect()
}

/// Pairs of conditions of one recording that differ only in `property`: each with the one that has `base`, or the first value
/// measured.
///
/// # Errors
///
/// The values of the property, if `base` is none of them.
pub(crate) fn property(
    track: &Track,
    property: Property,
    base: Option<&str>,
) -> Result<Vec<Match>, Vec<String>> {
    let conditions = &track.analysis.header.conditions;
    let mut values: Vec<String> = Vec::new();
    for (_, condition) in as_requested(track) {
        let value = property.text(condition);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let base = base.map(str::to_owned).or_else(|| values.first().cloned()).unwrap_or_default();
    if !values.contains(&base) {
        return Err(values);
    }
    let groups = groups(track, &changing_with(property));
    Ok(groups.iter().flat_map(|group| within(conditions, group, property, &base)).collect())
}

/// The properties that may change with a property: a knob affects several.
fn changing_with(property: Property) -> Vec<Property> {
    match property {
        Property::Knob => {
            vec![property, Property::Policy, Property::Slack, Property::Cpu, Property::Mechanism]
        }
        _ => vec![property],
    }
}

fn within(conditions: &[Condition], group: &ConditionGroup, property: Property, base: &str) -> Vec<Match> {
    let with_value = |value: &str| -> Vec<usize> {
        group.members.iter().copied().filter(|index| property.text(&conditions[*index]) == value).collect()
    };
    let old = with_value(base);
    let mut other_values: Vec<String> = Vec::new();
    for index in &group.members {
        let value = property.text(&conditions[*index]);
        if value != base && !other_values.contains(&value) {
            other_values.push(value);
        }
    }
    let to_match = |value: String| Match {
        base: old.clone(),
        new: with_value(&value),
        differs: vec![Difference { property: property.name(), base: base.to_owned(), new: value }],
    };
    if old.is_empty() { Vec::new() } else { other_values.into_iter().map(to_match).collect() }
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

    fn describe(matches: &[Match]) -> Vec<String> {
        let differs = |matched: &Match| {
            let differs: Vec<String> = matched
                .differs
                .iter()
                .map(|by| format!("{} {} → {}", by.property, by.base, by.new))
                .collect();
            format!("{:?} {:?} {}", matched.base, matched.new, differs.join(", "))
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
            describe(&matches),
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
    fn a_scheduler_of_bpf_is_named_on_either_side() {
        let with_scheduler = |name: Option<&str>| {
            let mut header = track(&["other"], &[0], "7.0").analysis.header;
            header.system.scheduler = name.map(str::to_owned);
            Track::new(header)
        };
        let differs = |base, new| describe(&recordings(&with_scheduler(base), &with_scheduler(new)).0);
        assert_eq!(differs(None, Some("lavd")), ["[0] [0] scheduler kernel → lavd"]);
        assert_eq!(differs(Some("lavd"), Some("rusty")), ["[0] [0] scheduler lavd → rusty"]);
        assert_eq!(differs(Some("lavd"), Some("lavd")), ["[0] [0] "]);
        assert_eq!(differs(None, None), ["[0] [0] "]);
    }

    #[test]
    fn what_differs_throughout_is_what_is_compared() {
        let (matches, _) =
            recordings(&track(&["other"], &[0, 1], "6.1"), &track(&["fifo:80"], &[0, 1], "6.1"));
        assert_eq!(describe(&matches), ["[0] [0] policy other → fifo:80", "[1] [1] policy other → fifo:80"]);
        let (matches, alone) =
            recordings(&track(&["other"], &[0, 1], "6.1"), &track(&["other"], &[1, 2, 3], "6.1"));
        assert_eq!((describe(&matches), alone), (vec!["[1] [0] ".to_owned()], 3));
    }

    #[test]
    fn what_was_refused_is_not_compared() {
        let mut track = track(&["other", "fifo:80", "rr:1"], &[1], "6.1");
        let refused = crate::testing::refused(&track.analysis, 1);
        track.add(&refused);
        assert_eq!(
            describe(&property(&track, Property::Policy, None).unwrap()),
            ["[0] [2] policy other → rr:1"]
        );
        assert_eq!(property(&track, Property::Policy, Some("fifo:80")).unwrap_err(), ["other", "rr:1"]);
    }

    #[test]
    fn threads_of_one_condition_belong_together() {
        let track = track(&["other", "fifo:80", "fifo:90"], &[1, 1], "6.1");
        assert_eq!(
            describe(&property(&track, Property::Policy, None).unwrap()),
            ["[0, 1] [2, 3] policy other → fifo:80", "[0, 1] [4, 5] policy other → fifo:90"]
        );
        assert_eq!(
            describe(&property(&track, Property::Policy, Some("fifo:90")).unwrap()),
            ["[4, 5] [0, 1] policy fifo:90 → other", "[4, 5] [2, 3] policy fifo:90 → fifo:80"]
        );
        assert_eq!(
            property(&track, Property::Policy, Some("rr:1")).unwrap_err(),
            ["other", "fifo:80", "fifo:90"]
        );
        assert!(property(&track, Property::Cpu, None).unwrap().is_empty());
    }
}
