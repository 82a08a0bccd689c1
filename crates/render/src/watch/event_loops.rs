//! How long event loops of watched programs did not come back to the call in which they wait, and what they did meanwhile.

use std::cmp::Reverse;

use howlate_analyse::watch::Rhythm;
use howlate_analyse::{Analysis, Outcome, percentile};
use howlate_model::{EventLoopBlock, Latency, LongIteration, Span, Spent};

use super::{name, none, subjects};
use crate::numbers::{count, micros};
use crate::table::{Columns, transpose};
use crate::untrusted_text::legible;

/// Loops that have a row, and those that have a sentence.
const MOST_SHOWN: usize = 16;
const MOST_TOLD: usize = 2;

/// A row for each event loop; empty where there is none.
pub(super) fn rows(outcomes: &[&Outcome], width: usize) -> String {
    let mut all = worst_first(outcomes);
    if all.is_empty() {
        return String::new();
    }
    let left_out = all.split_off(all.len().min(MOST_SHOWN)).len();
    let more = match left_out {
        0 => String::new(),
        some => format!("  {some} more event loops were late less often; `--json` has all.\n"),
    };
    let rows = table(&all).text(width);
    format!("Event loops: time from one wait for events to the next · µs\n\n{rows}{more}\n")
}

/// An event loop that stayed away too long.
pub struct StayedAway {
    /// How often, for how long, and what it was doing.
    pub what: String,
    /// What brings it back sooner, if its own program can.
    pub to_do: Option<String>,
}

/// Each that did, the worst first.
pub fn stayed_away(outcomes: &[&Outcome]) -> Vec<StayedAway> {
    let all = worst_first(outcomes);
    let told = all.iter().filter(|(_, of)| of.shared_by.is_none() && of.long > 0).take(MOST_TOLD);
    let one = |(one, of): &(&Outcome, &EventLoopBlock)| {
        let name = name(one);
        let to_do = typical(&of.longest)
            .and_then(|spent| what_to_do(&name, spent))
            .map(|what| format!("{name}'s event loop: {what}"));
        StayedAway { what: sentence(&name, of), to_do }
    };
    told.map(one).collect()
}

/// A sentence for threads that share a loop.
pub(super) fn shared(outcomes: &[&Outcome]) -> Option<String> {
    let all = worst_first(outcomes);
    let first = all.iter().find(|(_, of)| of.shared_by.is_some());
    first.map(|(one, of)| shared_words(&name(one), of))
}

/// The same in short, while it is watched: `python3's event loop was away for more than 10 ms in 20 of 41 iterations, 30.2 ms at most.`
pub fn event_loops_away(analysis: &Analysis) -> Vec<String> {
    let outcomes: Vec<&Outcome> = analysis.outcomes().iter().collect();
    let long = worst_first(&outcomes).into_iter().filter(|(_, of)| of.long > 0 && of.shared_by.is_none());
    let short = |(one, of): (&Outcome, &EventLoopBlock)| {
        let most = of.iterations.max().map_or_else(String::new, |max| format!(", {max} at most"));
        let (long, all) = (count(of.long), count(of.iterations.count()));
        let above = length(of.above);
        format!(
            "{}'s event loop was away for more than {above} in {long} of {all} iterations{most}.",
            name(one)
        )
    };
    long.take(MOST_TOLD).map(short).collect()
}

fn worst_first<'a>(outcomes: &[&'a Outcome]) -> Vec<(&'a Outcome, &'a EventLoopBlock)> {
    let mut all: Vec<(&Outcome, &EventLoopBlock)> =
        outcomes.iter().filter_map(|one| Some((*one, event_loop_of(one)?))).collect();
    all.sort_by_key(|(_, of)| Reverse((of.long, of.iterations.max())));
    all
}

/// The event loop of a thread.
pub(super) fn event_loop_of(outcome: &Outcome) -> Option<&EventLoopBlock> {
    outcome.rhythm.as_deref().and_then(Rhythm::event_loop)
}

/// The event loops of a recording, for other tables than those of a terminal.
pub struct EventLoopRows {
    /// What the columns are called; the first two name a row.
    pub headings: Vec<String>,
    /// A row for each event loop, times in µs.
    pub rows: Vec<Vec<String>>,
}

/// Those of `outcomes`, the ones that stayed away most often first; `None` where there is none.
pub fn event_loop_rows(outcomes: &[&Outcome]) -> Option<EventLoopRows> {
    let mut all = worst_first(outcomes);
    all.truncate(MOST_SHOWN);
    let (headings, columns) = table(&all).into_parts();
    (!all.is_empty()).then(|| EventLoopRows { headings, rows: transpose(&columns) })
}

fn table(all: &[(&Outcome, &EventLoopBlock)]) -> Columns {
    let cells = |of: &dyn Fn(&(&Outcome, &EventLoopBlock)) -> String| all.iter().map(of).collect::<Vec<_>>();
    let at = |of: &EventLoopBlock, quantile: f64| {
        percentile(&of.iterations, quantile).map_or_else(none, |length| micros(length.as_nanos()))
    };
    let above = all.first().map_or(Span::ZERO, |(_, of)| of.above);
    let mut table = Columns::without_columns(2);
    let outcomes: Vec<&Outcome> = all.iter().map(|(one, _)| *one).collect();
    table.column("thread", subjects(&outcomes));
    table.column("waits in", cells(&|(_, of)| of.wait.to_string()));
    table.column("iterations", cells(&|(_, of)| count(of.iterations.count())));
    table.column("median", cells(&|(_, of)| at(of, 0.5)));
    table.column("p99", cells(&|(_, of)| at(of, 0.99)));
    table
        .column("max", cells(&|(_, of)| of.iterations.max().map_or_else(none, |max| micros(max.as_nanos()))));
    table.column(&format!("above {}", length(above)), cells(&|(_, of)| count(of.long)));
    table
}

/// `python3's event loop did not come back within 10 ms in 20 of 41 iterations, 30.2 ms at most: it was blocked …`
fn sentence(name: &str, of: &EventLoopBlock) -> String {
    let (all, long, above) = (of.iterations.count(), of.long, of.above);
    let mut text = format!(
        "{name}'s event loop did not come back within {} in {} of {} iterations. ",
        length(above),
        count(long),
        count(all)
    );
    if let Some(longest) = of.longest.first() {
        let spent = longest.spent;
        text.push_str(&format!(
            "The longest took {}: it was {}",
            length(spent.total()),
            spent_in_words(spent, longest.blocked_in.as_deref())
        ));
        let function = longest.function.as_deref().map(|function| format!(", in {}", legible(function)));
        text.push_str(&format!("{}.", function.unwrap_or_default()));
    }
    if let Some(most) = of.functions.first().filter(|_| long > 1) {
        let is_same = of.longest.first().is_some_and(|longest| longest.function.as_ref() == Some(&most.name));
        let (times, long) = (count(most.count), count(long));
        text.push_str(&match is_same {
            true => format!(" The same was true of {times} of the {long}."),
            false => format!(" Most often it was in {} ({times} of {long}).", legible(&most.name)),
        });
    }
    text.push_str(how_to_name(name, of));
    text
}

/// What a loop did most while it was away.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mostly {
    Waiting,
    Blocked,
    Running,
}

impl Mostly {
    fn of(spent: Spent) -> Self {
        let most = spent.running.max(spent.blocked).max(spent.ready);
        match most {
            _ if most == spent.ready => Self::Waiting,
            _ if most == spent.blocked => Self::Blocked,
            _ => Self::Running,
        }
    }
}

/// One that did what most of them did: the longest of all may be the one that others kept from its CPU.
fn typical(longest: &[LongIteration]) -> Option<Spent> {
    let as_many = |one: &&LongIteration| {
        longest.iter().filter(|other| Mostly::of(other.spent) == Mostly::of(one.spent)).count()
    };
    // The first of those that are as common.
    longest.iter().rev().max_by_key(as_many).map(|one| one.spent)
}

/// What brings a loop back sooner, by what it did most while it was away; nothing where it waited for a CPU.
fn what_to_do(thread: &str, spent: Spent) -> Option<&'static str> {
    let (python, node) = (is_python(thread), is_node(thread));
    match Mostly::of(spent) {
        Mostly::Waiting => None,
        Mostly::Blocked => Some(match (python, node) {
            (true, _) => "a coroutine should await such a call, or leave it to `asyncio.to_thread`.",
            (_, true) => "such a call has an asynchronous form, or belongs in a worker thread.",
            _ => "such a call belongs in another thread, or needs a form that does not block.",
        }),
        Mostly::Running => Some(match (python, node) {
            (true, _) => "work as long as this belongs in another process (`loop.run_in_executor`).",
            (_, true) => "work as long as this belongs in a worker thread.",
            _ => "work as long as this belongs in another thread, or in smaller pieces.",
        }),
    }
}

fn is_python(thread: &str) -> bool {
    thread.starts_with("python")
}

/// Node calls its main thread `node` or, in later versions, `MainThread`.
fn is_node(thread: &str) -> bool {
    ["node", "MainThread"].iter().any(|name| thread.starts_with(name))
}

/// Threads that serve the same events are no loop each: one that is away keeps nobody waiting while another one is there.
fn shared_words(name: &str, of: &EventLoopBlock) -> String {
    format!(
        "{name} and {} more wait on the same events: a long iteration of one delays nothing while another is free.",
        count(of.shared_by.unwrap_or(1).saturating_sub(1))
    )
}

/// `running (28.0 ms) and waiting for the CPU (2.00 ms)`, the most first; together all of it.
fn spent_in_words(spent: Spent, blocked_in: Option<&str>) -> String {
    let blocked = match blocked_in {
        None => "blocked".to_owned(),
        Some("nanosleep" | "clock_nanosleep") => "blocked, sleeping".to_owned(),
        Some("futex") => "blocked, waiting for another thread".to_owned(),
        Some(call) => format!("blocked in {call}"),
    };
    let mut all = [
        ("running".to_owned(), spent.running),
        (blocked, spent.blocked),
        ("waiting for the CPU".to_owned(), spent.ready),
    ];
    all.sort_by_key(|(_, time)| Reverse(*time));
    let words: Vec<String> = all
        .iter()
        .filter(|(_, time)| !time.is_zero())
        .map(|(what, time)| format!("{what} ({})", length(*time)))
        .collect();
    match words.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => words.concat(),
    }
}

fn length(span: Span) -> String {
    Latency::from_nanos(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)).to_string()
}

/// What a runtime is to be asked for, so that its functions have names.
fn how_to_name(thread: &str, of: &EventLoopBlock) -> &'static str {
    let is_named = |suffix: &str| of.functions.iter().any(|one| one.name.contains(suffix));
    if is_python(thread) && !is_named(".py)") {
        " `python3 -X perf` (3.12 or later, built with frame pointers) names Python's functions."
    } else if is_node(thread) && !is_named(".js:") {
        " `node --perf-basic-prof --interpreted-frames-native-stack` names the functions of JavaScript."
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{Iteration, LongIn, LoopWait, MonotonicTime};

    #[test]
    fn what_kept_a_loop_is_said_with_its_share() {
        let us = Span::from_micros;
        let mut all = EventLoopBlock::above(us(10_000));
        for (number, blocked) in [(0i64, 0), (1, 28_000)] {
            let from = MonotonicTime::from_nanos(number * 100_000_000);
            let one = Iteration {
                tid: 7,
                wait: LoopWait::Epoll,
                file: Some(3),
                from,
                until: from.plus(us(2_000 + blocked)),
                blocked: us(blocked),
                ready: us(500),
                longest_sleep: Some((us(blocked), Some("clock_nanosleep".to_owned()))),
                stack: Vec::new(),
            };
            all.add(&one, Some("handler (app.py)".to_owned()).filter(|_| number > 0));
        }
        let text = sentence("service", &all);
        assert_eq!(
            text,
            "service's event loop did not come back within 10.0 ms in 1 of 2 iterations. The longest took 30.0 ms: it was \
             blocked, sleeping (28.0 ms), running (1.50 ms) and waiting for the CPU (500 µs), in handler (app.py)."
        );
        all.shared_by = Some(4);
        assert!(shared_words("go", &all).starts_with("go and 3 more wait on the same events"));
    }

    #[test]
    fn what_to_do_fits_what_it_did() {
        let ms = Span::from_millis;
        let mostly =
            |running, blocked, ready| Spent { running: ms(running), blocked: ms(blocked), ready: ms(ready) };
        assert!(what_to_do("python3", mostly(1, 28, 1)).unwrap().contains("asyncio.to_thread"));
        assert!(what_to_do("python3", mostly(28, 1, 1)).unwrap().contains("another process"));
        assert!(what_to_do("node", mostly(28, 1, 1)).unwrap().contains("worker thread"));
        assert_eq!(what_to_do("node", mostly(1, 1, 28)), None, "the CPU was another's");
        let long =
            |spent| LongIteration { at: MonotonicTime::default(), spent, blocked_in: None, function: None };
        let several = [mostly(1, 1, 50), mostly(1, 30, 1), mostly(30, 1, 1), mostly(2, 28, 1)].map(long);
        assert_eq!(typical(&several), Some(mostly(1, 30, 1)), "the longest was no loop's fault");
    }

    #[test]
    fn who_cannot_be_named_is_told_how() {
        let mut of = EventLoopBlock::default();
        assert!(how_to_name("python3", &of).contains("-X perf"));
        assert!(how_to_name("node", &of).contains("--perf-basic-prof"));
        assert_eq!(how_to_name("nginx", &of), "");
        let named = |name: &str| LongIn { name: name.to_owned(), count: 1, total: Span::ZERO };
        of.functions = vec![named("handler (/srv/app.py)")];
        assert_eq!(how_to_name("python3", &of), "");
    }
}
