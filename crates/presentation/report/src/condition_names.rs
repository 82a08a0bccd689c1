//! What a condition is called among others: by that in which it differs from them.

use std::cmp::Reverse;
use std::collections::HashSet;

use howlate_model::{Command, HasProperties, Property, Value, WorkKind};
use howlate_render::{condition, property};

use crate::entry::Entry;

/// Something in which entries may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The recording they are from.
    Recording,
    /// A property of their conditions.
    Of(Property),
}

/// What an entry has of a part.
#[derive(Clone, Copy, Debug, PartialEq)]
enum PartValue<'a> {
    Recording(&'a str),
    Value(Value<'a>),
}

impl Part {
    /// Every part, in the order in which a name lists them.
    fn all() -> impl Iterator<Item = Self> {
        let properties = Property::ALL.iter().copied().filter(|property| *property != Property::Kind);
        std::iter::once(Self::Recording).chain(properties.map(Self::Of))
    }

    /// The heading of its column, where all entries in it do `work`, if they do the same.
    pub(crate) fn heading(self, work: Option<WorkKind>) -> &'static str {
        match self {
            Self::Recording => "recording",
            Self::Of(property) => property::heading(property, work),
        }
    }

    fn value_in<'a>(self, entry: &'a Entry<'_>) -> Option<PartValue<'a>> {
        match self {
            Self::Recording => Some(PartValue::Recording(entry.recording.name)),
            Self::Of(property) => entry.value(property).map(PartValue::Value),
        }
    }

    /// Its value, where it applies.
    pub(crate) fn value(self, entry: &Entry<'_>) -> Option<String> {
        if self == Self::Of(Property::Knob) && self.value_in(entry).is_none() {
            return Some(property::BASELINE.to_owned());
        }
        self.value_in(entry).map(|had| match had {
            PartValue::Recording(name) => name.to_owned(),
            PartValue::Value(value) => property::value(&value),
        })
    }

    /// Its value with the word that says what it is.
    fn phrase(self, entry: &Entry<'_>) -> Option<String> {
        match self.value_in(entry) {
            Some(PartValue::Recording(name)) => Some(name.to_owned()),
            // It stands first, and its name says enough.
            Some(PartValue::Value(Value::Knob(_))) | None => self.value(entry),
            Some(PartValue::Value(value)) => Some(property::phrase(&value)),
        }
    }

    /// Its place among the parts by which entries are told apart by place before they are told apart by
    /// colour; `None` for those that stay together, because they ran side by side.
    const fn split_rank(self) -> Option<u8> {
        Some(match self {
            Self::Of(Property::Length) => 0,
            Self::Of(Property::Between) => 1,
            Self::Of(Property::RoundTrip) => 2,
            Self::Of(Property::Receiver) => 3,
            Self::Of(Property::HostLoad) => 4,
            Self::Of(Property::VcpuPolicy) => 5,
            Self::Of(Property::Load) => 6,
            Self::Recording => 7,
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

/// The parts in which `entries` differ.
pub(crate) fn varying(entries: &[Entry<'_>]) -> Vec<Part> {
    let differs = |part: &Part| {
        let first = entries.first().and_then(|entry| part.value_in(entry));
        entries.iter().any(|entry| part.value_in(entry) != first)
    };
    let mut parts: Vec<Part> = Part::all().filter(differs).collect();
    // A thread that is told apart by its CPU needs no number.
    let without: Vec<Part> =
        parts.iter().copied().filter(|part| *part != Part::Of(Property::Thread)).collect();
    if names(entries, &without) == names(entries, &parts) {
        parts = without;
    }
    // What was tried says most: what else differs follows from it.
    parts.sort_by_key(|part| *part != Part::Of(Property::Knob));
    parts
}

/// How many different names these parts give.
fn names(entries: &[Entry<'_>], parts: &[Part]) -> usize {
    entries.iter().map(|entry| name(entry, parts)).collect::<HashSet<_>>().len()
}

/// What `entry` is called by these parts.
pub(crate) fn name(entry: &Entry<'_>, parts: &[Part]) -> String {
    let header = &entry.recording.analysis.header;
    // A sweep of sleeps holds a setting beside what is asked of the thread.
    let holds = header.tuning.is_none() && matches!(header.command, Command::Sleep | Command::Run);
    let is_tuned = parts.contains(&Part::Of(Property::Knob)) && !holds;
    let says_more = |part: &&Part| !(is_tuned && FOLLOWS_FROM_A_KNOB.contains(part));
    let words: Vec<String> = parts.iter().filter(says_more).filter_map(|part| part.phrase(entry)).collect();
    match words.as_slice() {
        [] if entry.recording.analysis.header.tuning.is_some() => "unchanged".to_owned(),
        [] => condition::ALL.to_owned(),
        some => condition::joined(some),
    }
}

/// What a setting that was tried changes of a condition: its name says it.
const FOLLOWS_FROM_A_KNOB: [Part; 3] =
    [Part::Of(Property::Policy), Part::Of(Property::Slack), Part::Of(Property::Mechanism)];

/// The same within a sentence, where `other` alone would mean anything.
pub(crate) fn spoken(entry: &Entry<'_>, parts: &[Part]) -> String {
    let name = name(entry, parts);
    let says_policy = parts.contains(&Part::Of(Property::Policy));
    let said = |word| match word {
        "other" if says_policy => ORDINARY,
        property::BASELINE => "the baseline",
        word => word,
    };
    name.split(" · ").map(said).collect::<Vec<_>>().join(" · ")
}

/// The policy of threads that ask for none.
const ORDINARY: &str = "ordinary scheduling (other)";

/// What all `entries` have in common.
pub(crate) fn common(entries: &[Entry<'_>]) -> String {
    let varying = varying(entries);
    let unsaid = [Part::Recording, Part::Of(Property::Kernel), Part::Of(Property::Thread)];
    let Some(first) = entries.first() else { return String::new() };
    let is_common =
        |part: &Part| !varying.contains(part) && !unsaid.contains(part) && part.value_in(first).is_some();
    let words: Vec<String> = Part::all().filter(is_common).filter_map(|part| part.phrase(first)).collect();
    // By itself, `other` would mean anything.
    if words == ["other"] { ORDINARY.to_owned() } else { condition::joined(&words) }
}

/// Entries that are shown together, and what they have in common among all.
pub(crate) struct Facet<'a> {
    pub(crate) heading: String,
    pub(crate) entries: Vec<Entry<'a>>,
}

/// Splits `entries` so that no group has more than `most`: by the one part that makes the fewest
/// groups, or by one part after the other. Groups of CPUs and threads stay whole.
pub(crate) fn facets<'a>(entries: &[Entry<'a>], most: usize) -> Vec<Facet<'a>> {
    let mut in_order = varying(entries);
    in_order.retain(|part| part.split_rank().is_some());
    in_order.sort_by_key(|part| part.split_rank());
    let fits = |groups: &[Vec<Entry<'a>>]| groups.iter().all(|group| group.len() <= most);
    let whole = vec![entries.to_vec()];
    let by_one = in_order.iter().map(|part| (vec![*part], split(entries, *part)));
    let fewest = by_one.filter(|(_, groups)| fits(groups)).min_by_key(|(_, groups)| groups.len());
    let (mut by, groups) = match fewest {
        _ if fits(&whole) => (Vec::new(), whole),
        Some(split) => split,
        None => split_again(whole, &in_order, fits),
    };
    by.sort_by_key(|part| Part::all().position(|one| one == *part));
    headed(&by, groups)
}

/// Splits `entries` by the one part that makes the most groups, but no more than `most`; leaves them together where each
/// makes more.
pub(crate) fn facets_at_most<'a>(entries: &[Entry<'a>], most: usize) -> Vec<Facet<'a>> {
    let mut parts = varying(entries);
    parts.retain(|part| part.split_rank().is_some());
    parts.sort_by_key(|part| Reverse(part.split_rank()));
    let splits = parts.into_iter().map(|part| (vec![part], split(entries, part)));
    let few = splits.filter(|(_, groups)| groups.len() <= most).max_by_key(|(_, groups)| groups.len());
    let (by, groups) = few.unwrap_or_else(|| (Vec::new(), vec![entries.to_vec()]));
    headed(&by, groups)
}

/// Groups, each by what its entries have in common of these parts.
fn headed<'a>(by: &[Part], groups: Vec<Vec<Entry<'a>>>) -> Vec<Facet<'a>> {
    let facet = |entries: Vec<Entry<'a>>| {
        let heading = if by.is_empty() { String::new() } else { name(&entries[0], by) };
        Facet { heading, entries }
    };
    groups.into_iter().filter(|group| !group.is_empty()).map(facet).collect()
}

/// Splits by one part after the other until the groups fit, or no part is left.
fn split_again<'a>(
    mut groups: Vec<Vec<Entry<'a>>>,
    parts: &[Part],
    fits: impl Fn(&[Vec<Entry<'a>>]) -> bool,
) -> (Vec<Part>, Vec<Vec<Entry<'a>>>) {
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

fn split<'a>(entries: &[Entry<'a>], part: Part) -> Vec<Vec<Entry<'a>>> {
    let mut groups: Vec<(Option<String>, Vec<Entry<'a>>)> = Vec::new();
    for entry in entries {
        let value = part.value(entry);
        match groups.iter_mut().find(|(known, _)| *known == value) {
            Some((_, group)) => group.push(*entry),
            None => groups.push((value, vec![*entry])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recording;
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
        let entries = Entry::all(&[Recording::new("run.jsonl", &analysis)]);
        let parts = varying(&entries);
        assert_eq!(name(&entries[1], &parts), "fifo:80 · CPU 0");
        assert_eq!(common(&entries), "clock_nanosleep · every 1 ms · load idle");
        assert_eq!(name(&entries[0], &varying(&entries[..1])), "all wake-ups");
    }

    #[test]
    fn a_setting_that_was_tried_says_what_it_changes() {
        let mut tried = cyclic("fifo:80", 0);
        tried.tuned = Some(howlate_model::Tuned { knobs: vec!["fifo".into()], ..Default::default() });
        let analysis = analysis(vec![cyclic("other", 0), tried]);
        let entries = Entry::all(&[Recording::new("tune.jsonl", &analysis)]);
        let names: Vec<String> = entries.iter().map(|entry| name(entry, &varying(&entries))).collect();
        assert_eq!(names, ["baseline", "fifo"]);
        assert_eq!(spoken(&entries[0], &varying(&entries)), "the baseline");
    }

    #[test]
    fn recordings_are_told_apart() {
        let analysis = analysis(vec![cyclic("other", 0)]);
        let recordings = ["a.jsonl", "b.jsonl"].map(|name| Recording::new(name, &analysis));
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
        let entries = Entry::all(&[Recording::new("run.jsonl", &analysis)]);
        let headings =
            |most: usize| facets(&entries, most).into_iter().map(|facet| facet.heading).collect::<Vec<_>>();
        assert_eq!(headings(6), [""]);
        assert_eq!(headings(3), ["other", "fifo:80"]);
        assert_eq!(headings(2), ["for 10 µs", "for 100 µs", "for 1 ms"]);
        assert_eq!(headings(1).len(), 6);
        let kept: usize = facets(&entries, 2).iter().map(|facet| facet.entries.len()).sum();
        assert_eq!(kept, entries.len());
    }

    #[test]
    fn groups_are_few_enough_to_be_drawn() {
        let analysis = three_lengths_by_two_policies();
        let entries = Entry::all(&[Recording::new("run.jsonl", &analysis)]);
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
        let entries = Entry::all(&[Recording::new("run.jsonl", &analysis)]);
        assert_eq!(facets(&entries, 6).len(), 1);
    }
}
