//! How long event loops of watched programs did not come back to the call in which they wait, and what they did meanwhile.

use std::cmp::Reverse;

use howlate_analyse::watch::Rhythm;
use howlate_analyse::{Analysis, Outcome, percentile};
use howlate_model::{Caveat, EventLoopBlock, LongIteration, Span, StallReason};

use super::stall::{Language, Usual, words as length};
use super::{name, none, subjects};
use crate::numbers::count;
use crate::scale_of_table::Unit;
use crate::table::{Columns, transpose};
use crate::untrusted_text::legible;

/// Loops that have a row, and those that have a sentence.
const MOST_SHOWN: usize = 16;
const MOST_TOLD: usize = 2;

/// A row for each event loop, so many at most; empty where there is none.
pub(crate) fn rows(outcomes: &[&Outcome], most: usize, width: usize) -> String {
    let mut all = worst_first(outcomes);
    if most < MOST_SHOWN {
        // Beside others that serve the same events, no number of one says anything.
        all.retain(|(_, of)| of.shared_by.is_none());
    }
    if all.is_empty() || most == 0 {
        return String::new();
    }
    let left_out = all.split_off(all.len().min(most)).len();
    let more = match left_out {
        0 => String::new(),
        1 => "  1 more event loop was late less often.\n".to_owned(),
        some => format!("  {some} more event loops were late less often.\n"),
    };
    let unit = Unit::of(all.iter().filter_map(|(_, of)| of.iterations.max()));
    let rows = table(&all, unit).text(width);
    format!("Event loops: time from one wait for events to the next · {unit}\n\n{rows}{more}\n")
}

/// An event loop that stayed away too long.
pub struct StayedAway {
    /// How often, for how long, and what it was doing.
    pub what: String,
    /// What brings it back sooner, if its own program can: it says by itself which loop it is, and what it does.
    pub to_do: Option<String>,
    /// What its runtime is to be asked for, so that its functions have names.
    pub to_name: Option<&'static str>,
}

/// Each that did, the worst first.
pub fn stayed_away(analysis: &Analysis) -> Vec<StayedAway> {
    let outcomes: Vec<&Outcome> = analysis.outcomes().iter().collect();
    let all = worst_first(&outcomes);
    let told = all.iter().filter(|(_, of)| of.shared_by.is_none() && of.long > 0).take(MOST_TOLD);
    let with_cure = |(one, of): &(&Outcome, &EventLoopBlock)| {
        let told = told_of(&name(one), of, analysis);
        StayedAway { to_do: told.to_do.filter(|_| !is_worker(one, analysis)), ..told }
    };
    told.map(with_cure).collect()
}

fn told_of(name: &str, of: &EventLoopBlock, analysis: &Analysis) -> StayedAway {
    let functions: Vec<&str> = of.functions.iter().map(|one| one.name.as_str()).collect();
    let language = Language::of(name, &functions);
    let usual = Usual::of(of);
    let function = of.functions.first().map(|one| one.name.as_str());
    let to_do = usual.as_ref().filter(|_| is_worth_mending(of));
    let to_do = to_do.and_then(|usual| usual.to_do(name, language, function));
    let quota = usual.and_then(|usual| quota(&usual, of, analysis)).unwrap_or_default();
    let to_name = how_to_name(language, of);
    StayedAway { what: sentence(name, language, of) + &quota, to_do, to_name }
}

/// Whether it is a worker of Node's: what takes long is where it belongs.
fn is_worker(one: &Outcome, analysis: &Analysis) -> bool {
    let is_named = |one: &Outcome, name: &str| one.condition.name.as_deref() == Some(name);
    let has_other_main = analysis.outcomes().iter().any(|other| is_named(other, "MainThread"));
    is_named(one, "node") && (one.condition.thread > 0 || has_other_main)
}

/// Once or twice, and for little more than is allowed, it stays away by chance.
fn is_worth_mending(of: &EventLoopBlock) -> bool {
    const OFTEN: u64 = 3;
    let longest = of.iterations.max().map_or(0, |most| most.as_nanos().unsigned_abs());
    of.long >= OFTEN || longest >= of.above.times(10).as_nanos()
}

/// Where it waited for the CPU, and its control group had used up its quota for as long: a loop that never sleeps is not
/// told by the kernel which of the two it was.
fn quota(usual: &Usual, of: &EventLoopBlock, analysis: &Analysis) -> Option<String> {
    let waited = of.long_spent.ready.as_secs_f64();
    let used_up = analysis.caveats.iter().find_map(|one| match one {
        Caveat::QuotaUsedUp { stopped, periods, stopped_ns, .. } => Some((stopped, periods, stopped_ns)),
        _ => None,
    });
    let (stopped, periods, _) = used_up.filter(|(.., stopped)| {
        usual.reason == StallReason::WaitedForCpu && stopped.as_secs_f64() * 2.0 > waited
    })?;
    let (stopped, periods) = (count(*stopped), count(*periods));
    Some(format!(
        " Its control group had used up its CPU quota in {stopped} of {periods} periods: that is what it waited for."
    ))
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

/// Loops that share their events come last: of them it is not known who was late.
fn worst_first<'a>(outcomes: &[&'a Outcome]) -> Vec<(&'a Outcome, &'a EventLoopBlock)> {
    let mut all: Vec<(&Outcome, &EventLoopBlock)> =
        outcomes.iter().filter_map(|one| Some((*one, event_loop_of(one)?))).collect();
    all.sort_by_key(|(_, of)| (of.shared_by.is_some(), Reverse((of.long, of.iterations.max()))));
    all
}

/// The event loop of a thread.
pub(super) fn event_loop_of(outcome: &Outcome) -> Option<&EventLoopBlock> {
    outcome.rhythm.as_deref().and_then(Rhythm::event_loop)
}

/// Whether a thread has an event loop of its own.
pub(super) fn has_own_loop(outcome: &Outcome) -> bool {
    event_loop_of(outcome).is_some_and(|of| of.shared_by.is_none())
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
    let (headings, columns) = table(&all, Unit::Micros).into_parts();
    (!all.is_empty()).then(|| EventLoopRows { headings, rows: transpose(&columns) })
}

fn table(all: &[(&Outcome, &EventLoopBlock)], unit: Unit) -> Columns {
    let cells = |of: &dyn Fn(&(&Outcome, &EventLoopBlock)) -> String| all.iter().map(of).collect::<Vec<_>>();
    let at = |of: &EventLoopBlock, quantile: f64| {
        percentile(&of.iterations, quantile).map_or_else(none, |length| unit.show(length.as_nanos()))
    };
    let most = |of: &EventLoopBlock| of.iterations.max().map_or_else(none, |max| unit.show(max.as_nanos()));
    let long = |of: &EventLoopBlock| if of.shared_by.is_some() { none() } else { count(of.long) };
    let above = all.first().map_or(Span::ZERO, |(_, of)| of.above);
    let mut table = Columns::without_columns(2);
    let outcomes: Vec<&Outcome> = all.iter().map(|(one, _)| *one).collect();
    table.column("thread", subjects(&outcomes));
    table.column("waits in", cells(&|(_, of)| of.wait.to_string()));
    table.column("iterations", cells(&|(_, of)| count(of.iterations.count())));
    table.column("median", cells(&|(_, of)| at(of, 0.5)));
    table.column("p99", cells(&|(_, of)| at(of, 0.99)));
    table.column("max", cells(&|(_, of)| most(of)));
    table.column(&format!("above {}", length(above)), cells(&|(_, of)| long(of)));
    table
}

/// `python3's event loop did not come back within 10 ms in 20 of 41 iterations. In 18 of the 20 it was blocked in …`
fn sentence(name: &str, language: Language, of: &EventLoopBlock) -> String {
    let (all, long, above) = (of.iterations.count(), of.long, of.above);
    let mut sentences = vec![format!(
        "{name}'s event loop did not come back within {} in {} of {} iterations.",
        length(above),
        count(long),
        count(all)
    )];
    sentences.extend(Usual::of(of).and_then(|usual| usual.sentence(language)));
    sentences.extend(of.longest.first().map(|longest| the_longest(longest, language)));
    sentences.extend(most_often_in(of));
    sentences.join(" ")
}

fn the_longest(longest: &LongIteration, language: Language) -> String {
    let function = longest.function.as_deref().map(|function| format!(", in {}", legible(function)));
    format!(
        "The longest took {}: {}{}.",
        length(longest.spent.total()),
        spent_in_words(longest, language),
        function.unwrap_or_default()
    )
}

/// Where the program was as a rule: a third of them and more.
fn most_often_in(of: &EventLoopBlock) -> Option<String> {
    let most = of.functions.first().filter(|most| of.long > 1 && most.count * 3 >= of.long)?;
    let is_same = of.longest.first().is_some_and(|longest| longest.function.as_ref() == Some(&most.name));
    let (times, long) = (count(most.count), count(of.long));
    Some(match is_same {
        true => format!("The same was true of {times} of the {long}."),
        false => format!("Most often it was in {} ({times} of {long}).", legible(&most.name)),
    })
}

/// Threads that serve the same events are no loop each: one that is away keeps nobody waiting while another one is there.
fn shared_words(name: &str, of: &EventLoopBlock) -> String {
    format!(
        "{name} and {} more wait on the same events, as threads of Go's runtime and tokio's do: none of them is an event loop of its \
         own, and a long iteration of one delays nothing while another is free.",
        count(of.shared_by.unwrap_or(1).saturating_sub(1))
    )
}

/// `running (28.0 ms) and waiting for the CPU (2.00 ms)`, the most first; together all of it.
fn spent_in_words(one: &LongIteration, language: Language) -> String {
    let (spent, quota) = (one.spent, one.quota.min(one.spent.ready));
    let call = one.blocked_in.as_deref();
    let mut all = [
        (language.doing(StallReason::Ran, None), spent.running),
        (language.doing(StallReason::Blocked, call), spent.blocked),
        (language.doing(StallReason::WaitedForCpu, None), spent.ready.minus(quota)),
        ("kept off by the quota of its control group".to_owned(), quota),
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

/// What a runtime is to be asked for, so that its functions have names.
fn how_to_name(language: Language, of: &EventLoopBlock) -> Option<&'static str> {
    let is_named = |part: &str| of.functions.iter().any(|one| one.name.contains(part));
    match language {
        Language::Python if !is_named(".py)") => {
            Some("`python3 -X perf` (3.12 or later, built with frame pointers) names Python's functions.")
        }
        Language::Node if !is_named(".js:") => Some(
            "`node --perf-basic-prof --interpreted-frames-native-stack` names the functions of JavaScript.",
        ),
        _ => None,
    }
}

/// Its own timers, of a loop of Python: what they are rounded to, and behind what they queue.
pub(super) fn rounded_timers(outcomes: &[&Outcome]) -> Option<&'static str> {
    let is_asyncio = |one: &&&Outcome| has_own_loop(one) && Language::of(&name(one), &[]) == Language::Python;
    outcomes.iter().find(is_asyncio).map(|_| {
        "asyncio rounds its timers up to whole milliseconds, and its callbacks wait for the iteration before: both come on top of how late its timers fire here."
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{Iteration, IterationTime, LoopWait, MonotonicTime, StallSite};

    #[test]
    fn what_kept_a_loop_is_said_with_its_share() {
        let us = Span::from_micros;
        let mut all = EventLoopBlock::with_threshold(us(10_000));
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
                quota: us(200),
                longest_sleep: Some((us(blocked), Some("clock_nanosleep".to_owned()))),
                stack: Vec::new(),
            };
            all.add(&one, Some("handler (app.py)".to_owned()).filter(|_| number > 0));
        }
        let text = sentence("service", Language::Other, &all);
        assert_eq!(
            text,
            "service's event loop did not come back within 10.0 ms in 1 of 2 iterations. The longest took 30.0 ms: blocked in a sleep \
             (`clock_nanosleep`) (28.0 ms), running (1.50 ms), waiting for the CPU (300 µs) and kept off by the quota of its control \
             group (200 µs), in handler (app.py)."
        );
        all.shared_by = Some(4);
        assert!(shared_words("go", &all).starts_with("go and 3 more wait on the same events"));
    }

    #[test]
    fn most_often_is_a_third_at_least() {
        let named = |count| StallSite { name: "pthread_cond_signal".to_owned(), count, total: Span::ZERO };
        let of =
            |count| EventLoopBlock { long: 129, functions: vec![named(count)], ..EventLoopBlock::default() };
        assert_eq!(most_often_in(&of(3)), None);
        assert_eq!(
            most_often_in(&of(43)).as_deref(),
            Some("Most often it was in pthread_cond_signal (43 of 129).")
        );
    }

    #[test]
    fn who_cannot_be_named_is_told_how() {
        let mut of = EventLoopBlock::default();
        assert!(how_to_name(Language::Python, &of).unwrap().contains("-X perf"));
        assert!(how_to_name(Language::Node, &of).unwrap().contains("--perf-basic-prof"));
        assert_eq!(how_to_name(Language::Finished, &of), None);
        let named = |name: &str| StallSite { name: name.to_owned(), count: 1, total: Span::ZERO };
        of.functions = vec![named("handler (/srv/app.py)")];
        assert_eq!(how_to_name(Language::Python, &of), None);
    }

    #[test]
    fn a_quota_that_was_used_up_as_long_is_what_a_loop_waited_for() {
        let ready = Span::from_millis(900);
        let of = EventLoopBlock {
            long: 5,
            long_spent: IterationTime { ready, ..IterationTime::default() },
            ..EventLoopBlock::with_threshold(Span::from_millis(10))
        };
        let mut analysis = Analysis::new(howlate_model::Header::for_conditions(Vec::new()));
        assert!(!told_of("python3", &of, &analysis).what.contains("quota"));
        analysis.caveats.push(Caveat::QuotaUsedUp {
            process: 7,
            group: "/pod".to_owned(),
            stopped: 151,
            periods: 151,
            stopped_ns: Span::from_millis(800),
        });
        let told = told_of("python3", &of, &analysis);
        assert!(told.what.contains("CPU quota in 151 of 151 periods"), "{}", told.what);
        assert_eq!(told.to_do, None);
    }
}
