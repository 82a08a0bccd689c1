//! What a condition is called among others: by that in which it differs from them.

use std::collections::HashSet;

use howlate_model::{Between, Placement, ReceiverCpu, Work};

use crate::entry::Entry;

/// Something in which conditions may differ.
pub(crate) struct Part {
    /// The heading of its column.
    pub(crate) heading: &'static str,
    /// What stands before its value where there is no heading.
    prefix: &'static str,
    of: fn(&Entry<'_>) -> Option<String>,
}

const fn part(heading: &'static str, prefix: &'static str, of: fn(&Entry<'_>) -> Option<String>) -> Part {
    Part { heading, prefix, of }
}

/// Every part, in the order in which a name lists them.
const PARTS: [Part; 16] = [
    part("recording", "", |entry| Some(entry.recording.name.to_owned())),
    part("kernel", "Linux ", |entry| Some(entry.outcome.condition.kernel.clone())),
    part("call", "", |entry| Some(entry.work().mechanism().to_string())),
    part("period", "every ", |entry| entry.work().period().map(|period| period.to_string())),
    part("asked", "for ", |entry| entry.is_sleep().then(|| entry.work().length().to_string())),
    part("gap", "after ", |entry| entry.is_notify().then(|| entry.work().length().to_string())),
    part("policy", "", |entry| Some(entry.outcome.condition.policy.to_string())),
    part("slack", "slack ", |entry| entry.outcome.condition.slack_ns.map(|slack| slack.to_string())),
    part("load", "load ", |entry| Some(entry.outcome.condition.load.to_string())),
    part("host load", "host load ", |entry| {
        entry.outcome.condition.on_host.as_ref().map(|on_host| on_host.load.to_string())
    }),
    part("vCPU threads", "vCPU threads ", |entry| {
        entry.outcome.condition.on_host.as_ref().and_then(|on_host| on_host.vcpu_policy.clone())
    }),
    part("between", "", between),
    part("receiver", "", receiver),
    part("way", "", way),
    part("CPU", "CPU ", cpu),
    part("thread", "thread ", |entry| Some(entry.outcome.condition.thread.to_string())),
];

fn between(entry: &Entry<'_>) -> Option<String> {
    match entry.work() {
        Work::Notify { between: Between::Processes, .. } => Some("processes".to_owned()),
        Work::Notify { between: Between::Threads, .. } => Some("threads".to_owned()),
        _ => None,
    }
}

fn receiver(entry: &Entry<'_>) -> Option<String> {
    match entry.work() {
        Work::Notify { receiver: ReceiverCpu::HeldAwake, .. } => Some("CPU held awake".to_owned()),
        Work::Notify { .. } => Some("CPU as left".to_owned()),
        _ => None,
    }
}

fn way(entry: &Entry<'_>) -> Option<String> {
    match entry.work() {
        Work::Notify { round_trip: true, .. } => Some("there and back".to_owned()),
        Work::Notify { .. } => Some("one way".to_owned()),
        _ => None,
    }
}

fn cpu(entry: &Entry<'_>) -> Option<String> {
    let cpu = entry.outcome.condition.cpu?;
    let Work::Notify { sender_cpu: Some(sender), placement, .. } = entry.work() else {
        return Some(cpu.to_string());
    };
    let relation = match placement {
        None | Some(Placement::SameCpu) => return Some(format!("{sender} → {cpu}")),
        Some(Placement::SmtSibling) => "one core",
        Some(Placement::SameCache) => "one cache",
        Some(Placement::OtherCache) => "no common cache",
        Some(Placement::OtherNode) => "two nodes",
    };
    Some(format!("{sender} → {cpu} ({relation})"))
}

impl Part {
    /// Its value, where it applies.
    pub(crate) fn value(&self, entry: &Entry<'_>) -> Option<String> {
        (self.of)(entry)
    }

    /// Whether it is a length of time, which has an order of its own.
    pub(crate) fn is_length(&self) -> bool {
        matches!(self.heading, "period" | "asked" | "gap")
    }

    /// Its value with the word that says what it is.
    pub(crate) fn words(&self, entry: &Entry<'_>) -> Option<String> {
        self.value(entry).map(|value| format!("{}{value}", self.prefix))
    }
}

/// The parts in which `entries` differ.
pub(crate) fn varying(entries: &[Entry<'_>]) -> Vec<&'static Part> {
    let differs = |part: &&Part| {
        let first = entries.first().and_then(|entry| part.value(entry));
        entries.iter().any(|entry| part.value(entry) != first)
    };
    let mut parts: Vec<&Part> = PARTS.iter().filter(differs).collect();
    // A thread that is told apart by its CPU needs no number.
    let without: Vec<&Part> = parts.iter().copied().filter(|part| part.heading != "thread").collect();
    if names(entries, &without) == names(entries, &parts) {
        parts = without;
    }
    parts
}

/// How many different names these parts give.
fn names(entries: &[Entry<'_>], parts: &[&Part]) -> usize {
    entries.iter().map(|entry| name(entry, parts)).collect::<HashSet<_>>().len()
}

fn has(parts: &[&Part], heading: &str) -> bool {
    parts.iter().any(|part| part.heading == heading)
}

/// What `entry` is called by these parts.
pub(crate) fn name(entry: &Entry<'_>, parts: &[&Part]) -> String {
    let words: Vec<String> = parts.iter().filter_map(|part| part.words(entry)).collect();
    if words.is_empty() { "all wake-ups".to_owned() } else { words.join(" · ") }
}

/// What all `entries` have in common.
pub(crate) fn common(entries: &[Entry<'_>]) -> String {
    let varying = varying(entries);
    let is_common = |part: &&Part| {
        !has(&varying, part.heading) && !matches!(part.heading, "recording" | "kernel" | "thread")
    };
    let Some(first) = entries.first() else { return String::new() };
    let words: Vec<String> = PARTS.iter().filter(is_common).filter_map(|part| part.words(first)).collect();
    words.join(" · ")
}

/// Entries that are shown together, and what they have in common among all.
pub(crate) struct Facet<'a> {
    pub(crate) heading: String,
    pub(crate) entries: Vec<Entry<'a>>,
}

/// What to tell apart by place before it is told apart by colour.
const SPLIT_BY: [&str; 16] = [
    "asked",
    "gap",
    "period",
    "between",
    "way",
    "receiver",
    "host load",
    "vCPU threads",
    "load",
    "recording",
    "kernel",
    "slack",
    "CPU",
    "policy",
    "call",
    "thread",
];

/// Splits `entries` so that no group has more than `most`: by the one part that makes the fewest
/// groups, or by one part after the other. Groups of CPUs and threads stay whole.
pub(crate) fn facets<'a>(entries: &[Entry<'a>], most: usize) -> Vec<Facet<'a>> {
    let splittable: Vec<&'static Part> =
        varying(entries).into_iter().filter(|part| !matches!(part.heading, "CPU" | "thread")).collect();
    let in_order =
        SPLIT_BY.iter().filter_map(|heading| splittable.iter().find(|part| part.heading == *heading));
    let in_order: Vec<&'static Part> = in_order.copied().collect();
    let fits = |groups: &[Vec<Entry<'a>>]| groups.iter().all(|group| group.len() <= most);
    let whole = vec![entries.to_vec()];
    let by_one = in_order.iter().map(|part| (vec![*part], split(entries, part)));
    let fewest = by_one.filter(|(_, groups)| fits(groups)).min_by_key(|(_, groups)| groups.len());
    let (mut by, groups) = match fewest {
        _ if fits(&whole) => (Vec::new(), whole),
        Some(split) => split,
        None => split_again(whole, &in_order, fits),
    };
    by.sort_by_key(|part| PARTS.iter().position(|one| one.heading == part.heading));
    let facet = |entries: Vec<Entry<'a>>| {
        let heading = if by.is_empty() { String::new() } else { name(&entries[0], &by) };
        Facet { heading, entries }
    };
    groups.into_iter().filter(|group| !group.is_empty()).map(facet).collect()
}

/// Splits by one part after the other until the groups fit, or no part is left.
fn split_again<'a>(
    mut groups: Vec<Vec<Entry<'a>>>,
    parts: &[&'static Part],
    fits: impl Fn(&[Vec<Entry<'a>>]) -> bool,
) -> (Vec<&'static Part>, Vec<Vec<Entry<'a>>>) {
    let mut by = Vec::new();
    for part in parts {
        if fits(&groups) {
            break;
        }
        by.push(*part);
        groups = groups.iter().flat_map(|group| split(group, part)).collect();
    }
    (by, groups)
}

fn split<'a>(entries: &[Entry<'a>], part: &Part) -> Vec<Vec<Entry<'a>>> {
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

    #[test]
    fn conditions_are_called_by_what_differs() {
        let analysis = analysis(vec![
            cyclic("other", 0),
            cyclic("fifo:80", 0),
            cyclic("other", 1),
            cyclic("fifo:80", 1),
        ]);
        let entries = Entry::all(&[Recording { name: "run.jsonl", analysis: &analysis }]);
        let parts = varying(&entries);
        assert_eq!(name(&entries[1], &parts), "fifo:80 · CPU 0");
        assert_eq!(common(&entries), "clock_nanosleep · every 1ms · load idle");
        assert_eq!(name(&entries[0], &varying(&entries[..1])), "all wake-ups");
    }

    #[test]
    fn recordings_are_told_apart() {
        let analysis = analysis(vec![cyclic("other", 0)]);
        let recordings = ["a.jsonl", "b.jsonl"].map(|name| Recording { name, analysis: &analysis });
        let entries = Entry::all(&recordings);
        assert_eq!(name(&entries[1], &varying(&entries)), "b.jsonl");
    }

    #[test]
    fn groups_are_as_few_as_fit() {
        let lengths = ["10us", "100us", "1ms"];
        let conditions = ["other", "fifo:80"]
            .iter()
            .flat_map(|policy| lengths.map(|length| condition(&format!("sleep {length}"), policy, None)));
        let analysis = analysis(conditions.collect());
        let entries = Entry::all(&[Recording { name: "run.jsonl", analysis: &analysis }]);
        let headings =
            |most: usize| facets(&entries, most).into_iter().map(|facet| facet.heading).collect::<Vec<_>>();
        assert_eq!(headings(6), [""]);
        assert_eq!(headings(3), ["other", "fifo:80"]);
        assert_eq!(headings(2), ["for 10us", "for 100us", "for 1ms"]);
        assert_eq!(headings(1).len(), 6);
        let kept: usize = facets(&entries, 2).iter().map(|facet| facet.entries.len()).sum();
        assert_eq!(kept, entries.len());
    }

    #[test]
    fn threads_side_by_side_are_never_split() {
        let analysis = analysis((0..200).map(|cpu| cyclic("fifo:80", cpu)).collect());
        let entries = Entry::all(&[Recording { name: "run.jsonl", analysis: &analysis }]);
        assert_eq!(facets(&entries, 6).len(), 1);
    }
}
