//! Results of watched programs: tables and sentences.

pub(crate) mod event_loops;
mod rows;
pub(crate) mod run_queue;
mod runtime_threads;
mod sentence;
mod slowest_iterations;
mod spans;
mod stall;
#[cfg(test)]
mod tests;
mod timer_loops;

pub use event_loops::{
    BlockedEventLoop, EventLoopRows, blocked_event_loop_lines, blocked_event_loops, event_loop_rows,
};
pub(crate) use rows::ThreadRows;
pub(crate) use runtime_threads::is_helper;
pub use sentence::omitted_answers;
pub use slowest_iterations::{SlowestOfLoop, slowest_iterations};
pub(crate) use spans::table as spans;

use howlate_analyse::cause::{Why, WhyCause, families};
use howlate_analyse::watch::{Rhythm, ThreadSummary};
use howlate_analyse::{Analysis, Outcome};
use howlate_model::{
    Activation, Command, CpuHolder, HandoffCount, HolderKind, IterationsBlock, Latency, Span, Work,
};

use crate::cause_words::{cause_in_words, percent};
use crate::confidence::too_few;
use crate::control_group_name::control_group_name;
use crate::detail::{Detail, show_again};
use crate::numbers::count;
use crate::property::{late_after, setting};
use crate::prose::wrapped;
use crate::result_columns::{MAX, MEDIAN, P99, RowNumbers};
use crate::style::{DIM, HEADING, paint};
use crate::table::{TableUnit, TextTable};
use crate::untrusted_text::legible;
use rows::{subject, tid_of};
pub(crate) use slowest_iterations::of_requests as request_lines;

/// Most threads with a row: in all, and on one screen.
const MOST_SHOWN: usize = 40;
const MOST_IN_BRIEF: usize = 10;
/// Most threads whose wakers are listed, and most wakers of each.
const MOST_WOKEN_THREADS: usize = 8;
const MOST_WAKERS: usize = 4;

/// One row per thread and kind of activation, the event loops, and who woke the threads.
pub(crate) fn tables(analysis: &Analysis, detail: Detail, width: usize) -> String {
    let late = analysis.header.late_above;
    let (accounted, outcomes): (Vec<&Outcome>, Vec<&Outcome>) =
        analysis.outcomes().iter().partition(is_accounted_only);
    let accounted = run_queue::table(accounted, MOST_SHOWN, width);
    let (is_full, most) =
        (detail == Detail::Full, if detail == Detail::Full { MOST_SHOWN } else { MOST_IN_BRIEF });
    if outcomes.is_empty() && !accounted.is_empty() {
        return accounted;
    }
    let event_loops = event_loops::rows(&outcomes, MOST_SHOWN, width);
    let have_run: Vec<&Outcome> = outcomes.iter().copied().filter(has_run).collect();
    let rows = ThreadRows::choose(&have_run, most, !is_full);
    let how =
        if is_full { "`--json --details` has all".to_owned() } else { show_again(analysis, "--details") };
    let more = rows
        .folded()
        .map_or_else(String::new, |text| format!("{}\n", wrapped(&format!("{text}: {how}."), width, 0)));
    let shown = rows.shown.as_slice();
    let marked: String = [request_lines(shown, width), loop_lines(shown, width)].concat().concat();
    let marked = if marked.is_empty() { marked } else { marked + "\n" };
    let wakers = if is_full { wakers(shown, width) } else { String::new() };
    let table = activations(shown, late, !is_full, width);
    let few = few_wakeups(shown, &table);
    let few = few.map_or_else(String::new, |text| format!("{}\n", paint(DIM, wrapped(&text, width, 0))));
    let meaning = Meaning::of(analysis).text(usize::MAX, width);
    format!("{table}{more}{few}\n{event_loops}{marked}{wakers}{accounted}{meaning}")
}

/// Sentences on what the numbers mean: threads with a deadline first, then event loops, then the rest.
pub(crate) struct Meaning(Vec<String>);

impl Meaning {
    pub(crate) fn of(analysis: &Analysis) -> Self {
        let late = analysis.header.late_above;
        let outcomes: Vec<&Outcome> =
            analysis.outcomes().iter().filter(|outcome| !is_accounted_only(outcome)).collect();
        let (with_deadline, without_deadline): (Vec<_>, Vec<_>) =
            sentence::latest(&outcomes, late).into_iter().partition(|(has_deadline, _)| *has_deadline);
        let text = |sentences: Vec<(bool, String)>| sentences.into_iter().map(|(_, text)| text);
        let mut all: Vec<String> = text(with_deadline).collect();
        all.extend(timer_loops::sentences(&outcomes));
        let blocked = blocked_event_loops(analysis);
        let to_name = blocked.iter().find_map(|event_loop| event_loop.to_name);
        all.extend(blocked.into_iter().map(|event_loop| event_loop.sentence));
        all.extend(text(without_deadline));
        all.extend(event_loops::shared(&outcomes));
        all.extend(event_loops::rounded_timers(&outcomes).into_iter().chain(to_name).map(str::to_owned));
        Self(all)
    }

    /// The first sentences below a heading; empty without any.
    pub(crate) fn text(&self, most: usize, width: usize) -> String {
        let lines: String =
            self.0.iter().take(most).map(|text| format!("  {}\n", wrapped(text, width, 2))).collect();
        if lines.is_empty() { lines } else { format!("{}\n{lines}\n", paint(HEADING, "What this means")) }
    }
}

/// The note on dashes among the percentiles, if there are any.
pub(crate) fn few_wakeups(shown: &[&Outcome], table: &str) -> Option<String> {
    let text = too_few(shown.iter().map(|outcome| outcome.latency()), &[P99])?;
    (table.contains(P99.heading) && table.contains('–')).then_some(text)
}

/// The table of threads and what activates them. The brief table drops columns until it fits the width.
pub(crate) fn activations(outcomes: &[&Outcome], late: Option<Span>, is_brief: bool, width: usize) -> String {
    let unit = TableUnit::of(outcomes.iter().filter_map(|outcome| outcome.latency().max()));
    let column_sets = if is_brief { &BRIEF[..] } else { &[&[][..]][..] };
    let table = |without: &[&str]| activation_table(outcomes, late, unit, without);
    let fitting =
        column_sets.iter().map(|without| table(without)).find(|table| table.stands_side_by_side(width));
    let table = fitting.or_else(|| column_sets.last().map(|without| table(without)));
    let rows = table.map_or_else(String::new, |table| table.text(width));
    format!("Threads of a program · {unit}\n\n{rows}")
}

/// Columns that the brief table drops, step by step; the main causes are listed below the table as well.
const BRIEF: [&[&str]; 4] = [
    &["jitter"],
    &["jitter", "main cause"],
    &["jitter", "main cause", "period"],
    &["jitter", "main cause", "period", "missed"],
];

/// One row per thread and kind of activation: what woke it, how often, how late, and its main cause.
fn activation_table(
    outcomes: &[&Outcome],
    late: Option<Span>,
    unit: TableUnit,
    without: &[&str],
) -> TextTable {
    let time = |span: Option<Span>| span.map_or_else(none, |span| unit.show(nanos(span)));
    let rhythm = |outcome: &Outcome, length: fn(&Rhythm) -> Option<Span>| {
        time(outcome.rhythm.as_deref().and_then(length))
    };
    let mut table = TextTable::without_columns(2);
    table.column("thread", subjects(outcomes));
    table.column("late after", cells(outcomes, |outcome| late_from(outcome).to_owned()));
    let mut add = |heading: &str, text: &dyn Fn(&Outcome) -> String| {
        if !without.contains(&heading) {
            table.column(heading, cells(outcomes, text));
        }
    };
    add("period", &|outcome| rhythm(outcome, Rhythm::period));
    add("jitter", &|outcome| rhythm(outcome, Rhythm::jitter));
    add("wake-ups", &|outcome| count(outcome.count()));
    add("missed", &|outcome| outcome.missed().map_or_else(none, count));
    add("overdue", &|outcome| overdue(outcome).map_or_else(none, count));
    if late.is_some() {
        add("late", &|outcome| outcome.why_late(late).map_or_else(none, |why| count(why.late.count)));
    }
    let numbers: Vec<_> =
        outcomes.iter().map(|outcome| RowNumbers::supported_by(outcome.latency())).collect();
    table.results_in(unit, &[MEDIAN, P99, MAX], &numbers);
    if !without.contains(&"main cause") {
        let main_cause = |outcome: &Outcome| {
            outcome.why_late(late).and_then(|why| main_cause_of(&why)).unwrap_or_else(none)
        };
        table.column("main cause", cells(outcomes, main_cause));
    }
    table.empty_unknown();
    table
}

/// Wake-ups at least a period late, so that the next was already due. `None` if there are none, or no period.
fn overdue(outcome: &Outcome) -> Option<u64> {
    let has_deadline = match outcome.condition.work {
        Work::Watch { mechanism: Activation::Loop } => true,
        _ => outcome.missed().is_some(),
    };
    let period = outcome.rhythm.as_deref().and_then(Rhythm::period).filter(|_| has_deadline)?;
    Some(outcome.later_than(period).0).filter(|late| *late > 0)
}

/// Whether the recording is of a watched program, on one machine.
pub(crate) fn is_of_one_program(analysis: &Analysis) -> bool {
    let is_watched = |outcome: &Outcome| matches!(outcome.condition.work, Work::Watch { .. });
    let is_one_machine = analysis.members.len() <= 1 && analysis.boots.is_empty();
    let outcomes = analysis.outcomes();
    let is_watch = analysis.header.command == Command::Watch && !outcomes.is_empty();
    is_watch && is_one_machine && outcomes.iter().all(is_watched)
}

/// Whether the thread has wake-ups; false for an event loop whose thread never slept.
pub(crate) fn has_run(outcome: &&Outcome) -> bool {
    outcome.count() > 0 || event_loops::event_loop_of(outcome).is_none()
}

/// Whether the numbers are only from the kernel's accounting, without wake-ups.
pub(crate) fn is_accounted_only(outcome: &&Outcome) -> bool {
    matches!(outcome.condition.work, Work::Watch { mechanism: Activation::Unseen })
}

/// Names of threads, with the id in the first row of each.
fn subjects(outcomes: &[&Outcome]) -> Vec<String> {
    let is_first = |number: usize, outcome: &Outcome| {
        outcomes
            .iter()
            .position(|other| subject(other) == subject(outcome))
            .is_none_or(|first| first == number)
    };
    let cell =
        |(number, outcome): (usize, &&Outcome)| match tid_of(outcome).filter(|_| is_first(number, outcome)) {
            Some(tid) => format!("{} [{tid}]", name(outcome)),
            None => name(outcome),
        };
    outcomes.iter().enumerate().map(cell).collect()
}

/// Each thread of a watched program once, by its most informative row and in order of rank, with a name such as
/// `control [2859] after its timer`.
pub(crate) fn ranked_threads<'a>(outcomes: &[&'a Outcome]) -> Vec<(String, &'a Outcome)> {
    let with_name = |(_, outcome): (_, &'a Outcome)| {
        let id = tid_of(outcome).map_or_else(String::new, |tid| format!(" [{tid}]"));
        (format!("{}{id} after {}", name(outcome), late_from(outcome)), outcome)
    };
    rows::ranked(outcomes).into_iter().map(with_name).collect()
}

fn cells(outcomes: &[&Outcome], of: impl Fn(&Outcome) -> String) -> Vec<String> {
    outcomes.iter().map(|outcome| of(outcome)).collect()
}

fn none() -> String {
    "–".to_owned()
}

fn nanos(span: Span) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

/// The cause that took most of the late time; threads of one pool count together, as in the sentences below the table.
fn main_cause_of(why: &Why) -> Option<String> {
    let first = families(why).into_iter().next()?.cause;
    let cause = WhyCause { pid: None, ..first };
    Some(format!("{} ({})", cause_in_words(&cause), percent(cause.share)))
}

/// `worker 3 with nice`: the name, the number if several threads have it, and the setting under test.
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
        Work::Watch { mechanism } => match late_after(mechanism) {
            Some(what) => what,
            None => "not known",
        },
        _ => "",
    }
}

/// Who woke the threads that no timer woke.
fn wakers(outcomes: &[&Outcome], width: usize) -> String {
    let line = |outcome: &&Outcome| {
        let woken = outcome.rhythm.as_deref().map_or(&[][..], Rhythm::woken_by);
        let waker =
            |waker: &howlate_model::WakerCount| format!("{} ({})", who(&waker.by), count(waker.count));
        let mut wakers: Vec<String> = woken.iter().take(MOST_WAKERS).map(waker).collect();
        if woken.len() > MOST_WAKERS {
            wakers.push(format!("{} more", woken.len() - MOST_WAKERS));
        }
        let text = format!("{} was woken by {}.{}", name(outcome), wakers.join(", "), chain(outcome));
        (!wakers.is_empty()).then(|| format!("{}\n", wrapped(&text, width, 2)))
    };
    let lines: String = outcomes.iter().filter_map(line).take(MOST_WOKEN_THREADS).collect();
    if lines.is_empty() { lines } else { format!("{lines}\n") }
}

/// The usual path of inherited deadlines: ` Its deadline came from a timer of worker, through main (400).`
fn chain(outcome: &Outcome) -> String {
    let ways = outcome.rhythm.as_deref().map_or(&[][..], Rhythm::handed_on);
    let Some((HandoffCount { through, count: times }, other_ways)) = ways.split_first() else {
        return String::new();
    };
    let mut names = through.iter().map(|name| legible(name).into_owned());
    let first = names.next().unwrap_or_default();
    let then: Vec<String> = names.collect();
    let then = if then.is_empty() { then.concat() } else { format!(", through {}", then.join(", ")) };
    let more = if other_ways.is_empty() {
        String::new()
    } else {
        format!(", and in {} other ways", other_ways.len())
    };
    format!(" It inherited its deadline from a timer of {first}{then} ({}){more}.", count(*times))
}

/// How long the work of marked loops took, and how it is known when they were late; then what the longest iterations of other loops spent
/// their time with.
pub(crate) fn loop_lines(outcomes: &[&Outcome], width: usize) -> Vec<String> {
    let line = |outcome: &&Outcome| {
        let turns = outcome.rhythm.as_deref()?.turns()?;
        let is_late_known = outcome.count() > 0;
        let text = wrapped(&turns_in_words(&name(outcome), turns, is_late_known), width, 2);
        Some(format!("{text}\n{}", slowest_iterations::of_marked(outcome, width)))
    };
    let marked = outcomes.iter().filter_map(line);
    marked.chain(slowest_iterations::of_other_loops(outcomes, width)).collect()
}

/// `control: the work of 5,000 iterations took 100 µs at the median, 3.00 ms at most; longer than its period of 1.00 ms in 50 (1.0 %).`
fn turns_in_words(name: &str, turns: &IterationsBlock, is_late_known: bool) -> String {
    let (all, overruns) = (turns.work.count(), turns.long);
    let mut text = match (turns.work.quantile(0.5), turns.work.max()) {
        (Some(median), Some(most)) => {
            format!("{name}: the work of {} iterations took {median} (median), {most} at most", count(all))
        }
        _ => format!("{name}: length of work unknown (the program does not call `howlate_done`)"),
    };
    if all > 0 && !turns.period.is_zero() {
        let share = percent(ratio(overruns, all));
        text.push_str(&format!(
            "; longer than its period of {} in {} ({share})",
            turns.period,
            count(overruns)
        ));
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

fn who(who: &CpuHolder) -> String {
    let pid = who.pid.map_or_else(String::new, |pid| format!(", pid {pid}"));
    let name = legible(&who.name);
    match who.holder {
        HolderKind::Idle => "an interrupt on an idle CPU".to_owned(),
        HolderKind::Thread if name.is_empty() => "other threads".to_owned(),
        HolderKind::Thread | HolderKind::LazyThread | HolderKind::RealTimeThread => format!("{name}{pid}"),
        HolderKind::Interrupt => format!("interrupt {name}"),
        HolderKind::Softirq => format!("softirq {name}"),
        HolderKind::Server => format!("{name}, run ahead of real-time threads"),
        HolderKind::Quota => format!("the quota of {}", control_group_name(&name)),
        HolderKind::Budget => "its own deadline runtime, used up".to_owned(),
        HolderKind::Others => "others".to_owned(),
        HolderKind::NotSeen => "unknown".to_owned(),
    }
}

/// One status line beside the output of the program, about the most active thread: `howlate: 10 s · python3: 2 000 wake-ups, the worst 213 µs late`.
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
    let event_loop =
        away(thread).map_or_else(String::new, |longest| format!(", event loop away for up to {longest}"));
    format!("howlate: {seconds:.0} s · {name}: {what}{event_loop}")
}

/// The longest time that its event loop was busy; `None` without one, or where other threads serve its events too.
fn away(thread: &ThreadSummary) -> Option<Latency> {
    let (iterations, _, longest) = thread.iterations;
    (iterations > 0 && !thread.shares_events).then(|| Latency::from_span(longest))
}

/// One line per thread for the live view.
pub fn watched_live(name: &str, thread: &ThreadSummary) -> String {
    let (name, times) = (legible(name), count(thread.count));
    let event_loop =
        away(thread).map_or_else(String::new, |longest| format!("   event loop away for up to {longest}"));
    match thread.waited {
        None => format!("  {name:<16} {times:>12} wake-ups   worst {}{event_loop}", thread.worst),
        Some(waited) => {
            format!("  {name:<16} {times:>12} switch-ins   waited {} for a CPU", Latency::from_span(waited))
        }
    }
}
