//! The answer in a sentence or two.

use howlate_analyse::Summary;
use howlate_model::{Latency, Property, Work, WorkKind};
use howlate_render::numbers::{count, times};
use howlate_render::property::common_kind;
use howlate_render::{meaning, what_the_maximum_supports};

use crate::entry::Entry;
use crate::names::{Part, common, name, varying};

/// What the page is about.
pub(crate) fn heading(entries: &[Entry<'_>]) -> &'static str {
    match entries.first().map(|entry| entry.work()) {
        Some(Work::Sleep { .. }) => "How late sleeps return",
        Some(Work::Notify { .. }) => "How long one needs to wake another",
        _ => "How late threads wake",
    }
}

/// The answer: how late, and with which choice least.
pub(crate) fn answer(entries: &[Entry<'_>]) -> String {
    let measured: Vec<Entry<'_>> = entries.iter().copied().filter(|entry| entry.rank().is_some()).collect();
    match measured.as_slice() {
        [] => "Nothing was measured.".to_owned(),
        [one] => single(one),
        several => {
            recommended(several).unwrap_or_else(|| format!("{}{}", comparison(several), supported(several)))
        }
    }
}

fn single(entry: &Entry<'_>) -> String {
    let Some(summary) = entry.judged() else { return String::new() };
    let (share, of) = share(&[*entry]);
    let [p50, within, max] = [summary.p50, of(&summary), summary.max].map(Latency::from_nanos);
    format!(
        "{}: usually {p50} late, {share} wake-ups within {within}. The latest was {max} late.{}",
        common(&[*entry]),
        supported(&[*entry])
    )
}

/// What the maxima are worth.
fn supported(entries: &[Entry<'_>]) -> String {
    let least = entries.iter().map(|entry| entry.outcome.count()).min().unwrap_or(0);
    let supports = what_the_maximum_supports(least);
    supports.map_or_else(String::new, |text| format!(" {} wake-ups say: {text}.", count(least)))
}

/// Of ways to notify, the one that leaves the CPU to others is said first.
fn recommended(entries: &[Entry<'_>]) -> Option<String> {
    let first = entries.first().filter(|entry| entry.is_notify())?;
    meaning(first.recording.analysis).into_iter().next()
}

/// What one can choose first; the other parts are circumstances, which one has to live with.
const fn is_choice(part: Part) -> bool {
    match part {
        Part::Recording => true,
        Part::Of(property) => match property {
            Property::Mechanism
            | Property::Policy
            | Property::Slack
            | Property::Kernel
            | Property::VcpuPolicy => true,
            Property::Kind
            | Property::HostLoad
            | Property::Length
            | Property::Load
            | Property::Between
            | Property::Receiver
            | Property::RoundTrip
            | Property::Cpu
            | Property::Thread => false,
        },
    }
}

/// The best and the worst choice, each judged by its worst circumstances.
fn comparison(entries: &[Entry<'_>]) -> String {
    let parts = varying(entries);
    let (mut choice, mut circumstances): (Vec<Part>, Vec<Part>) =
        parts.into_iter().partition(|part| is_choice(*part));
    // Where nothing can be chosen, what the machine is burdened with is the next that one can change.
    if choice.is_empty() {
        (choice, circumstances) =
            circumstances.into_iter().partition(|part| *part == Part::Of(Property::Load));
    }
    let (share, of) = share(entries);
    let whatever = whatever(&circumstances, common_kind(entries));
    let ranked = worst_of_each(entries, &choice, of);
    match ranked.as_slice() {
        [] => String::new(),
        [(_, late)] => format!("{share} wake-ups come within {}{whatever}.", Latency::from_nanos(*late)),
        [(best, least), .., (worst, most)] => format!(
            "With {best}, {share} wake-ups come within {}{whatever}; with {worst}, within {}: {} times as much.",
            Latency::from_nanos(*least),
            Latency::from_nanos(*most),
            times(*most, *least)
        ),
    }
}

/// The largest share of wake-ups that each condition has enough of, and the number for it.
fn share(entries: &[Entry<'_>]) -> (&'static str, fn(&Summary) -> i64) {
    let supported = |tail| entries.iter().all(|entry| entry.supports(tail));
    match (supported(0.01), supported(0.1)) {
        (true, _) => ("99 of 100", |summary| summary.p99),
        (_, true) => ("9 of 10", |summary| summary.p90),
        _ => ("half of all", |summary| summary.p50),
    }
}

/// Each choice and the largest such number under it, the best first.
fn worst_of_each(entries: &[Entry<'_>], choice: &[Part], of: fn(&Summary) -> i64) -> Vec<(String, i64)> {
    let mut ranked: Vec<(String, i64)> = Vec::new();
    for entry in entries {
        let (name, Some(late)) = (name(entry, choice), entry.judged().map(|one| of(&one))) else { continue };
        match ranked.iter_mut().find(|(known, _)| *known == name) {
            Some((_, worst)) => *worst = late.max(*worst),
            None => ranked.push((name, late)),
        }
    }
    ranked.sort_by_key(|(_, late)| *late);
    ranked
}

/// `, whatever the load and CPU`.
fn whatever(parts: &[Part], work: Option<WorkKind>) -> String {
    let is_said = |part: &&Part| **part != Part::Of(Property::Thread) || parts.len() == 1;
    let word = |part: &Part| match part {
        Part::Of(Property::Length) if work == Some(WorkKind::Sleep) => "length",
        other => other.heading(work),
    };
    let mut words: Vec<&str> = parts.iter().filter(is_said).map(word).collect();
    match words.pop() {
        None => String::new(),
        Some(last) if words.is_empty() => format!(", whatever the {last}"),
        Some(last) => format!(", whatever the {} and {last}", words.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recording;
    use crate::testing::{add, analysis, cyclic};

    #[test]
    fn a_choice_is_judged_by_its_worst_circumstances() {
        let mut analysis = analysis(vec![
            cyclic("other", 0),
            cyclic("other", 1),
            cyclic("fifo:80", 0),
            cyclic("fifo:80", 1),
        ]);
        for (condition, late) in [(0, 10_000), (1, 1_000_000), (2, 20_000), (3, 50_000)] {
            add(&mut analysis, condition, 1_000, late);
        }
        let entries = Entry::all(&[Recording { name: "run.jsonl", analysis: &analysis }]);
        assert_eq!(
            answer(&entries),
            "With fifo:80, 99 of 100 wake-ups come within 50.0 µs, whatever the CPU; with other, within 1.00 ms: 20 times as much. \
             1 000 wake-ups say: no later than the max but for at most 1 wake-up in 334 (95 %, if they are independent)."
        );
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        let analysis = analysis(vec![cyclic("other", 0)]);
        assert_eq!(
            answer(&Entry::all(&[Recording { name: "run.jsonl", analysis: &analysis }])),
            "Nothing was measured."
        );
    }
}
