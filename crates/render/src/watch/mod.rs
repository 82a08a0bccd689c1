//! Tables of programs that were watched.

mod event_loops;
mod run_queue;
mod sentence;
mod spans;
#[cfg(test)]
mod tests;

pub use event_loops::{EventLoopRows, StayedAway, event_loop_rows, event_loops_away, stayed_away};
pub(crate) use spans::table as spans;

use std::cmp::Reverse;
use std::collections::HashMap;

use howlate_analyse::cause::{Why, WhyCause};
use howlate_analyse::watch::{Rhythm, ThreadSummary};
use howlate_analyse::{Analysis, Outcome, percentile};
use howlate_model::{Activation, HandedOn, Holder, Latency, Span, TurnsBlock, Who, Work};

use crate::ask_again::show_again;
use crate::cause_words::{cause_in_words, percent};
use crate::confidence::too_few;
use crate::detail::Detail;
use crate::numbers::{count, micros};
use crate::property::setting;
use crate::prose::wrapped;
use crate::result_columns::{MAX, MEDIAN, P99, RowNumbers};
use crate::style::{DIM, HEADING, paint};
use crate::table::Columns;
use crate::untrusted_text::legible;

/// Threads that have a row, in all and on one screen.
const MOST_SHOWN: usize = 40;
const MOST_IN_BRIEF: usize = 10;
/// Threads whose wakers are told one by one, and as many of each.
const THREADS_TOLD: usize = 8;
const WAKERS_TOLD: usize = 4;

/// One row per thread and kind of activation, and who woke them.
pub(crate) fn tables(analysis: &Analysis, detail: Detail, width: usize) -> String {
    let late = analysis.header.late_above;
    let (unseen, outcomes) = analysis.outcomes().iter().partition(is_unseen);
    let unseen = run_queue::table(unseen, width);
    let most = if detail == Detail::Full { MOST_SHOWN } else { MOST_IN_BRIEF };
    let (outcomes, left_out) = shown(outcomes, most);
    if outcomes.is_empty() && !unseen.is_empty() {
        return unseen;
    }
    let outcomes = outcomes.as_slice();
    let more = match left_out {
        0 => String::new(),
        some if detail == Detail::Full => {
            format!("  {some} more threads were less late; `--json` has all.\n")
        }
        some => format!("  {some} more were less late: {}.\n", show_again(analysis, "--details")),
    };
    let event_loops = event_loops::rows(outcomes, width);
    let (stayed_away, shared) = (event_loops::stayed_away(outcomes), event_loops::shared(outcomes));
    let outcomes: Vec<&Outcome> = outcomes.iter().copied().filter(has_run).collect();
    let outcomes = outcomes.as_slice();
    let loops = loops(outcomes, width);
    let wakers = if detail == Detail::Full { wakers(outcomes, width) } else { String::new() };
    let rows = activations(outcomes, late).text(width);
    let few = too_few(outcomes.iter().map(|one| one.latency()), &[P99]);
    let few = few.map_or_else(String::new, |text| format!("{}\n", paint(DIM, wrapped(&text, width, 0))));
    let meaning =
        stayed_away.into_iter().map(|one| one.what).chain(sentence::latest(outcomes, late)).chain(shared);
    let meaning = self::meaning(meaning, width);
    format!("Threads of a program · µs\n\n{rows}{more}{few}\n{event_loops}{loops}{wakers}{unseen}{meaning}")
}

/// What the numbers mean, a sentence or two each; empty where there is nothing to be said.
fn meaning(sentences: impl Iterator<Item = String>, width: usize) -> String {
    let lines: String = sentences.map(|text| format!("  {}\n", wrapped(&text, width, 2))).collect();
    if lines.is_empty() { lines } else { format!("{}\n{lines}\n", paint(HEADING, "What this means")) }
}

/// A row for each thread and kind of activation: what woke it, how often, how late, and mostly by what.
fn activations(outcomes: &[&Outcome], late: Option<Span>) -> Columns {
    let mut table = Columns::without_columns(2);
    table.column("thread", subjects(outcomes));
    table.column("delay after", cells(outcomes, |one| late_from(one).to_owned()));
    table.column("period", cells(outcomes, |one| span(one.rhythm.as_deref().and_then(Rhythm::period))));
    table.column("jitter", cells(outcomes, |one| span(one.rhythm.as_deref().and_then(Rhythm::jitter))));
    table.column("wake-ups", cells(outcomes, |one| count(one.count())));
    table.column("missed", cells(outcomes, |one| one.known_missed().map_or_else(none, count)));
    if late.is_some() {
        let number = |one: &Outcome| one.why_late(late).map_or_else(none, |why| count(why.late.count));
        table.column("late", cells(outcomes, number));
    }
    let numbers = outcomes.iter().map(|one| RowNumbers::supported_by(one.latency()));
    table.results(&[MEDIAN, P99, MAX], &numbers.collect::<Vec<_>>());
    let mostly_by = |one: &Outcome| one.why_late(late).and_then(|why| mostly(&why)).unwrap_or_else(none);
    table.column("main cause", cells(outcomes, mostly_by));
    table.empty_unknown();
    table
}

/// Not only an event loop whose thread never slept.
fn has_run(outcome: &&Outcome) -> bool {
    outcome.count() > 0 || event_loops::event_loop_of(outcome).is_none()
}

/// Nobody saw what woke it.
fn is_unseen(outcome: &&Outcome) -> bool {
    matches!(outcome.condition.work, Work::Watch { mechanism: Activation::Unseen })
}

/// The threads that are shown, and how many are not: those that were late least. The busiest thread comes first, with all that
/// made it run; one that woke once or twice is not above one that did a thousand times.
fn shown(mut shown: Vec<&Outcome>, most: usize) -> (Vec<&Outcome>, usize) {
    let all = shown.len();
    shown.sort_by_key(|one| Reverse((percentile(one.latency(), 0.99), one.latency().max())));
    shown.truncate(most);
    let mut wakeups: HashMap<Subject, u64> = HashMap::new();
    for one in &shown {
        *wakeups.entry(subject(one)).or_default() += one.count();
    }
    let setting = |one: &Outcome| one.condition.tuned.as_ref().map(ToString::to_string);
    shown.sort_by_cached_key(|one| {
        let subject = subject(one);
        (Reverse(wakeups[&subject]), subject, late_from(one), name(one), setting(one))
    });
    let left_out = all - shown.len();
    (shown, left_out)
}

/// What rows of one thread have in common, also where one of them is a loop with a name of its own.
type Subject = (Option<u32>, Option<String>, u32);

fn subject(outcome: &Outcome) -> Subject {
    match tid_of(outcome) {
        Some(tid) => (Some(tid), None, 0),
        None => (None, outcome.condition.name.clone(), outcome.condition.thread),
    }
}

/// The thread's id, where it is of one thread alone.
fn tid_of(outcome: &Outcome) -> Option<u32> {
    let is_one = outcome.rhythm.as_deref().and_then(Rhythm::threads).is_none_or(|threads| threads == 1);
    outcome.in_force.as_ref().map(|in_force| in_force.tid).filter(|tid| is_one && *tid != 0)
}

/// The names of threads, each with its id where it comes first.
fn subjects(outcomes: &[&Outcome]) -> Vec<String> {
    let is_first = |number: usize, one: &Outcome| {
        outcomes.iter().position(|other| subject(other) == subject(one)).is_none_or(|first| first == number)
    };
    let cell = |(number, one): (usize, &&Outcome)| match tid_of(one).filter(|_| is_first(number, one)) {
        Some(tid) => format!("{} [{tid}]", name(one)),
        None => name(one),
    };
    outcomes.iter().enumerate().map(cell).collect()
}

fn cells(outcomes: &[&Outcome], of: impl Fn(&Outcome) -> String) -> Vec<String> {
    outcomes.iter().map(|one| of(one)).collect()
}

fn none() -> String {
    "–".to_owned()
}

fn span(span: Option<Span>) -> String {
    span.map_or_else(none, |span| micros(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)))
}

/// The cause that took most of the late time.
fn mostly(why: &Why) -> Option<String> {
    let first = why.causes.first()?;
    let named = WhyCause { pid: None, ..first.clone() };
    Some(format!("{} ({})", cause_in_words(&named), percent(first.share)))
}

/// `worker 3 with nice`; the first of a name has no number, and one as it is nothing that it has.
fn name(outcome: &Outcome) -> String {
    let condition = &outcome.condition;
    let mut name = legible(condition.name.as_deref().unwrap_or_default()).into_owned();
    if condition.thread > 0 {
        name.push_str(&format!(" {}", condition.thread));
    }
    if let Some(tuned) = &condition.tuned {
        name.push_str(&format!(" with {}", setting(&tuned.to_string())));
    }
    name
}

const fn late_from(outcome: &Outcome) -> &'static str {
    match outcome.condition.work {
        Work::Watch { mechanism: Activation::Timer } => "timer",
        Work::Watch { mechanism: Activation::Event } => "wake-up",
        Work::Watch { mechanism: Activation::HandedOn } => "waker's timer",
        Work::Watch { mechanism: Activation::Loop } => "due time",
        Work::Watch { mechanism: Activation::Unseen } => "not known",
        _ => "",
    }
}

/// Who woke the threads that no timer woke.
fn wakers(outcomes: &[&Outcome], width: usize) -> String {
    let line = |outcome: &&Outcome| {
        let woken = outcome.rhythm.as_deref().map_or(&[][..], Rhythm::woken_by);
        let one = |one: &howlate_model::Woken| format!("{} ({})", who(&one.by), count(one.count));
        let mut words: Vec<String> = woken.iter().take(WAKERS_TOLD).map(one).collect();
        if woken.len() > WAKERS_TOLD {
            words.push(format!("{} more", woken.len() - WAKERS_TOLD));
        }
        let text = format!("{} was woken by {}.{}", name(outcome), words.join(", "), chain(outcome));
        (!words.is_empty()).then(|| format!("{}\n", wrapped(&text, width, 2)))
    };
    let lines: String = outcomes.iter().filter_map(line).take(THREADS_TOLD).collect();
    if lines.is_empty() { lines } else { format!("{lines}\n") }
}

/// The way that its deadlines took as a rule: ` Its deadline came from a timer of worker, through main (400).`
fn chain(outcome: &Outcome) -> String {
    let ways = outcome.rhythm.as_deref().map_or(&[][..], Rhythm::handed_on);
    let Some((HandedOn { through, count: times }, others)) = ways.split_first() else { return String::new() };
    let mut names = through.iter().map(|name| legible(name).into_owned());
    let first = names.next().unwrap_or_default();
    let then: Vec<String> = names.collect();
    let then = if then.is_empty() { then.concat() } else { format!(", through {}", then.join(", ")) };
    let more =
        if others.is_empty() { String::new() } else { format!(", and in {} other ways", others.len()) };
    format!(" It inherited its deadline from a timer of {first}{then} ({}){more}.", count(*times))
}

/// What the work of loops took that the program has marked, and how it is known when they were late.
fn loops(outcomes: &[&Outcome], width: usize) -> String {
    let line = |outcome: &&Outcome| {
        let turns = outcome.rhythm.as_deref()?.turns()?;
        let is_late_known = outcome.count() > 0;
        Some(format!("{}\n", wrapped(&turns_in_words(&name(outcome), turns, is_late_known), width, 2)))
    };
    let lines: String = outcomes.iter().filter_map(line).collect();
    if lines.is_empty() { lines } else { format!("{lines}\n") }
}

/// `control: the work of 5,000 iterations took 100 µs at the median, 3.00 ms at most; longer than its period of 1.00 ms in 50 (1.0 %).`
fn turns_in_words(name: &str, turns: &TurnsBlock, is_late_known: bool) -> String {
    let (all, long) = (turns.work.count(), turns.long);
    let mut text = match (turns.work.quantile(0.5), turns.work.max()) {
        (Some(median), Some(most)) => {
            format!("{name}: the work of {} iterations took {median} (median), {most} at most", count(all))
        }
        _ => format!("{name}: length of work unknown (the program does not call `howlate_done`)"),
    };
    if all > 0 && !turns.period.is_zero() {
        let share = percent(ratio(long, all));
        text.push_str(&format!("; longer than its period of {} in {} ({share})", turns.period, count(long)));
    }
    text.push_str(&spans::longest(turns));
    if turns.inferred > 0 {
        text.push_str(&format!(
            ". For {} the due time was inferred from the loop's own rhythm; `howlate_wake_at` gives exact due times",
            if turns.inferred == 1 { "1 iteration".to_owned() } else { format!("{} iterations", count(turns.inferred)) }
        ));
    }
    if !is_late_known {
        text.push_str(
            ". When its iterations were due is unknown: it has no period, and no timer was seen to end a sleep before one; \
             `howlate_wake_at` gives exact due times",
        );
    }
    text + "."
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

fn who(who: &Who) -> String {
    let pid = who.pid.map_or_else(String::new, |pid| format!(", pid {pid}"));
    let name = legible(&who.name);
    match who.holder {
        Holder::Idle => "an interrupt on an idle CPU".to_owned(),
        Holder::Thread if name.is_empty() => "other threads".to_owned(),
        Holder::Thread | Holder::RealTimeThread => format!("{name}{pid}"),
        Holder::Interrupt => format!("interrupt {name}"),
        Holder::Softirq => format!("softirq {name}"),
        Holder::Server => format!("{name}, run ahead of real-time threads"),
        Holder::Quota => format!("the quota of {name}"),
        Holder::Others => "others".to_owned(),
        Holder::NotSeen => "unknown".to_owned(),
    }
}

/// The thread that did most while it is being watched, in one line beside the output of its program:
/// `howlate: 10 s · python3: 2 000 wake-ups, the worst 213 µs late`.
pub fn watched_beside(since: Span, threads: &[(&str, &ThreadSummary)]) -> String {
    let seconds = since.as_secs_f64();
    let Some((name, thread)) = threads.iter().max_by_key(|(_, thread)| thread.count + thread.iterations.0)
    else {
        return format!("howlate: {seconds:.0} s · no thread has woken yet");
    };
    let (name, times) = (legible(name), count(thread.count));
    let what = match thread.waited {
        None => format!("{times} wake-ups, the worst {} late", thread.worst),
        Some(waited) => format!("{times} switch-ins, waited {} for a CPU", Latency::from_span(waited)),
    };
    let event_loop = match thread.iterations {
        (0, ..) => String::new(),
        (_, _, longest) => {
            format!(", event loop away for up to {}", Latency::from_span(longest))
        }
    };
    format!("howlate: {seconds:.0} s · {name}: {what}{event_loop}")
}

/// A thread while it is being watched, in one line.
pub fn watched_live(name: &str, thread: &ThreadSummary) -> String {
    let (name, times) = (legible(name), count(thread.count));
    let event_loop = match thread.iterations {
        (0, ..) => String::new(),
        (_, _, longest) => {
            format!("   event loop away for up to {}", Latency::from_span(longest))
        }
    };
    match thread.waited {
        None => format!("  {name:<16} {times:>12} wake-ups   worst {}{event_loop}", thread.worst),
        Some(waited) => {
            format!("  {name:<16} {times:>12} switch-ins   waited {} for a CPU", Latency::from_span(waited))
        }
    }
}
