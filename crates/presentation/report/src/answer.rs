//! The answer in a sentence or two.

use howlate_analyse::{Analysis, Ratio, Summary, ratio};
use howlate_model::{Latency, Property, Work, WorkKind};
use howlate_render::numbers::{count, latency_in};
use howlate_render::property::common_kind;
use howlate_render::{ComparisonReport, meaning, times_as_much, until, what_the_maxima_support};

use crate::condition_names::{Part, common, spoken, varying};
use crate::entry::Entry;

/// What the page is about.
pub(crate) fn heading(entries: &[Entry<'_>]) -> &'static str {
    match entries.first().map(|entry| entry.work()) {
        Some(Work::Sleep { .. }) => "How late sleeps return",
        Some(Work::Watch { .. }) => "How late the threads of a program run",
        Some(Work::Notify { .. }) => "How long one process or thread needs to wake another",
        _ => "How late threads wake",
    }
}

/// The same with the name of the program that was watched.
pub(crate) fn title(entries: &[Entry<'_>]) -> String {
    let heading = heading(entries);
    let program = entries.first().filter(|entry| is_watched(entry)).and_then(|entry| {
        let typed = watched_program(&entry.recording.analysis.header.arguments)?;
        // What starts another program becomes that: its thread has the name.
        if !LAUNCHERS.contains(&typed.as_str()) { Some(typed) } else { entry.outcome.condition.name.clone() }
    });
    program.map_or_else(|| heading.to_owned(), |name| format!("How late the threads of {name} run"))
}

/// Programs that others are started with.
const LAUNCHERS: [&str; 10] =
    ["chrt", "nice", "ionice", "taskset", "env", "sudo", "setsid", "numactl", "stdbuf", "timeout"];

/// What was typed as the program: the words after `--`, or the first one.
fn watched_program(arguments: &[String]) -> Option<String> {
    let after = arguments.iter().position(|word| word == "--").map_or(1, |place| place + 1);
    let word = arguments.get(after).filter(|word| !word.starts_with('-'))?;
    if word.parse::<u32>().is_ok() {
        return Some(format!("process {word}"));
    }
    Some(word.rsplit('/').next().unwrap_or(word).to_owned()).filter(|name| !name.is_empty())
}

/// The one number of a result.
pub(crate) struct Number<'a> {
    /// With its unit.
    pub(crate) value: String,
    /// What it is of.
    pub(crate) about: String,
    /// The best and the worst, which are drawn beside it.
    pub(crate) entries: Vec<Entry<'a>>,
}

/// How late the best choice is in its worst circumstances; of a program's threads, the worst one. `None` where nothing was measured.
pub(crate) fn number<'a>(entries: &[Entry<'a>]) -> Option<Number<'a>> {
    let measured = measured(entries);
    let first = measured.first()?;
    let (share, of): Share =
        if first.is_notify() { ("half of all", |summary| summary.p50) } else { self::share(&measured) };
    let late = |entry: &Entry<'_>| entry.judged_summary().map(|summary| of(&summary));
    if measured.iter().all(is_watched) || measured.len() == 1 {
        let worst = measured.iter().max_by_key(|entry| late(entry))?;
        let whose = if measured.len() > 1 {
            format!(" (the worst thread: {})", common(&[*worst]))
        } else {
            String::new()
        };
        return Some(Number {
            value: Latency::from_nanos(late(worst)?).to_string(),
            about: format!("{share} wake-ups came within this{whose}"),
            entries: vec![*worst],
        });
    }
    let (choice, circumstances) = choices(&measured);
    let ranked = worst_of_each(&measured, &choice, of);
    let (best, worst) = (ranked.first()?, ranked.last()?);
    let with = if best.name.is_empty() { String::new() } else { format!(" with {}", best.name) };
    let others = if ranked.len() > 1 { vec![best.worst, worst.worst] } else { vec![best.worst] };
    Some(Number {
        value: Latency::from_nanos(best.late).to_string(),
        about: format!(
            "{share} wake-ups came within this{with}{}",
            whatever(&circumstances, common_kind(&measured))
        ),
        entries: others,
    })
}

/// A share of wake-ups, and the number for it.
type Share = (&'static str, fn(&Summary) -> i64);

/// The answer: how late, and with which choice least. Where conditions were compared, that says by how much. What a run went on
/// until comes first.
pub(crate) fn answer(entries: &[Entry<'_>], compared: Option<&ComparisonReport<'_>>) -> String {
    let late = how_late(entries, compared);
    goals(entries).into_iter().chain([late]).collect::<Vec<_>>().join(" ")
}

/// What is known of that which each recording was to go on until.
fn goals(entries: &[Entry<'_>]) -> Vec<String> {
    let mut analyses: Vec<&Analysis> = entries.iter().map(|entry| entry.recording.analysis).collect();
    analyses.dedup_by(|one, other| std::ptr::eq(*one, *other));
    analyses.into_iter().filter_map(until).collect()
}

fn how_late(entries: &[Entry<'_>], compared: Option<&ComparisonReport<'_>>) -> String {
    match measured(entries).as_slice() {
        [] => unseen(entries).unwrap_or_else(|| "Nothing was measured.".to_owned()),
        [one] => single(one),
        threads if threads.iter().all(is_watched) => worst(threads),
        several => recommended(several)
            .unwrap_or_else(|| format!("{}{}", comparison(several, compared), supported(several))),
    }
}

/// Those with numbers. What ran as something else is not compared, unless there is nothing else to tell of.
fn measured<'a>(entries: &[Entry<'a>]) -> Vec<Entry<'a>> {
    let measured: Vec<Entry<'a>> = entries.iter().copied().filter(|entry| entry.rank().is_some()).collect();
    let as_asked: Vec<Entry<'a>> = measured.iter().copied().filter(Entry::ran_as_asked).collect();
    if as_asked.is_empty() { measured } else { as_asked }
}

/// Of threads that nobody saw woken: which one waited longest for a CPU.
fn unseen(entries: &[Entry<'_>]) -> Option<String> {
    let got = |entry: &Entry<'_>| entry.outcome.rhythm.as_deref()?.run_queue();
    let waited = entries.iter().filter_map(|entry| Some((*entry, got(entry)?)));
    let (entry, got) = waited.max_by_key(|(_, got)| got.waited)?;
    let waited = Latency::from_nanos(i64::try_from(got.waited.as_nanos()).unwrap_or(i64::MAX));
    Some(format!(
        "How late the threads were is unknown, as nothing recorded what woke them. {} waited longest for a CPU: {waited} in \
         all, to get one {} times.",
        common(&[entry]),
        count(got.switch_ins)
    ))
}

fn is_watched(entry: &Entry<'_>) -> bool {
    matches!(entry.work(), Work::Watch { .. })
}

/// Threads of a program are no choices: the one that fares worst is told.
fn worst(threads: &[Entry<'_>]) -> String {
    let p99 = |entry: &&Entry<'_>| entry.judged_summary().map(|summary| summary.p99);
    let worst = threads.iter().max_by_key(p99).map(single);
    format!("The worst of {}: {}", threads.len(), worst.unwrap_or_default())
}

fn single(entry: &Entry<'_>) -> String {
    let Some(summary) = entry.judged_summary() else { return String::new() };
    let (share, of) = share(&[*entry]);
    let [p50, within, max] =
        [summary.p50, of(&summary), summary.max].map(|nanos| latency_in(&summary, nanos));
    format!(
        "{}: usually {p50} late, {share} wake-ups within {within}. The worst was {max} late.{}",
        common(&[*entry]),
        supported(&[*entry])
    )
}

/// What the maxima are worth.
fn supported(entries: &[Entry<'_>]) -> String {
    let supports = what_the_maxima_support(entries.iter().map(|entry| entry.outcome));
    supports.map_or_else(String::new, |text| format!(" {text}"))
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

/// The best and the worst choice, each judged by its worst circumstances.
fn comparison(entries: &[Entry<'_>], compared: Option<&ComparisonReport<'_>>) -> String {
    let (choice, circumstances) = choices(entries);
    let (share, of) = share(entries);
    let whatever = whatever(&circumstances, common_kind(entries));
    let ranked = worst_of_each(entries, &choice, of);
    match ranked.as_slice() {
        [] => String::new(),
        [only] => format!("{share} wake-ups come within {}{whatever}.", only.latency()),
        [best, .., worst] => {
            let much = match compared {
                Some(_) => ".".to_owned(),
                None => times_as_much(ratio_of(best, worst, ranked.len()), &settled_by(&choice, best, worst)),
            };
            format!(
                "With {}, {share} wake-ups come within {}{whatever}; with {}, within {}{much}",
                best.name,
                best.latency(),
                worst.name,
                worst.latency(),
            )
        }
    }
}

/// What one can choose, and the circumstances.
fn choices(entries: &[Entry<'_>]) -> (Vec<Part>, Vec<Part>) {
    let (choice, circumstances): (Vec<Part>, Vec<Part>) =
        varying(entries).into_iter().partition(|part| is_choice(*part));
    if !choice.is_empty() {
        return (choice, circumstances);
    }
    // Where nothing can be chosen, what the machine is burdened with is the next that one can change.
    circumstances.into_iter().partition(|part| *part == Part::Of(Property::Load))
}

/// The largest share of wake-ups that each condition has enough of, and the number for it.
pub(crate) fn share(entries: &[Entry<'_>]) -> (&'static str, fn(&Summary) -> i64) {
    let supported = |tail| entries.iter().all(|entry| entry.supports(tail));
    match (supported(0.01), supported(0.1)) {
        (true, _) => ("99 of 100", |summary| summary.p99),
        (_, true) => ("9 of 10", |summary| summary.p90),
        _ => ("half of all", |summary| summary.p50),
    }
}

/// A choice, and the condition in which it fares worst.
struct Choice<'a> {
    name: String,
    late: i64,
    worst: Entry<'a>,
}

impl Choice<'_> {
    /// How late it is in its worst condition.
    fn latency(&self) -> String {
        let summary = self.worst.judged_summary();
        summary.map_or_else(String::new, |summary| latency_in(&summary, self.late))
    }
}

/// Each choice with the largest such number under it, the best first.
fn worst_of_each<'a>(entries: &[Entry<'a>], choice: &[Part], of: fn(&Summary) -> i64) -> Vec<Choice<'a>> {
    let mut ranked: Vec<Choice<'a>> = Vec::new();
    for entry in entries {
        let (name, Some(late)) = (spoken(entry, choice), entry.judged_summary().map(|one| of(&one))) else {
            continue;
        };
        match ranked.iter_mut().find(|known| known.name == name) {
            Some(known) if known.late >= late => {}
            Some(known) => (known.late, known.worst) = (late, *entry),
            None => ranked.push(Choice { name, late, worst: *entry }),
        }
    }
    ranked.sort_by_key(|one| one.late);
    ranked
}

/// How many times as late the worst choice is as the best. Both were picked from `choices`, so that as many
/// pairs stand to be told apart; only turns of one recording are pairs.
fn ratio_of(best: &Choice<'_>, worst: &Choice<'_>, choices: usize) -> Ratio {
    if !std::ptr::eq(best.worst.recording.analysis, worst.worst.recording.analysis) {
        return Ratio::Open { pairs: 0 };
    }
    ratio(best.worst.outcome, worst.worst.outcome, |turn| turn.p99, choices * (choices - 1) / 2)
}

/// The command that tests what the page leaves open.
fn settled_by(choice: &[Part], best: &Choice<'_>, worst: &Choice<'_>) -> String {
    let [recording, other] = [best, worst].map(|one| one.worst.recording.name);
    match choice {
        _ if other != recording => format!("howlate compare {other} {recording}"),
        [Part::Of(property)] => format!("howlate compare {recording} --by {property}"),
        _ => format!("howlate compare {recording}"),
    }
}

/// `, whatever the load, on the worst CPU`.
fn whatever(parts: &[Part], work: Option<WorkKind>) -> String {
    let on = if parts.contains(&Part::Of(Property::Cpu)) { " on the worst CPU" } else { "" };
    let is_said = |part: &&Part| match part {
        Part::Of(Property::Cpu) => false,
        Part::Of(Property::Thread) => parts.len() == 1,
        _ => true,
    };
    let word = |part: &Part| match part {
        Part::Of(Property::Length) if work == Some(WorkKind::Sleep) => "length",
        other => other.heading(work),
    };
    let mut words: Vec<&str> = parts.iter().filter(is_said).map(word).collect();
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
    use crate::Recording;
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
        let entries = Entry::all(&[Recording::new("run.jsonl", &analysis)]);
        assert_eq!(
            answer(&entries, None),
            "With fifo:80, 99 of 100 wake-ups come within 50.0 µs on the worst CPU; with ordinary scheduling \
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
        let entries = Entry::all(&[Recording::new("run.jsonl", &analysis)]);
        assert_eq!(spoken(&entries[1], &varying(&entries)), "fifo:80 refused, ran as other");
        let said = answer(&entries, None);
        assert!(said.starts_with("clock_nanosleep · every 1 ms · other"), "{said}");
        assert!(!said.contains("fifo") && !said.contains("times as"), "{said}");
    }

    #[test]
    fn a_factor_stands_with_its_interval() {
        let mut analysis = analysis(vec![cyclic("other", 0), cyclic("fifo:80", 0)]);
        for round in 0..8 {
            turn(&mut analysis, 0, round, 90_000 + i64::from(round) * 100);
            turn(&mut analysis, 1, round, 30_000);
        }
        let entries = Entry::all(&[Recording::new("run.jsonl", &analysis)]);
        let said = answer(&entries, None);
        assert!(said.contains("; per pair of turns, 3.0 times as much (95 % interval, 8 pairs)."), "{said}");
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        let analysis = analysis(vec![cyclic("other", 0)]);
        assert_eq!(
            answer(&Entry::all(&[Recording::new("run.jsonl", &analysis)]), None),
            "Nothing was measured."
        );
    }
}
