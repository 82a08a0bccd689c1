//! How long event loops of watched programs did not come back to the call in which they wait, and what they did meanwhile.

use std::cmp::Reverse;

use howlate_analyse::watch::Rhythm;
use howlate_analyse::{Outcome, percentile};
use howlate_model::{EventLoopBlock, Latency, Span, Spent};

use super::{name, none, subjects};
use crate::numbers::{count, micros};
use crate::table::Columns;
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

/// A sentence for each that stayed away too long, the worst first, and one for threads that share a loop.
pub(super) fn sentences(outcomes: &[&Outcome]) -> Vec<String> {
    let all = worst_first(outcomes);
    let (shared, alone): (Vec<_>, Vec<_>) = all.iter().partition(|(_, of)| of.shared_by.is_some());
    let told = alone.iter().filter(|(_, of)| of.long > 0).take(MOST_TOLD);
    let told = told.map(|(one, of)| sentence(&name(one), of));
    told.chain(shared.first().map(|(one, of)| shared_words(&name(one), of))).collect()
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
    if thread.starts_with("python") && !is_named(".py)") {
        " `python3 -X perf` (3.12 or later, built with frame pointers) names Python's functions."
    } else if ["node", "MainThread"].iter().any(|name| thread.starts_with(name)) && !is_named(".js:") {
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
