//! Names of conditions: the properties in which they differ.

use std::cmp::Reverse;
use std::collections::HashSet;

use howlate_model::{Command, HasProperties, Property, PropertyValue, WorkKind};
use howlate_render::{condition, property};

use crate::entry::Entry;

/// A property that distinguishes entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamePart {
    NamedRecording,
    Of(Property),
}

/// Value of a part.
#[derive(Clone, Copy, Debug, PartialEq)]
enum NamePartValue<'a> {
    NamedRecording(&'a str),
    Value(PropertyValue<'a>),
}

impl NamePart {
    /// In the order of names.
    fn all() -> impl Iterator<Item = Self> {
        let properties = Property::ALL.iter().copied().filter(|property| *property != Property::Kind);
        std::iter::once(Self::NamedRecording).chain(properties.map(Self::Of))
    }

    /// Table heading; `work` is the common kind of work.
    pub(crate) fn heading(self, work: Option<WorkKind>) -> &'static str {
        match self {
            Self::NamedRecording => "recording",
            Self::Of(property) => property::heading(property, work),
        }
    }

    fn value_in<'a>(self, entry: &'a Entry<'_>) -> Option<NamePartValue<'a>> {
        match self {
            Self::NamedRecording => Some(NamePartValue::NamedRecording(entry.recording.name)),
            Self::Of(property) => entry.value(property).map(NamePartValue::Value),
        }
    }

    /// `None` where the part does not apply.
    pub(crate) fn value(self, entry: &Entry<'_>) -> Option<String> {
        if self == Self::Of(Property::Knob) && self.value_in(entry).is_none() {
            return Some(property::BASELINE.to_owned());
        }
        self.value_in(entry).map(|part_value| match part_value {
            NamePartValue::NamedRecording(name) => name.to_owned(),
            NamePartValue::Value(value) => property::value(&value),
        })
    }

    /// The value with its unit or prefix.
    fn phrase(self, entry: &Entry<'_>) -> Option<String> {
        match self.value_in(entry) {
            Some(NamePartValue::NamedRecording(name)) => Some(name.to_owned()),
            // A knob comes first and needs no prefix.
            Some(NamePartValue::Value(PropertyValue::Knob(_))) | None => self.value(entry),
            Some(NamePartValue::Value(value)) => Some(property::phrase(&value)),
        }
    }

    /// Priority for splitting into panels; `None` for parts that ran in parallel and stay together.
    const fn split_rank(self) -> Option<u8> {
        Some(match self {
            Self::Of(Property::Length) => 0,
            Self::Of(Property::Between) => 1,
            Self::Of(Property::RoundTrip) => 2,
            Self::Of(Property::Receiver) => 3,
            Self::Of(Property::HostLoad) => 4,
            Self::Of(Property::VcpuPolicy) => 5,
            Self::Of(Property::Load) => 6,
            Self::NamedRecording => 7,
            Self::Of(Property::Kernel) => 8,
            Self::Of(Property::Slack) => 9,
            Self::Of(Property::Policy) => 10,
            Self::Of(Property::Mechanism) => 11,
            Self::Of(Property::Clock) => 12,
            Self::Of(Property::Knob) => 13,
            Self::Of(Property::Node) => 14,
            Self::Of(Property::Dither) => 15,
            Self::Of(Property::Kind | Property::Name | Property::Cpu | Property::Thread) => return None,
        })
    }
}

/// Parts in which the entries differ.
pub(crate) fn varying(entries: &[Entry<'_>]) -> Vec<NamePart> {
    let differs = |part: &NamePart| {
        let first = entries.first().and_then(|entry| part.value_in(entry));
        entries.iter().any(|entry| part.value_in(entry) != first)
    };
    let mut parts: Vec<NamePart> = NamePart::all().filter(differs).collect();
    // With a CPU, the thread number is redundant.
    let without: Vec<NamePart> =
        parts.iter().copied().filter(|part| *part != NamePart::Of(Property::Thread)).collect();
    if names(entries, &without) == names(entries, &parts) {
        parts = without;
    }
    // The knob comes first: other differences follow from it.
    parts.sort_by_key(|part| *part != NamePart::Of(Property::Knob));
    parts
}

/// Number of distinct names by these parts.
fn names(entries: &[Entry<'_>], parts: &[NamePart]) -> usize {
    entries.iter().map(|entry| name(entry, parts)).collect::<HashSet<_>>().len()
}

/// Name of an entry by these parts.
pub(crate) fn name(entry: &Entry<'_>, parts: &[NamePart]) -> String {
    let header = &entry.recording.analysis.header;
    // A sweep of sleeps has a setting in addition to the thread's settings.
    let holds = header.tuning.is_none() && matches!(header.command, Command::Sleep | Command::Run);
    let is_tuned = parts.contains(&NamePart::Of(Property::Knob)) && !holds;
    let says_more = |part: &&NamePart| !(is_tuned && FOLLOWS_FROM_A_KNOB.contains(part));
    let words: Vec<String> = parts.iter().filter(says_more).filter_map(|part| part.phrase(entry)).collect();
    match words.as_slice() {
        [] if entry.recording.analysis.header.tuning.is_some() => "unchanged".to_owned(),
        [] => condition::ALL.to_owned(),
        some => condition::joined(some),
    }
}

/// Parts that a tuned setting changes; its name implies them.
const FOLLOWS_FROM_A_KNOB: [NamePart; 3] =
    [NamePart::Of(Property::Policy), NamePart::Of(Property::Slack), NamePart::Of(Property::Mechanism)];

/// The name within a sentence, where `other` alone would be ambiguous.
pub(crate) fn name_in_sentence(entry: &Entry<'_>, parts: &[NamePart]) -> String {
    let name = name(entry, parts);
    let says_policy = parts.contains(&NamePart::Of(Property::Policy));
    let phrase = |word| match word {
        "other" if says_policy => ORDINARY,
        property::BASELINE => "the baseline",
        word => word,
    };
    name.split(" · ").map(phrase).collect::<Vec<_>>().join(" · ")
}

const ORDINARY: &str = "normal scheduling (other)";

/// What all entries have in common.
pub(crate) fn common(entries: &[Entry<'_>]) -> String {
    let varying = varying(entries);
    let omitted = [NamePart::NamedRecording, NamePart::Of(Property::Kernel), NamePart::Of(Property::Thread)];
    let Some(first) = entries.first() else { return String::new() };
    let is_common = |part: &NamePart| {
        !varying.contains(part) && !omitted.contains(part) && part.value_in(first).is_some()
    };
    let words: Vec<String> =
        NamePart::all().filter(is_common).filter_map(|part| part.phrase(first)).collect();
    // Alone, `other` would be ambiguous.
    if words == ["other"] { ORDINARY.to_owned() } else { condition::joined(&words) }
}

/// Entries of one panel, and what distinguishes them.
pub(crate) struct Facet<'a> {
    pub(crate) heading: String,
    pub(crate) entries: Vec<Entry<'a>>,
}

/// Splits entries into groups of at most `most`, by the one part with the fewest groups, otherwise by several parts.
/// CPUs and threads stay together.
pub(crate) fn facets<'a>(entries: &[Entry<'a>], most: usize) -> Vec<Facet<'a>> {
    let mut by_rank = varying(entries);
    by_rank.retain(|part| part.split_rank().is_some());
    by_rank.sort_by_key(|part| part.split_rank());
    let fits = |groups: &[Vec<Entry<'a>>]| groups.iter().all(|group| group.len() <= most);
    let whole = vec![entries.to_vec()];
    let splits = by_rank.iter().map(|part| (vec![*part], split(entries, *part)));
    let fewest = splits.filter(|(_, groups)| fits(groups)).min_by_key(|(_, groups)| groups.len());
    let (mut by, groups) = match fewest {
        _ if fits(&whole) => (Vec::new(), whole),
        Some(split) => split,
        None => split_repeatedly(whole, &by_rank, fits),
    };
    by.sort_by_key(|part| NamePart::all().position(|same_part| same_part == *part));
    with_headings(&by, groups)
}

/// Splits entries by the one part with the most groups, at most `most`; no split if every part makes more.
pub(crate) fn facets_at_most<'a>(entries: &[Entry<'a>], most: usize) -> Vec<Facet<'a>> {
    let mut parts = varying(entries);
    parts.retain(|part| part.split_rank().is_some());
    parts.sort_by_key(|part| Reverse(part.split_rank()));
    let splits = parts.into_iter().map(|part| (vec![part], split(entries, part)));
    let few = splits.filter(|(_, groups)| groups.len() <= most).max_by_key(|(_, groups)| groups.len());
    let (by, groups) = few.unwrap_or_else(|| (Vec::new(), vec![entries.to_vec()]));
    with_headings(&by, groups)
}

/// Facets with headings from these parts.
fn with_headings<'a>(by: &[NamePart], groups: Vec<Vec<Entry<'a>>>) -> Vec<Facet<'a>> {
    let facet = |entries: Vec<Entry<'a>>| {
        let heading = if by.is_empty() { String::new() } else { name(&entries[0], by) };
        Facet { heading, entries }
    };
    groups.into_iter().filter(|group| !group.is_empty()).map(facet).collect()
}

/// Splits by one part after the other until the groups fit.
fn split_repeatedly<'a>(
    mut groups: Vec<Vec<Entry<'a>>>,
    parts: &[NamePart],
    fits: impl Fn(&[Vec<Entry<'a>>]) -> bool,
) -> (Vec<NamePart>, Vec<Vec<Entry<'a>>>) {
    let mut by = Vec::new();
    for part in parts {
        if fits(&groups) {
            break;
        }
        by.push(*part);
        groups = groups.iter().flat_map(|group| split(group, *part)).collect();
    }
    (by, groups)
}

fn split<'a>(entries: &[Entry<'a>], part: NamePart) -> Vec<Vec<Entry<'a>>> {
    let mut groups: Vec<(Option<String>, Vec<Entry<'a>>)> = Vec::new();
    for entry in entries {
        let value = part.value(entry);
        match groups.iter_mut().find(|(group_value, _)| *group_value == value) {
            Some((_, group)) => group.push(*entry),
            None => groups.push((value, vec![*entry])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NamedRecording;
    use crate::testing::{analysis, condition, cyclic};
    use howlate_analyse::Analysis;

    #[test]
    fn conditions_are_called_by_what_differs() {
        let analysis = analysis(vec![
            cyclic("other", 0),
            cyclic("fifo:80", 0),
            cyclic("other", 1),
            cyclic("fifo:80", 1),
        ]);
        let entries = Entry::all(&[NamedRecording::new("run.jsonl", &analysis)]);
        let parts = varying(&entries);
        assert_eq!(name(&entries[1], &parts), "fifo:80 · CPU 0");
        assert_eq!(common(&entries), "clock_nanosleep · every 1 ms · load idle");
        assert_eq!(name(&entries[0], &varying(&entries[..1])), "all wake-ups");
    }

    #[test]
    fn a_setting_that_was_tried_says_what_it_changes() {
        let mut tried = cyclic("fifo:80", 0);
        tried.tuned = Some(howlate_model::TunedKnobs { knobs: vec!["fifo".into()], ..Default::default() });
        let analysis = analysis(vec![cyclic("other", 0), tried]);
        let entries = Entry::all(&[NamedRecording::new("tune.jsonl", &analysis)]);
        let names: Vec<String> = entries.iter().map(|entry| name(entry, &varying(&entries))).collect();
        assert_eq!(names, ["baseline", "fifo"]);
        assert_eq!(name_in_sentence(&entries[0], &varying(&entries)), "the baseline");
    }

    #[test]
    fn recordings_are_told_apart() {
        let analysis = analysis(vec![cyclic("other", 0)]);
        let recordings = ["a.jsonl", "b.jsonl"].map(|name| NamedRecording::new(name, &analysis));
        let entries = Entry::all(&recordings);
        assert_eq!(name(&entries[1], &varying(&entries)), "b.jsonl");
    }

    fn three_lengths_by_two_policies() -> Analysis {
        let lengths = ["10us", "100us", "1ms"];
        let conditions = ["other", "fifo:80"]
            .iter()
            .flat_map(|policy| lengths.map(|length| condition(&format!("sleep {length}"), policy, None)));
        analysis(conditions.collect())
    }

    #[test]
    fn groups_are_as_few_as_fit() {
        let analysis = three_lengths_by_two_policies();
        let entries = Entry::all(&[NamedRecording::new("run.jsonl", &analysis)]);
        let headings =
            |most: usize| facets(&entries, most).into_iter().map(|facet| facet.heading).collect::<Vec<_>>();
        assert_eq!(headings(6), [""]);
        assert_eq!(headings(3), ["other", "fifo:80"]);
        assert_eq!(headings(2), ["for 10 µs", "for 100 µs", "for 1 ms"]);
        assert_eq!(headings(1).len(), 6);
        let total: usize = facets(&entries, 2).iter().map(|facet| facet.entries.len()).sum();
        assert_eq!(total, entries.len());
    }

    #[test]
    fn groups_are_few_enough_to_be_drawn() {
        let analysis = three_lengths_by_two_policies();
        let entries = Entry::all(&[NamedRecording::new("run.jsonl", &analysis)]);
        let headings = |most: usize| {
            facets_at_most(&entries, most).into_iter().map(|facet| facet.heading).collect::<Vec<_>>()
        };
        assert_eq!(headings(6), ["for 10 µs", "for 100 µs", "for 1 ms"]);
        assert_eq!(headings(2), ["other", "fifo:80"]);
        assert_eq!(headings(1), [""]);
    }

    #[test]
    fn threads_side_by_side_are_never_split() {
        let analysis = analysis((0..200).map(|cpu| cyclic("fifo:80", cpu)).collect());
        let entries = Entry::all(&[NamedRecording::new("run.jsonl", &analysis)]);
        assert_eq!(facets(&entries, 6).len(), 1);
    }
}
