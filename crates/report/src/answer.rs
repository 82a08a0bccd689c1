//! The answer in a sentence or two.

use howlate_model::{Latency, Work};
use howlate_render::numbers::{count, times};
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
    let [p50, p99, max] = [summary.p50, summary.p99, summary.max].map(Latency::from_nanos);
    format!(
        "{}: usually {p50} late, 1 time in 100 more than {p99}. The latest was {max} late.{}",
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

/// What one can choose; the other parts are circumstances, which one has to live with.
const CHOICES: [&[&str]; 2] = [&["call", "policy", "slack", "recording", "kernel"], &["load"]];

/// The best and the worst choice, each judged by its worst circumstances.
fn comparison(entries: &[Entry<'_>]) -> String {
    let parts = varying(entries);
    let chosen = |names: &&[&str]| -> Vec<&Part> {
        parts.iter().copied().filter(|part| names.contains(&part.heading)).collect()
    };
    let choice = CHOICES.iter().map(chosen).find(|chosen| !chosen.is_empty()).unwrap_or_default();
    let circumstances: Vec<&Part> =
        parts.iter().copied().filter(|part| !choice.iter().any(|one| one.heading == part.heading)).collect();
    let whatever = whatever(&circumstances);
    let ranked = worst_of_each(entries, &choice);
    let late = |place: usize| ranked.get(place).map_or(0, |(_, late)| *late);
    let within = |place: usize| Latency::from_nanos(late(place));
    match ranked.as_slice() {
        [] => String::new(),
        [_] => format!("99 of 100 wake-ups come within {}{whatever}.", within(0)),
        [(best, _), .., (worst, most)] => format!(
            "With {best}, 99 of 100 wake-ups come within {}{whatever}; with {worst}, within {}: {} times as much.",
            within(0),
            Latency::from_nanos(*most),
            times(*most, late(0))
        ),
    }
}

/// Each choice and the largest rank under it, the best first.
fn worst_of_each(entries: &[Entry<'_>], choice: &[&Part]) -> Vec<(String, i64)> {
    let mut ranked: Vec<(String, i64)> = Vec::new();
    for entry in entries {
        let (name, Some(late)) = (name(entry, choice), entry.rank()) else { continue };
        match ranked.iter_mut().find(|(known, _)| *known == name) {
            Some((_, worst)) => *worst = late.max(*worst),
            None => ranked.push((name, late)),
        }
    }
    ranked.sort_by_key(|(_, late)| *late);
    ranked
}

/// `, whatever the load and CPU`.
fn whatever(parts: &[&Part]) -> String {
    let mut words: Vec<&str> = parts
        .iter()
        .map(|part| match part.heading {
            "asked" => "length",
            other => other,
        })
        .collect();
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
