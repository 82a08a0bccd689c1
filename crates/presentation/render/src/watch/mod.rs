//! Tables of programs that were watched.

pub(crate) mod event_loops;
mod rows;
pub(crate) mod run_queue;
mod runtime_threads;
mod sentence;
mod spans;
mod stall;
#[cfg(test)]
mod tests;
mod timer_loops;

pub use event_loops::{EventLoopRows, StayedAway, event_loop_rows, event_loops_away, stayed_away};
pub(crate) use rows::Rows;
pub(crate) use runtime_threads::is_helper;
pub(crate) use spans::table as spans;

use howlate_analyse::cause::{Why, WhyCause, families};
use howlate_analyse::watch::{Rhythm, ThreadSummary};
use howlate_analyse::{Analysis, Outcome};
use howlate_model::{
    Activation, Command, CpuHolder, HandoffCount, HolderKind, IterationsBlock, Latency, Span, Work,
};

use crate::ask_again::show_again;
use crate::cause_words::{cause_in_words, percent};
use crate::confidence::too_few;
use crate::control_group_name::control_group_name;
use crate::detail::Detail;
use crate::numbers::count;
use crate::property::{late_after, setting};
use crate::prose::wrapped;
use crate::result_columns::{MAX, MEDIAN, P99, RowNumbers};
use crate::scale_of_table::Unit;
use crate::style::{DIM, HEADING, paint};
use crate::table::Columns;
use crate::untrusted_text::legible;
use rows::{subject, tid_of};

/// Threads that have a row, in all and on one screen.
const MOST_SHOWN: usize = 40;
const MOST_IN_BRIEF: usize = 10;
/// Threads whose wakers are told one by one, and as many of each.
const THREADS_TOLD: usize = 8;
const WAKERS_TOLD: usize = 4;

/// One row per thread and kind of activation, and who woke them.
pub(crate) fn tables(analysis: &Analysis, detail: Detail, width: usize) -> String {
    let late = analysis.header.late_above;
    let (unseen, outcomes): (Vec<&Outcome>, Vec<&Outcome>) = analysis.outcomes().iter().partition(is_unseen);
    let unseen = run_queue::table(unseen, MOST_SHOWN, width);
    let (is_full, most) =
        (detail == Detail::Full, if detail == Detail::Full { MOST_SHOWN } else { MOST_IN_BRIEF });
    if outcomes.is_empty() && !unseen.is_empty() {
        return unseen;
    }
    let event_loops = event_loops::rows(&outcomes, MOST_SHOWN, width);
    let have_run: Vec<&Outcome> = outcomes.iter().copied().filter(has_run).collect();
    let chosen = rows::Rows::choose(&have_run, most, !is_full);
    let how = if is_full { "`--json` has all".to_owned() } else { show_again(analysis, "--details") };
    let more = chosen
        .folded()
        .map_or_else(String::new, |text| format!("{}\n", wrapped(&format!("{text}: {how}."), width, 0)));
    let shown = chosen.shown.as_slice();
    let marked: String = loop_lines(shown, width).concat();
    let marked = if marked.is_empty() { marked } else { marked + "\n" };
    let wakers = if is_full { wakers(shown, width) } else { String::new() };
    let rows = activations(shown, late, !is_full, width);
    let few = few_wakeups(shown, &rows);
    let few = few.map_or_else(String::new, |text| format!("{}\n", paint(DIM, wrapped(&text, width, 0))));
    let meaning = Meaning::of(analysis).text(usize::MAX, width);
    format!("{rows}{more}{few}\n{event_loops}{marked}{wakers}{unseen}{meaning}")
}

/// What the numbers mean: of the thread that has a deadline first, then of event loops, then of the rest.
pub(crate) struct Meaning(Vec<String>);

impl Meaning {
    pub(crate) fn of(analysis: &Analysis) -> Self {
        let late = analysis.header.late_above;
        let outcomes: Vec<&Outcome> = analysis.outcomes().iter().filter(|one| !is_unseen(one)).collect();
        let (with_deadline, others): (Vec<_>, Vec<_>) =
            sentence::latest(&outcomes, late).into_iter().partition(|(has_deadline, _)| *has_deadline);
        let text = |all: Vec<(bool, String)>| all.into_iter().map(|(_, text)| text);
        let mut all: Vec<String> = text(with_deadline).collect();
        all.extend(timer_loops::sentences(&outcomes));
        let stayed_away = stayed_away(analysis);
        let to_name = stayed_away.iter().find_map(|one| one.to_name);
        all.extend(stayed_away.into_iter().map(|one| one.what));
        all.extend(text(others));
        all.extend(event_loops::shared(&outcomes));
        all.extend(event_loops::rounded_timers(&outcomes).into_iter().chain(to_name).map(str::to_owned));
        Self(all)
    }

    /// The first ones, under a heading; empty where there is nothing to be said.
    pub(crate) fn text(&self, most: usize, width: usize) -> String {
        let lines: String =
            self.0.iter().take(most).map(|text| format!("  {}\n", wrapped(text, width, 2))).collect();
        if lines.is_empty() { lines } else { format!("{}\n{lines}\n", paint(HEADING, "What this means")) }
    }
}

/// What a dash among the percentiles means, where one is to be seen.
pub(crate) fn few_wakeups(shown: &[&Outcome], table: &str) -> Option<String> {
    let text = too_few(shown.iter().map(|one| one.latency()), &[P99])?;
    (table.contains(P99.heading) && table.contains('–')).then_some(text)
}

/// The table of threads and what makes them run; of those that tell least in brief, as many columns as stand side by side.
pub(crate) fn activations(outcomes: &[&Outcome], late: Option<Span>, is_brief: bool, width: usize) -> String {
    let unit = Unit::of(outcomes.iter().filter_map(|one| one.latency().max()));
    let all = if is_brief { &BRIEF[..] } else { &[&[][..]][..] };
    let table = |without: &[&str]| activation_table(outcomes, late, unit, without);
    let fitting = all.iter().map(|without| table(without)).find(|one| one.stands_side_by_side(width));
    let table = fitting.or_else(|| all.last().map(|without| table(without)));
    let rows = table.map_or_else(String::new, |table| table.text(width));
    format!("Threads of a program · {unit}\n\n{rows}")
}

/// Columns that a screen goes without, as far as it has to: what took the time is told below the table.
const BRIEF: [&[&str]; 4] = [
    &["jitter"],
    &["jitter", "main cause"],
    &["jitter", "main cause", "period"],
    &["jitter", "main cause", "period", "missed"],
];

/// A row for each thread and kind of activation: what woke it, how often, how late, and mostly by what.
fn activation_table(outcomes: &[&Outcome], late: Option<Span>, unit: Unit, without: &[&str]) -> Columns {
    let time = |span: Option<Span>| span.map_or_else(none, |span| unit.show(nanos(span)));
    let rhythm = |one: &Outcome, of: fn(&Rhythm) -> Option<Span>| time(one.rhythm.as_deref().and_then(of));
    let mut table = Columns::without_columns(2);
    table.column("thread", subjects(outcomes));
    table.column("late after", cells(outcomes, |one| late_from(one).to_owned()));
    let mut add = |heading: &str, of: &dyn Fn(&Outcome) -> String| {
        if !without.contains(&heading) {
            table.column(heading, cells(outcomes, of));
        }
    };
    add("period", &|one| rhythm(one, Rhythm::period));
    add("jitter", &|one| rhythm(one, Rhythm::jitter));
    add("wake-ups", &|one| count(one.count()));
    add("missed", &|one| one.missed().map_or_else(none, count));
    add("overdue", &|one| overdue(one).map_or_else(none, count));
    if late.is_some() {
        add("late", &|one| one.why_late(late).map_or_else(none, |why| count(why.late.count)));
    }
    let numbers: Vec<_> = outcomes.iter().map(|one| RowNumbers::supported_by(one.latency())).collect();
    table.results_in(unit, &[MEDIAN, P99, MAX], &numbers);
    if !without.contains(&"main cause") {
        let mostly_by = |one: &Outcome| one.why_late(late).and_then(|why| mostly(&why)).unwrap_or_else(none);
        table.column("main cause", cells(outcomes, mostly_by));
    }
    table.empty_unknown();
    table
}

/// Wake-ups that came a whole period late or later: the next was due before. `None` where there are none, or no period.
fn overdue(one: &Outcome) -> Option<u64> {
    let has_deadline = match one.condition.work {
        Work::Watch { mechanism: Activation::Loop } => true,
        _ => one.missed().is_some(),
    };
    let period = one.rhythm.as_deref().and_then(Rhythm::period).filter(|_| has_deadline)?;
    Some(one.later_than(period).0).filter(|late| *late > 0)
}

/// Whether a recording is of a watched program, on one machine.
pub(crate) fn is_of_one_program(analysis: &Analysis) -> bool {
    let is_watched = |one: &Outcome| matches!(one.condition.work, Work::Watch { .. });
    let is_one_machine = analysis.members.len() <= 1 && analysis.boots.is_empty();
    let outcomes = analysis.outcomes();
    let is_watch = analysis.header.command == Command::Watch && !outcomes.is_empty();
    is_watch && is_one_machine && outcomes.iter().all(is_watched)
}

/// Not only an event loop whose thread never slept.
pub(crate) fn has_run(outcome: &&Outcome) -> bool {
    outcome.count() > 0 || event_loops::event_loop_of(outcome).is_none()
}

/// Nobody saw what woke it.
pub(crate) fn is_unseen(outcome: &&Outcome) -> bool {
    matches!(outcome.condition.work, Work::Watch { mechanism: Activation::Unseen })
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

/// Each thread of a watched program once, by the row that tells most of it, those that matter first, and what it is called
/// there: `control [2859] after its timer`.
pub(crate) fn told<'a>(outcomes: &[&'a Outcome]) -> Vec<(String, &'a Outcome)> {
    let named = |(_, one): (_, &'a Outcome)| {
        let id = tid_of(one).map_or_else(String::new, |tid| format!(" [{tid}]"));
        (format!("{}{id} after {}", name(one), late_from(one)), one)
    };
    rows::told(outcomes).into_iter().map(named).collect()
}

fn cells(outcomes: &[&Outcome], of: impl Fn(&Outcome) -> String) -> Vec<String> {
    outcomes.iter().map(|one| of(one)).collect()
}

fn none() -> String {
    "–".to_owned()
}

fn nanos(span: Span) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

/// The cause that took most of the late time; threads of one pool are one, as in the sentences below the table.
fn mostly(why: &Why) -> Option<String> {
    let first = families(why).into_iter().next()?.cause;
    let named = WhyCause { pid: None, ..first };
    Some(format!("{} ({})", cause_in_words(&named), percent(named.share)))
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
        let one = |one: &howlate_model::WakerCount| format!("{} ({})", who(&one.by), count(one.count));
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
    let Some((HandoffCount { through, count: times }, others)) = ways.split_first() else {
        return String::new();
    };
    let mut names = through.iter().map(|name| legible(name).into_owned());
    let first = names.next().unwrap_or_default();
    let then: Vec<String> = names.collect();
    let then = if then.is_empty() { then.concat() } else { format!(", through {}", then.join(", ")) };
    let more =
        if others.is_empty() { String::new() } else { format!(", and in {} other ways", others.len()) };
    format!(" It inherited its deadline from a timer of {first}{then} ({}){more}.", count(*times))
}

/// What the work of loops took that the program has marked, and how it is known when they were late.
pub(crate) fn loop_lines(outcomes: &[&Outcome], width: usize) -> Vec<String> {
    let line = |outcome: &&Outcome| {
        let turns = outcome.rhythm.as_deref()?.turns()?;
        let is_late_known = outcome.count() > 0;
        Some(format!("{}\n", wrapped(&turns_in_words(&name(outcome), turns, is_late_known), width, 2)))
    };
    outcomes.iter().filter_map(line).collect()
}

/// `control: the work of 5,000 iterations took 100 µs at the median, 3.00 ms at most; longer than its period of 1.00 ms in 50 (1.0 %).`
fn turns_in_words(name: &str, turns: &IterationsBlock, is_late_known: bool) -> String {
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

fn who(who: &CpuHolder) -> String {
    let pid = who.pid.map_or_else(String::new, |pid| format!(", pid {pid}"));
    let name = legible(&who.name);
    match who.holder {
        HolderKind::Idle => "an interrupt on an idle CPU".to_owned(),
        HolderKind::Thread if name.is_empty() => "other threads".to_owned(),
        HolderKind::Thread | HolderKind::RealTimeThread => format!("{name}{pid}"),
        HolderKind::Interrupt => format!("interrupt {name}"),
        HolderKind::Softirq => format!("softirq {name}"),
        HolderKind::Server => format!("{name}, run ahead of real-time threads"),
        HolderKind::Quota => format!("the quota of {}", control_group_name(&name)),
        HolderKind::Budget => "its own deadline runtime, used up".to_owned(),
        HolderKind::Others => "others".to_owned(),
        HolderKind::NotSeen => "unknown".to_owned(),
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
    let event_loop =
        away(thread).map_or_else(String::new, |longest| format!(", event loop away for up to {longest}"));
    format!("howlate: {seconds:.0} s · {name}: {what}{event_loop}")
}

/// The longest that its event loop was away; `None` where it has none, or others serve its events as well.
fn away(thread: &ThreadSummary) -> Option<Latency> {
    let (iterations, _, longest) = thread.iterations;
    (iterations > 0 && !thread.shares_events).then(|| Latency::from_span(longest))
}

/// A thread while it is being watched, in one line.
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
