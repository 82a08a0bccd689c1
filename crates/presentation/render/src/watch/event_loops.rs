//! How long event loops of watched programs took to return to their wait for events, and what they did meanwhile.

use std::cmp::Reverse;

use howlate_analyse::watch::Rhythm;
use howlate_analyse::{Analysis, Outcome, percentile};
use howlate_model::{Caveat, EventLoopBlock, LongIteration, Span, StallReason};

use super::stall::{ProgramKind, TypicalStall, span_text as length};
use super::{name, none, subjects};
use crate::numbers::count;
use crate::table::{TableUnit, TextTable, transpose};
use crate::untrusted_text::legible;

/// Most loops with a row, and most with a sentence.
const MOST_SHOWN: usize = 16;
const MOST_SENTENCES: usize = 2;

/// One row per event loop, at most `most`; empty where there is none.
pub(crate) fn rows(outcomes: &[&Outcome], most: usize, width: usize) -> String {
    let mut event_loops = worst_first(outcomes);
    if most < MOST_SHOWN {
        // A screen has no room for loops that share their events: one blocked thread delays nothing.
        event_loops.retain(|(_, event_loop)| event_loop.shared_by.is_none());
    }
    if event_loops.is_empty() || most == 0 {
        return String::new();
    }
    let left_out = event_loops.split_off(event_loops.len().min(most)).len();
    let more = match left_out {
        0 => String::new(),
        1 => "  1 more event loop was late less often.\n".to_owned(),
        some => format!("  {some} more event loops were late less often.\n"),
    };
    let unit = TableUnit::of(event_loops.iter().filter_map(|(_, event_loop)| event_loop.iterations.max()));
    let rows = table(&event_loops, unit).text(width);
    format!("Event loops: time from one wait for events to the next · {unit}\n\n{rows}{more}\n")
}

/// An event loop that was blocked too long.
pub struct BlockedEventLoop {
    /// How often, for how long, and what it was doing.
    pub sentence: String,
    /// Advice for the program, if it can do anything about it; names the loop.
    pub to_do: Option<String>,
    /// The option of the runtime that gives its functions names.
    pub to_name: Option<&'static str>,
}

/// Each event loop that was blocked too long, the worst first.
pub fn blocked_event_loops(analysis: &Analysis) -> Vec<BlockedEventLoop> {
    let outcomes: Vec<&Outcome> = analysis.outcomes().iter().collect();
    let event_loops = worst_first(&outcomes);
    let worst = event_loops
        .iter()
        .filter(|(_, event_loop)| event_loop.shared_by.is_none() && event_loop.long > 0)
        .take(MOST_SENTENCES);
    let without_worker_advice = |(outcome, event_loop): &(&Outcome, &EventLoopBlock)| {
        let blocked = describe(&name(outcome), event_loop, analysis);
        BlockedEventLoop { to_do: blocked.to_do.filter(|_| !is_worker(outcome, analysis)), ..blocked }
    };
    worst.map(without_worker_advice).collect()
}

fn describe(name: &str, event_loop: &EventLoopBlock, analysis: &Analysis) -> BlockedEventLoop {
    let functions: Vec<&str> = event_loop.functions.iter().map(|function| function.name.as_str()).collect();
    let language = ProgramKind::of(name, &functions);
    let stall = TypicalStall::of(event_loop);
    let function = event_loop.functions.first().map(|function| function.name.as_str());
    let to_do = stall.as_ref().filter(|_| is_worth_mending(event_loop));
    let to_do = to_do.and_then(|stall| stall.to_do(name, language, function));
    let quota = stall.and_then(|stall| quota(&stall, event_loop, analysis)).unwrap_or_default();
    let to_name = how_to_name(language, event_loop);
    BlockedEventLoop { sentence: sentence(name, language, event_loop) + &quota, to_do, to_name }
}

/// Whether it is a worker thread of Node, where long computations belong.
fn is_worker(outcome: &Outcome, analysis: &Analysis) -> bool {
    let is_named = |outcome: &Outcome, name: &str| outcome.condition.name.as_deref() == Some(name);
    let has_other_main = analysis.outcomes().iter().any(|other| is_named(other, "MainThread"));
    is_named(outcome, "node") && (outcome.condition.thread > 0 || has_other_main)
}

/// Few and short stalls may be chance.
fn is_worth_mending(event_loop: &EventLoopBlock) -> bool {
    const OFTEN: u64 = 3;
    let longest = event_loop.iterations.max().map_or(0, |max| max.as_nanos().unsigned_abs());
    event_loop.long >= OFTEN || longest >= event_loop.above.times(10).as_nanos()
}

/// A note where the loop waited for the CPU about as long as its control group was out of quota. The kernel does not report for a thread that never sleeps which of the two it waited for.
fn quota(stall: &TypicalStall, event_loop: &EventLoopBlock, analysis: &Analysis) -> Option<String> {
    let waited = event_loop.long_spent.ready.as_secs_f64();
    let used_up = analysis.caveats.iter().find_map(|caveat| match caveat {
        Caveat::QuotaUsedUp { stopped, periods, stopped_ns, .. } => Some((stopped, periods, stopped_ns)),
        _ => None,
    });
    let (stopped, periods, _) = used_up.filter(|(.., stopped)| {
        stall.reason == StallReason::WaitedForCpu && stopped.as_secs_f64() * 2.0 > waited
    })?;
    let (stopped, periods) = (count(*stopped), count(*periods));
    Some(format!(
        " Its control group had used up its CPU quota in {stopped} of {periods} periods: that is what it waited for."
    ))
}

/// A sentence on threads that share an event loop.
pub(super) fn shared(outcomes: &[&Outcome]) -> Option<String> {
    let all = worst_first(outcomes);
    let first = all.iter().find(|(_, event_loop)| event_loop.shared_by.is_some());
    first.map(|(outcome, event_loop)| shared_sentence(&name(outcome), event_loop))
}

/// One line per blocked loop for the live view: `python3's event loop took more than 10 ms in 20 of 41 iterations, 30.2 ms at most.`
pub fn blocked_event_loop_lines(analysis: &Analysis) -> Vec<String> {
    let outcomes: Vec<&Outcome> = analysis.outcomes().iter().collect();
    let long = worst_first(&outcomes)
        .into_iter()
        .filter(|(_, event_loop)| event_loop.long > 0 && event_loop.shared_by.is_none());
    let short = |(outcome, event_loop): (&Outcome, &EventLoopBlock)| {
        let most = event_loop.iterations.max().map_or_else(String::new, |max| format!(", {max} at most"));
        let (long, all) = (count(event_loop.long), count(event_loop.iterations.count()));
        let above = length(event_loop.above);
        format!("{}'s event loop took more than {above} in {long} of {all} iterations{most}.", name(outcome))
    };
    long.take(MOST_SENTENCES).map(short).collect()
}

/// Loops that share their events come last: which thread was late is unknown.
fn worst_first<'a>(outcomes: &[&'a Outcome]) -> Vec<(&'a Outcome, &'a EventLoopBlock)> {
    let mut all: Vec<(&Outcome, &EventLoopBlock)> =
        outcomes.iter().filter_map(|outcome| Some((*outcome, event_loop_of(outcome)?))).collect();
    all.sort_by_key(|(_, event_loop)| {
        (event_loop.shared_by.is_some(), Reverse((event_loop.long, event_loop.iterations.max())))
    });
    all
}

/// The event loop of a thread.
pub(super) fn event_loop_of(outcome: &Outcome) -> Option<&EventLoopBlock> {
    outcome.rhythm.as_deref().and_then(Rhythm::event_loop)
}

/// Whether the thread has an event loop that no other thread shares.
pub(super) fn has_own_loop(outcome: &Outcome) -> bool {
    event_loop_of(outcome).is_some_and(|event_loop| event_loop.shared_by.is_none())
}

/// The table of event loops, for Markdown and HTML.
pub struct EventLoopRows {
    /// The first two columns name the row.
    pub headings: Vec<String>,
    /// One row per event loop, times in µs.
    pub rows: Vec<Vec<String>>,
}

/// The loops of `outcomes`, those that were blocked most often first; `None` without any.
pub fn event_loop_rows(outcomes: &[&Outcome]) -> Option<EventLoopRows> {
    let mut all = worst_first(outcomes);
    all.truncate(MOST_SHOWN);
    let (headings, columns) = table(&all, TableUnit::Micros).into_parts();
    (!all.is_empty()).then(|| EventLoopRows { headings, rows: transpose(&columns) })
}

fn table(event_loops: &[(&Outcome, &EventLoopBlock)], unit: TableUnit) -> TextTable {
    let cells = |text: &dyn Fn(&(&Outcome, &EventLoopBlock)) -> String| {
        event_loops.iter().map(text).collect::<Vec<_>>()
    };
    let at = |event_loop: &EventLoopBlock, quantile: f64| {
        percentile(&event_loop.iterations, quantile).map_or_else(none, |length| unit.show(length.as_nanos()))
    };
    let most = |event_loop: &EventLoopBlock| {
        event_loop.iterations.max().map_or_else(none, |max| unit.show(max.as_nanos()))
    };
    let long = |event_loop: &EventLoopBlock| {
        if event_loop.shared_by.is_some() { none() } else { count(event_loop.long) }
    };
    let above = event_loops.first().map_or(Span::ZERO, |(_, event_loop)| event_loop.above);
    let mut table = TextTable::without_columns(2);
    let outcomes: Vec<&Outcome> = event_loops.iter().map(|(outcome, _)| *outcome).collect();
    table.column("thread", subjects(&outcomes));
    table.column("waits in", cells(&|(_, event_loop)| event_loop.wait.to_string()));
    table.column("iterations", cells(&|(_, event_loop)| count(event_loop.iterations.count())));
    table.column("median", cells(&|(_, event_loop)| at(event_loop, 0.5)));
    table.column("p99", cells(&|(_, event_loop)| at(event_loop, 0.99)));
    table.column("max", cells(&|(_, event_loop)| most(event_loop)));
    table.column(&format!("above {}", length(above)), cells(&|(_, event_loop)| long(event_loop)));
    table
}

/// `python3's event loop took more than 10 ms in 20 of 41 iterations. In 18 of the 20 it was blocked in …`
fn sentence(name: &str, language: ProgramKind, event_loop: &EventLoopBlock) -> String {
    let (all, long, above) = (event_loop.iterations.count(), event_loop.long, event_loop.above);
    let mut sentences = vec![format!(
        "{name}'s event loop took more than {} in {} of {} iterations.",
        length(above),
        count(long),
        count(all)
    )];
    sentences.extend(TypicalStall::of(event_loop).and_then(|stall| stall.sentence(language)));
    sentences.extend(event_loop.longest.first().map(|longest| the_longest(longest, language)));
    sentences.extend(most_often_in(event_loop));
    sentences.join(" ")
}

fn the_longest(longest: &LongIteration, language: ProgramKind) -> String {
    let function = longest.function.as_deref().map(|function| format!(", in {}", legible(function)));
    format!(
        "The longest took {}: {}{}.",
        length(longest.spent.total()),
        spent_in_words(longest, language),
        function.unwrap_or_default()
    )
}

/// The function in which at least a third of the long iterations were.
fn most_often_in(event_loop: &EventLoopBlock) -> Option<String> {
    let most = event_loop
        .functions
        .first()
        .filter(|most| event_loop.long > 1 && most.count * 3 >= event_loop.long)?;
    let is_same =
        event_loop.longest.first().is_some_and(|longest| longest.function.as_ref() == Some(&most.name));
    let (times, long) = (count(most.count), count(event_loop.long));
    Some(match is_same {
        true => format!("The same was true of {times} of the {long}."),
        false => format!("Most often it was in {} ({times} of {long}).", legible(&most.name)),
    })
}

/// Threads that serve the same events have no loop each: while one is busy, another takes the next event.
fn shared_sentence(name: &str, event_loop: &EventLoopBlock) -> String {
    format!(
        "{name} and {} more wait on the same events, as threads of Go's runtime and tokio's do: none of them is an event loop of its \
         own, and a long iteration of one delays nothing while another is free.",
        count(event_loop.shared_by.unwrap_or(1).saturating_sub(1))
    )
}

/// `running (28.0 ms) and waiting for the CPU (2.00 ms)`, the longest first; the sum is the whole iteration.
fn spent_in_words(iteration: &LongIteration, language: ProgramKind) -> String {
    let (spent, quota) = (iteration.spent, iteration.quota.min(iteration.spent.ready));
    let call = iteration.blocked_in.as_deref();
    let mut all = [
        (language.doing(StallReason::Ran, None), spent.running),
        (language.doing(StallReason::Blocked, call), spent.blocked),
        (language.doing(StallReason::WaitedForCpu, None), spent.ready.minus(quota)),
        ("kept off by the quota of its control group".to_owned(), quota),
    ];
    all.sort_by_key(|(_, time)| Reverse(*time));
    let parts: Vec<String> = all
        .iter()
        .filter(|(_, time)| !time.is_zero())
        .map(|(what, time)| format!("{what} ({})", length(*time)))
        .collect();
    match parts.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => parts.concat(),
    }
}

/// The option of the runtime that gives its functions names.
fn how_to_name(language: ProgramKind, event_loop: &EventLoopBlock) -> Option<&'static str> {
    let is_named = |part: &str| event_loop.functions.iter().any(|function| function.name.contains(part));
    match language {
        ProgramKind::Python if !is_named(".py)") => {
            Some("`python3 -X perf` (3.12 or later, built with frame pointers) names Python's functions.")
        }
        ProgramKind::Node if !is_named(".js:") => Some(
            "`node --perf-basic-prof --interpreted-frames-native-stack` names the functions of JavaScript.",
        ),
        _ => None,
    }
}

/// A note on asyncio, whose timers are rounded to milliseconds.
pub(super) fn rounded_timers(outcomes: &[&Outcome]) -> Option<&'static str> {
    let is_asyncio = |outcome: &&&Outcome| {
        has_own_loop(outcome) && ProgramKind::of(&name(outcome), &[]) == ProgramKind::Python
    };
    outcomes.iter().find(is_asyncio).map(|_| {
        "Python's `selectors`, which asyncio waits with, round time-outs up to whole milliseconds, and callbacks wait for the iteration before: where a program uses them, both add to the lateness shown here."
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{Iteration, IterationTime, LoopWait, MonotonicTime, StallSite};

    #[test]
    fn what_kept_a_loop_is_said_with_its_share() {
        let us = Span::from_micros;
        let mut event_loop = EventLoopBlock::with_threshold(us(10_000));
        for (number, blocked) in [(0i64, 0), (1, 28_000)] {
            let from = MonotonicTime::from_nanos(number * 100_000_000);
            let iteration = Iteration {
                tid: 7,
                wait: LoopWait::Epoll,
                file: Some(3),
                from,
                until: from.plus(us(2_000 + blocked)),
                blocked: us(blocked),
                ready: us(500),
                quota: us(200),
                longest_sleep: Some((us(blocked), Some("clock_nanosleep".to_owned()))),
                stack: Vec::new(),
            };
            event_loop.add(&iteration, Some("handler (app.py)".to_owned()).filter(|_| number > 0));
        }
        let text = sentence("service", ProgramKind::Other, &event_loop);
        assert_eq!(
            text,
            "service's event loop took more than 10.0 ms in 1 of 2 iterations. The longest took 30.0 ms: blocked in a sleep \
             (`clock_nanosleep`) (28.0 ms), running (1.50 ms), waiting for the CPU (300 µs) and kept off by the quota of its control \
             group (200 µs), in handler (app.py)."
        );
        event_loop.shared_by = Some(4);
        assert!(shared_sentence("go", &event_loop).starts_with("go and 3 more wait on the same events"));
    }

    #[test]
    fn most_often_is_a_third_at_least() {
        let pthread_cond_signal =
            |count| StallSite { name: "pthread_cond_signal".to_owned(), count, total: Span::ZERO };
        let event_loop_with = |count| EventLoopBlock {
            long: 129,
            functions: vec![pthread_cond_signal(count)],
            ..EventLoopBlock::default()
        };
        assert_eq!(most_often_in(&event_loop_with(3)), None);
        assert_eq!(
            most_often_in(&event_loop_with(43)).as_deref(),
            Some("Most often it was in pthread_cond_signal (43 of 129).")
        );
    }

    #[test]
    fn who_cannot_be_named_is_told_how() {
        let mut event_loop = EventLoopBlock::default();
        assert!(how_to_name(ProgramKind::Python, &event_loop).unwrap().contains("-X perf"));
        assert!(how_to_name(ProgramKind::Node, &event_loop).unwrap().contains("--perf-basic-prof"));
        assert_eq!(how_to_name(ProgramKind::Finished, &event_loop), None);
        let function = |name: &str| StallSite { name: name.to_owned(), count: 1, total: Span::ZERO };
        event_loop.functions = vec![function("handler (/srv/app.py)")];
        assert_eq!(how_to_name(ProgramKind::Python, &event_loop), None);
    }

    #[test]
    fn a_quota_that_was_used_up_as_long_is_what_a_loop_waited_for() {
        let ready = Span::from_millis(900);
        let event_loop = EventLoopBlock {
            long: 5,
            long_spent: IterationTime { ready, ..IterationTime::default() },
            ..EventLoopBlock::with_threshold(Span::from_millis(10))
        };
        let mut analysis = Analysis::new(howlate_model::Header::for_conditions(Vec::new()));
        assert!(!describe("python3", &event_loop, &analysis).sentence.contains("quota"));
        analysis.caveats.push(Caveat::QuotaUsedUp {
            process: 7,
            group: "/pod".to_owned(),
            stopped: 151,
            periods: 151,
            stopped_ns: Span::from_millis(800),
        });
        let blocked = describe("python3", &event_loop, &analysis);
        assert!(blocked.sentence.contains("CPU quota in 151 of 151 periods"), "{}", blocked.sentence);
        assert_eq!(blocked.to_do, None);
    }
}
