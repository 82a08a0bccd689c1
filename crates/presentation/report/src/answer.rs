//! The headline of a report: one number, and the answer in a sentence or two.

use howlate_analyse::{Analysis, Ratio, Summary, ratio};
use howlate_model::{Latency, Property, Work, WorkKind};
use howlate_render::numbers::{count, latency_in};
use howlate_render::property::common_kind;
use howlate_render::{ComparisonReport, meaning, times_as_much, until, what_the_maxima_support};

use crate::condition_names::{NamePart, common, name_in_sentence, varying};
use crate::entry::Entry;

/// Title by kind of work.
pub(crate) fn heading(entries: &[Entry<'_>]) -> &'static str {
    match entries.first().map(|entry| entry.work()) {
        Some(Work::Sleep { .. }) => "How late sleeps return",
        Some(Work::Watch { .. }) => "How late the threads of a program run",
        Some(Work::Notify { .. }) => "How long one process or thread needs to wake another",
        _ => "How late threads wake",
    }
}

/// Title with the name of the watched program.
pub(crate) fn title(entries: &[Entry<'_>]) -> String {
    let heading = heading(entries);
    let name = entries.first().filter(|entry| is_watched(entry)).and_then(|entry| {
        let program = watched_program(&entry.recording.analysis.header.arguments)?;
        // A launcher replaces itself by the program: its thread has the name.
        if !LAUNCHERS.contains(&program.as_str()) {
            Some(program)
        } else {
            entry.outcome.condition.name.clone()
        }
    });
    name.map_or_else(|| heading.to_owned(), |name| format!("How late the threads of {name} run"))
}

/// Programs that start another program in their place.
const LAUNCHERS: [&str; 10] =
    ["chrt", "nice", "ionice", "taskset", "env", "sudo", "setsid", "numactl", "stdbuf", "timeout"];

/// The program's name on the command line: the word after `--`, or the first one.
fn watched_program(arguments: &[String]) -> Option<String> {
    let after = arguments.iter().position(|word| word == "--").map_or(1, |place| place + 1);
    let word = arguments.get(after).filter(|word| !word.starts_with('-'))?;
    if word.parse::<u32>().is_ok() {
        return Some(format!("process {word}"));
    }
    Some(word.rsplit('/').next().unwrap_or(word).to_owned()).filter(|name| !name.is_empty())
}

/// The number in the headline of a page.
pub(crate) struct HeadlineNumber<'a> {
    pub(crate) value: String,
    /// Which statistic and condition it is.
    pub(crate) about: String,
    /// The best and the worst condition, best_and_worst next to it.
    pub(crate) entries: Vec<Entry<'a>>,
}

/// The latency of the best choice in its worst circumstances; of a watched program, that of its worst thread. `None`
/// where nothing was measured.
pub(crate) fn number<'a>(entries: &[Entry<'a>]) -> Option<HeadlineNumber<'a>> {
    let measured = measured(entries);
    let first = measured.first()?;
    let (share, statistic): Share =
        if first.is_notify() { ("half of all", |summary| summary.p50) } else { self::share(&measured) };
    let late = |entry: &Entry<'_>| entry.judged_summary().map(|summary| statistic(&summary));
    if measured.iter().all(is_watched) || measured.len() == 1 {
        let worst = measured.iter().max_by_key(|entry| late(entry))?;
        let thread_name = if measured.len() > 1 {
            format!(" (the worst thread: {})", common(&[*worst]))
        } else {
            String::new()
        };
        return Some(HeadlineNumber {
            value: Latency::from_nanos(late(worst)?).to_string(),
            about: format!("{share} wake-ups came within this{thread_name}"),
            entries: vec![*worst],
        });
    }
    let (choice, circumstances) = choices(&measured);
    let ranked = worst_of_each(&measured, &choice, statistic);
    let (best, worst) = (ranked.first()?, ranked.last()?);
    let choice_name = if best.name.is_empty() { String::new() } else { format!(" with {}", best.name) };
    let best_and_worst = if ranked.len() > 1 { vec![best.worst, worst.worst] } else { vec![best.worst] };
    Some(HeadlineNumber {
        value: Latency::from_nanos(best.late).to_string(),
        about: format!(
            "{share} wake-ups came within this{choice_name}{}",
            circumstances_in_words(&circumstances, common_kind(&measured))
        ),
        entries: best_and_worst,
    })
}

/// A share of wake-ups in words, and the percentile for it.
type Share = (&'static str, fn(&Summary) -> i64);

/// What stopped the runs, then how late: by condition, or by the best choice. Factors are left to the
/// comparison, if there is one.
pub(crate) fn answer(entries: &[Entry<'_>], comparison_report: Option<&ComparisonReport<'_>>) -> String {
    let lateness = how_late(entries, comparison_report);
    goals(entries).into_iter().chain([lateness]).collect::<Vec<_>>().join(" ")
}

/// Whether each recording reached the goal of `--until`.
fn goals(entries: &[Entry<'_>]) -> Vec<String> {
    let mut analyses: Vec<&Analysis> = entries.iter().map(|entry| entry.recording.analysis).collect();
    analyses.dedup_by(|analysis, next| std::ptr::eq(*analysis, *next));
    analyses.into_iter().filter_map(until).collect()
}

fn how_late(entries: &[Entry<'_>], comparison_report: Option<&ComparisonReport<'_>>) -> String {
    match measured(entries).as_slice() {
        [] => longest_run_queue_wait(entries).unwrap_or_else(|| "Nothing was measured.".to_owned()),
        [entry] => single(entry),
        threads if threads.iter().all(is_watched) => worst(threads),
        several => recommended(several)
            .unwrap_or_else(|| format!("{}{}", comparison(several, comparison_report), supported(several))),
    }
}

/// Entries with wake-ups. Those with a refused policy are left out, unless there is nothing else.
fn measured<'a>(entries: &[Entry<'a>]) -> Vec<Entry<'a>> {
    let measured: Vec<Entry<'a>> = entries.iter().copied().filter(|entry| entry.rank().is_some()).collect();
    let with_requested_policy: Vec<Entry<'a>> =
        measured.iter().copied().filter(Entry::has_requested_policy).collect();
    if with_requested_policy.is_empty() { measured } else { with_requested_policy }
}

/// Of threads whose wake-ups were not recorded: which one waited longest for a CPU.
fn longest_run_queue_wait(entries: &[Entry<'_>]) -> Option<String> {
    let run_queue = |entry: &Entry<'_>| entry.outcome.rhythm.as_deref()?.run_queue();
    let waited = entries.iter().filter_map(|entry| Some((*entry, run_queue(entry)?)));
    let (entry, run_queue) = waited.max_by_key(|(_, run_queue)| run_queue.waited)?;
    let waited = Latency::from_nanos(i64::try_from(run_queue.waited.as_nanos()).unwrap_or(i64::MAX));
    Some(format!(
        "How late the threads were is unknown, as nothing recorded what woke them. {} waited longest for a CPU: {waited} in \
         all, to get one {} times.",
        common(&[entry]),
        count(run_queue.switch_ins)
    ))
}

fn is_watched(entry: &Entry<'_>) -> bool {
    matches!(entry.work(), Work::Watch { .. })
}

/// The worst thread of a watched program: threads are no choices.
fn worst(threads: &[Entry<'_>]) -> String {
    let p99 = |entry: &&Entry<'_>| entry.judged_summary().map(|summary| summary.p99);
    let worst = threads.iter().max_by_key(p99).map(single);
    format!("The worst of {}: {}", threads.len(), worst.unwrap_or_default())
}

fn single(entry: &Entry<'_>) -> String {
    let Some(summary) = entry.judged_summary() else { return String::new() };
    let (share, percentile) = share(&[*entry]);
    let [p50, within, max] =
        [summary.p50, percentile(&summary), summary.max].map(|nanos| latency_in(&summary, nanos));
    format!(
        "{}: usually {p50} late, {share} wake-ups within {within}. The worst was {max} late.{}",
        common(&[*entry]),
        supported(&[*entry])
    )
}

/// How far the maxima can be trusted.
fn supported(entries: &[Entry<'_>]) -> String {
    let supports = what_the_maxima_support(entries.iter().map(|entry| entry.outcome));
    supports.map_or_else(String::new, |text| format!(" {text}"))
}

/// The recommended way to notify.
fn recommended(entries: &[Entry<'_>]) -> Option<String> {
    let first = entries.first().filter(|entry| entry.is_notify())?;
    meaning(first.recording.analysis).into_iter().next()
}

/// Whether a part of the condition can be chosen; the others are circumstances.
const fn is_choice(part: NamePart) -> bool {
    match part {
        NamePart::NamedRecording => true,
        NamePart::Of(property) => match property {
            Property::Mechanism
            | Property::Clock
            | Property::Dither
            | Property::Policy
            | Property::Slack
            | Property::Kernel
            | Property::Knob
            | Property::VcpuPolicy => true,
            Property::Kind
            | Property::Node
            | Property::Name
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

/// The best and the worst choice, each in its worst circumstances.
fn comparison(entries: &[Entry<'_>], comparison_report: Option<&ComparisonReport<'_>>) -> String {
    let (choice, circumstances) = choices(entries);
    let (share, percentile) = share(entries);
    let circumstances_in_words = circumstances_in_words(&circumstances, common_kind(entries));
    let ranked = worst_of_each(entries, &choice, percentile);
    match ranked.as_slice() {
        [] => String::new(),
        [choice] => format!("{share} wake-ups come within {}{circumstances_in_words}.", choice.latency()),
        [best, .., worst] => {
            let factor = match comparison_report {
                Some(_) => ".".to_owned(),
                None => times_as_much(
                    ratio_of(best, worst, ranked.len()),
                    &deciding_command(&choice, best, worst),
                ),
            };
            format!(
                "With {}, {share} wake-ups come within {}{circumstances_in_words}; with {}, within {}{factor}",
                best.name,
                best.latency(),
                worst.name,
                worst.latency(),
            )
        }
    }
}

/// The parts that can be chosen, and the circumstances.
fn choices(entries: &[Entry<'_>]) -> (Vec<NamePart>, Vec<NamePart>) {
    let (choice, circumstances): (Vec<NamePart>, Vec<NamePart>) =
        varying(entries).into_iter().partition(|part| is_choice(*part));
    if !choice.is_empty() {
        return (choice, circumstances);
    }
    // Where nothing can be chosen, the load is the next that can be changed.
    circumstances.into_iter().partition(|part| *part == NamePart::Of(Property::Load))
}

/// The largest share of wake-ups that every condition has enough wake-ups for, and the percentile for it.
pub(crate) fn share(entries: &[Entry<'_>]) -> (&'static str, fn(&Summary) -> i64) {
    let supported = |tail| entries.iter().all(|entry| entry.supports(tail));
    match (supported(0.01), supported(0.1)) {
        (true, _) => ("99 of 100", |summary| summary.p99),
        (_, true) => ("9 of 10", |summary| summary.p90),
        _ => ("half of all", |summary| summary.p50),
    }
}

/// A choice, and the condition in which it is latest.
struct RankedChoice<'a> {
    name: String,
    late: i64,
    worst: Entry<'a>,
}

impl RankedChoice<'_> {
    /// Latency in its worst condition.
    fn latency(&self) -> String {
        let summary = self.worst.judged_summary();
        summary.map_or_else(String::new, |summary| latency_in(&summary, self.late))
    }
}

/// Each choice with its largest latency, the best first.
fn worst_of_each<'a>(
    entries: &[Entry<'a>],
    choice: &[NamePart],
    percentile: fn(&Summary) -> i64,
) -> Vec<RankedChoice<'a>> {
    let mut ranked: Vec<RankedChoice<'a>> = Vec::new();
    for entry in entries {
        let (name, Some(late)) =
            (name_in_sentence(entry, choice), entry.judged_summary().map(|summary| percentile(&summary)))
        else {
            continue;
        };
        match ranked.iter_mut().find(|worst| worst.name == name) {
            Some(worst) if worst.late >= late => {}
            Some(worst) => (worst.late, worst.worst) = (late, *entry),
            None => ranked.push(RankedChoice { name, late, worst: *entry }),
        }
    }
    ranked.sort_by_key(|choice| choice.late);
    ranked
}

/// Ratio of the worst choice to the best, by pairs of turns of one recording. Both were picked from `choices`, so
/// that the interval is corrected for that many comparisons.
fn ratio_of(best: &RankedChoice<'_>, worst: &RankedChoice<'_>, choices: usize) -> Ratio {
    if !std::ptr::eq(best.worst.recording.analysis, worst.worst.recording.analysis) {
        return Ratio::Open { pairs: 0 };
    }
    ratio(best.worst.outcome, worst.worst.outcome, |turn| turn.p99, choices * (choices - 1) / 2)
}

/// The command that tests an undecided difference.
fn deciding_command(choice: &[NamePart], best: &RankedChoice<'_>, worst: &RankedChoice<'_>) -> String {
    let [recording, other] = [best, worst].map(|choice| choice.worst.recording.name);
    match choice {
        _ if other != recording => format!("howlate compare {other} {recording}"),
        [NamePart::Of(property)] => format!("howlate compare {recording} --by {property}"),
        _ => format!("howlate compare {recording}"),
    }
}

/// The circumstances in words: `, whatever the load, on the worst CPU`.
fn circumstances_in_words(parts: &[NamePart], work: Option<WorkKind>) -> String {
    let on = if parts.contains(&NamePart::Of(Property::Cpu)) { " on the worst CPU" } else { "" };
    let is_listed = |part: &&NamePart| match part {
        NamePart::Of(Property::Cpu) => false,
        NamePart::Of(Property::Thread) => parts.len() == 1,
        _ => true,
    };
    let word = |part: &NamePart| match part {
        NamePart::Of(Property::Length) if work == Some(WorkKind::Sleep) => "length",
        other => other.heading(work),
    };
    let mut words: Vec<&str> = parts.iter().filter(is_listed).map(word).collect();
    let Some(last) = words.pop() else { return on.to_owned() };
    let comma = if on.is_empty() { "" } else { "," };
    if words.is_empty() {
        format!(", whatever the {last}{comma}{on}")
    } else {
        format!(", whatever the {} and {last}{comma}{on}", words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NamedRecording;
    use crate::testing::{add, analysis, cyclic, refuse, turn};

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
        let entries = Entry::all(&[NamedRecording::new("run.jsonl", &analysis)]);
        assert_eq!(
            answer(&entries, None),
            "With fifo:80, 99 of 100 wake-ups come within 50.0 µs on the worst CPU; with normal scheduling \
             (other), within 1.00 ms; \
             1 pair of turns does not show by how much. To find out: `howlate compare run.jsonl --by policy`."
        );
    }

    #[test]
    fn what_was_refused_is_called_by_what_ran_and_not_compared() {
        let mut analysis = analysis(vec![cyclic("other", 0), cyclic("fifo:80", 0)]);
        refuse(&mut analysis, 1);
        add(&mut analysis, 0, 1_000, 34_000);
        add(&mut analysis, 1, 1_000, 10_000);
        let entries = Entry::all(&[NamedRecording::new("run.jsonl", &analysis)]);
        assert_eq!(name_in_sentence(&entries[1], &varying(&entries)), "fifo:80 refused, ran as other");
        let sentence = answer(&entries, None);
        assert!(sentence.starts_with("clock_nanosleep · every 1 ms · other"), "{sentence}");
        assert!(!sentence.contains("fifo") && !sentence.contains("times as"), "{sentence}");
    }

    #[test]
    fn a_factor_stands_with_its_interval() {
        let mut analysis = analysis(vec![cyclic("other", 0), cyclic("fifo:80", 0)]);
        for round in 0..8 {
            turn(&mut analysis, 0, round, 90_000 + i64::from(round) * 100);
            turn(&mut analysis, 1, round, 30_000);
        }
        let entries = Entry::all(&[NamedRecording::new("run.jsonl", &analysis)]);
        let sentence = answer(&entries, None);
        assert!(
            sentence.contains("; per pair of turns, 3.0 times as much (95 % interval, 8 pairs)."),
            "{sentence}"
        );
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        let analysis = analysis(vec![cyclic("other", 0)]);
        assert_eq!(
            answer(&Entry::all(&[NamedRecording::new("run.jsonl", &analysis)]), None),
            "Nothing was measured."
        );
    }
}
