//! The state of a run with `--until`, in sentences.

use howlate_analyse::sequential::slowest_change;
use howlate_analyse::sequential::{
    Decision, DecisionInterval, IntervalUnit, Progress, RunLengths, progress_of,
};
use howlate_analyse::{Analysis, per_loop, slowest_covered};
use howlate_model::{HasProperties, Latency, Span, StopRule, unit_name};

use crate::numbers::{count, rough, round};
use crate::property::{typed_phrase, varying};
use crate::prose::{capitalised, wrapped};

/// The decision with its interval; `None` without `--until`.
pub fn until(analysis: &Analysis) -> Option<String> {
    let result = progress_of(analysis)?;
    let figure = result.figure;
    if figure == StopRule::Compared {
        return Some(compared(analysis, &result));
    }
    let verdict = match result.decision {
        Decision::Reached => "is reached",
        Decision::Holds => "holds",
        Decision::Refuted => "is refuted",
        Decision::Undecided => "is undecided",
    };
    let about = about(analysis, &result);
    let needs = needs(&result);
    Some(format!("`{figure}` {verdict}{about}: {}{needs}.", evidence(analysis, &result)))
}

/// `Decided: other is later than fifo:80, in 8 of 8 pairs of turns (95 %, however often you look).`
fn compared(analysis: &Analysis, result: &Progress) -> String {
    let decision = if result.decision == Decision::Reached { "Decided" } else { "Undecided" };
    format!("{decision}: {}{}.", pairs(analysis, result), needs(result))
}

/// The decisive or least certain condition, where there are several.
fn about(analysis: &Analysis, result: &Progress) -> String {
    let all = analysis.outcomes();
    let outcome = result.condition.and_then(|index| all.get(index as usize)).filter(|_| all.len() > 1);
    match (outcome, result.decision) {
        (None, _) => String::new(),
        (Some(outcome), Decision::Refuted | Decision::Undecided) => {
            format!(" ({})", name_among(outcome, all))
        }
        (Some(outcome), _) => format!(" for every condition; least certain for {}", name_among(outcome, all)),
    }
}

/// Name of a condition among others: the properties in which they differ.
fn name_among<T: HasProperties>(condition: &T, all: &[T]) -> String {
    let values = varying(all).into_iter().filter_map(|property| condition.value(property));
    values.map(|value| typed_phrase(&value)).collect::<Vec<_>>().join(" · ")
}

fn evidence(analysis: &Analysis, result: &Progress) -> String {
    match result.figure {
        StopRule::Rare { .. } => rate(result),
        StopRule::Known { percent, .. } => percentile(percent, result),
        StopRule::Compared => pairs(analysis, result),
    }
}

/// Rates are per hour in the analysis.
const AN_HOUR: Span = Span::from_secs(3_600);

/// `3 times in 4 h 10 min, 0.12 to 2.40 per hour (95 % for a rate that changes within 24 s, however often you look; late wake-ups within 60 s count once)`.
fn rate(result: &Progress) -> String {
    let times = match result.events.unwrap_or_default() {
        0 => "never exceeded".to_owned(),
        1 => "exceeded once".to_owned(),
        events => format!("exceeded {} times", count(events)),
    };
    // In the unit of the condition given.
    let per = match result.figure {
        StopRule::Rare { per, .. } => per,
        StopRule::Known { .. } | StopRule::Compared => AN_HOUR,
    };
    let (unit, scale) = (unit_name(per), per.as_secs_f64() / AN_HOUR.as_secs_f64());
    let rate = match result.interval {
        Some(DecisionInterval { low, high: Some(high), unit: IntervalUnit::PerHour }) if low > 0.0 => {
            format!(", which is {} to {} per {unit}", round(low * scale), round(high * scale))
        }
        Some(DecisionInterval { low, high: None, unit: IntervalUnit::PerHour }) => {
            format!(", which is at least {} per {unit}", round(low * scale))
        }
        Some(DecisionInterval { high: Some(high), unit: IntervalUnit::PerHour, .. }) => {
            format!(", which is at most {} per {unit}", round(high * scale))
        }
        _ => String::new(),
    };
    let spell = result
        .spell
        .map_or_else(String::new, |spell| format!("; late wake-ups within {} count once", rough(spell)));
    let scope = covered(result.figure);
    format!(
        "{times} in {}{rate} ({}{scope}, however often you look{spell})",
        rough(result.covered),
        confidence(result)
    )
}

/// The changes of a rate that its decision covers.
fn covered(figure: StopRule) -> String {
    let covered = |interval| format!(" for a rate that changes within {}", rough(slowest_change(interval)));
    figure.interval().map_or_else(String::new, covered)
}

fn percentile(percent: f64, result: &Progress) -> String {
    let interval = match result.interval {
        Some(DecisionInterval { low, high: Some(high), unit: IntervalUnit::Ns }) => {
            format!("p{percent} is {} to {}", latency(low), latency(high))
        }
        _ => format!("p{percent} has no interval yet"),
    };
    format!(
        "{interval} after {} ({} for what changes within {}; looked at {}, at lengths fixed beforehand)",
        rough(result.covered),
        confidence(result),
        rough(slowest_covered(result.covered)),
        times_looked(result.looked)
    )
}

fn times_looked(looks: u64) -> String {
    if looks == 1 { "once".to_owned() } else { format!("{} times", count(looks)) }
}

fn pairs(analysis: &Analysis, result: &Progress) -> String {
    let all = per_loop(analysis);
    let name = |index: usize| all.get(index).map(|compared| name_among(compared, &all)).unwrap_or_default();
    let (events, pairs) = (result.events.unwrap_or_default(), result.pairs.unwrap_or_default());
    if pairs == 0 {
        return "no pair of turns has been taken yet".to_owned();
    }
    let (later, earlier, times) = if events * 2 >= pairs { (0, 1, events) } else { (1, 0, pairs - events) };
    let is_decided = result.decision == Decision::Reached;
    format!(
        "{} {} later than {}{} in {} of {} pairs of turns ({}, however often you look)",
        name(later),
        if is_decided { "is" } else { "was" },
        name(earlier),
        if is_decided { "," } else { "" },
        count(times),
        count(pairs),
        confidence(result)
    )
}

fn confidence(result: &Progress) -> String {
    format!("{:.0} %", result.confidence * 100.0)
}

#[allow(clippy::cast_possible_truncation, reason = "whole nanoseconds")]
fn latency(nanos: f64) -> String {
    Latency::from_nanos(nanos as i64).to_string()
}

fn needs(result: &Progress) -> String {
    match (result.decision, result.needs_about) {
        (Decision::Undecided, Some(needs)) => {
            format!("; at this rate it needs about {} in all", rough(needs))
        }
        (Decision::Undecided, None) if result.figure != StopRule::Compared => {
            "; too close to the limit to say how long it needs".to_owned()
        }
        _ => String::new(),
    }
}

/// How long the run must be, in lines of `width`.
pub fn lengths(lengths: &RunLengths, width: usize) -> String {
    let mut lines = vec![match (lengths.wakeups, lengths.pairs) {
        (Some(wakeups), _) => format!(
            "`{}` takes at least {} wake-ups of each condition: {}. The first look is after two thirds of that, the next whenever the run has become half as long again.",
            lengths.figure,
            count(wakeups),
            rough(lengths.least)
        ),
        (_, Some(pairs)) => format!(
            "`{}` takes at least {} pairs of turns, all with the same one later.",
            lengths.figure,
            count(pairs)
        ),
        _ => format!("`{}`, of each condition: {}.", lengths.figure, to_hold(lengths.least)),
    }];
    let times = |events: &u64| if *events == 1 { "once".to_owned() } else { format!("{events} times") };
    lines.extend(lengths.holds.iter().map(|(events, time)| match events {
        0 => format!("  holds after {:>12} if it is never exceeded", rough(*time)),
        events => format!("  holds after {:>12} if it is exceeded {}", rough(*time), times(events)),
    }));
    lines.extend(lengths.refuted.iter().map(|(events, time)| {
        format!("  refuted if it is exceeded {} within {}", times(events), rough(*time))
    }));
    if !lengths.holds.is_empty() {
        lines.push(format!(
            "With 95 % confidence{}, however often it is looked at meanwhile.",
            covered(lengths.figure)
        ));
    }
    lines.iter().map(|line| format!("{}\n", wrapped(line, width, 2))).collect()
}

/// Minimum duration for a limit to hold; it may be refuted within a few wake-ups.
fn to_hold(least: Span) -> String {
    format!("to hold it takes at least {}; it can be refuted sooner", rough(least))
}

/// Announcement before measuring: `Until … is decided`.
pub fn until_announcement(figure: StopRule, least: Span, at_most: Span, width: usize) -> String {
    let decided = decided(figure);
    let text = if figure.interval().is_some() {
        format!(
            "Until {decided}, at most {}. {}. Ctrl-C ends it earlier.",
            rough(at_most),
            capitalised(&to_hold(least))
        )
    } else {
        format!(
            "Until {decided}: at least {}, at most {}. Ctrl-C ends it earlier.",
            rough(least),
            rough(at_most)
        )
    };
    format!("{}\n", wrapped(&text, width, 0))
}

/// What the run waits for.
fn decided(figure: StopRule) -> String {
    match figure {
        StopRule::Compared => "it is decided which is later".to_owned(),
        _ => format!("`{figure}` is decided"),
    }
}

/// Like `until_announcement`, for a watched program, where each thread needs so many wake-ups.
pub fn watched_until(
    figure: StopRule,
    (least, wakeups): (Span, Option<u64>),
    at_most: Span,
    width: usize,
) -> String {
    let Some(wakeups) = wakeups else { return until_announcement(figure, least, at_most, width) };
    let text = format!(
        "Until `{figure}` is decided for each thread: at least {} wake-ups of each, at most {}. Ctrl-C ends it earlier.",
        count(wakeups),
        rough(at_most)
    );
    format!("{}\n", wrapped(&text, width, 0))
}

/// Progress in one line of `width`.
pub fn until_progress(result: &Progress, width: usize) -> String {
    let so_far = match (result.events, result.pairs) {
        (Some(events), None) => format!("exceeded {} × in {}", count(events), rough(result.covered)),
        (Some(events), Some(pairs)) => {
            format!("{} of {} pairs", count(events.max(pairs - events)), count(pairs))
        }
        _ => format!("{} looks in {}", count(result.looked), rough(result.covered)),
    };
    let needs =
        result.needs_about.map_or_else(String::new, |needs| format!(" · needs about {}", rough(needs)));
    format!("until {} · {so_far}{needs}", result.figure).chars().take(width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{Block, Condition, Header, Line, MonotonicTime, Wait, Work, WorstWakeup};

    fn analysis(figure: &str, policies: &[&str]) -> Analysis {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let condition =
            |policy: &&str| Condition { policy: policy.parse().unwrap(), ..Condition::new(work, "6.1.0") };
        let conditions = policies.iter().map(condition).collect();
        let until = Some(figure.parse().unwrap());
        Analysis::new(Header { until, ..Header::for_conditions(conditions) })
    }

    /// `count` minutes of each condition; condition `late` is late in the first of every ten.
    fn minutes(analysis: &mut Analysis, count: i64, late: Option<usize>) {
        for condition in 0..analysis.header.conditions.len() {
            for minute in 0..count {
                let from = MonotonicTime::from_nanos(minute * 60_000_000_000);
                let is_late = late == Some(condition) && minute % 10 == 0;
                let worst =
                    is_late.then_some(WorstWakeup { at: from, latency: Latency::from_nanos(200_000) });
                let block = Block {
                    condition: u32::try_from(condition).unwrap(),
                    from,
                    until: from.plus(Span::from_secs(60)),
                    worst: worst.into_iter().collect(),
                    ..Block::default()
                };
                analysis.add(&Line::Block(Box::new(block)));
            }
        }
    }

    const HOURLY: &str = "max<100us: 1 per hour";

    fn sentence(policies: &[&str], count: i64, late: Option<usize>) -> String {
        let mut analysis = analysis(HOURLY, policies);
        minutes(&mut analysis, count, late);
        until(&analysis).unwrap()
    }

    #[test]
    fn a_rate_is_told_with_what_it_rests_on() {
        assert_eq!(
            sentence(&["other"], 216, None),
            "`max<100us: 1 per hour` holds: never exceeded in 3 h 36 min, which is at most 1.00 per hour (95 % for a rate that \
             changes within 24.0 s, however often you look; late wake-ups within 1 min 00 s count once)."
        );
        assert_eq!(
            sentence(&["other"], 60, None),
            "`max<100us: 1 per hour` is undecided: never exceeded in 1 h 00 min, which is at most 3.34 per hour (95 % for a rate that \
             changes within 24.0 s, however often you look; late wake-ups within 1 min 00 s count once); at this rate it needs about 3 h 35 min in all."
        );
        let refuted = sentence(&["other"], 216, Some(0));
        assert!(refuted.starts_with("`max<100us: 1 per hour` is refuted: exceeded "), "{refuted}");
        assert!(refuted.contains("which is at least 1."), "{refuted}");
        let mut daily = analysis("max<100us: 1 per day", &["other"]);
        minutes(&mut daily, 60, None);
        let daily = until(&daily).unwrap();
        assert!(daily.contains("which is at most 72.4 per day ("), "{daily}");
    }

    #[test]
    fn what_holds_late_may_be_refuted_soon() {
        let hourly = HOURLY.parse().unwrap();
        let text = until_announcement(hourly, Span::from_secs(12_920), Span::from_secs(60), 120);
        let text = text.replace('\n', " ");
        assert!(
            text.contains(
                "at most 1 min 00 s. To hold it takes at least 3 h 35 min; it can be refuted sooner."
            ),
            "{text}"
        );
    }

    #[test]
    fn of_several_conditions_the_one_is_named_that_decides() {
        let holds = sentence(&["other", "fifo:80"], 216, None);
        assert!(
            holds.contains("holds for every condition; least certain for fifo:80: never exceeded"),
            "{holds}"
        );
        let refuted = sentence(&["other", "fifo:80"], 216, Some(1));
        assert!(refuted.contains("is refuted (fifo:80): exceeded"), "{refuted}");
    }

    #[test]
    fn nothing_is_said_where_nothing_was_asked() {
        let mut plain = analysis(HOURLY, &["other"]);
        plain.header.until = None;
        assert_eq!(until(&plain), None);
        let compared = until(&analysis("compare decided", &["other", "fifo:80"])).unwrap();
        assert_eq!(compared, "Undecided: no pair of turns has been taken yet.");
        let percentile = until(&analysis("p99 ±5%", &["other"])).unwrap();
        assert!(percentile.contains("p99 has no interval yet"), "{percentile}");
    }

    #[test]
    fn lines_are_broken_between_words() {
        let figure: StopRule = HOURLY.parse().unwrap();
        let run_lengths = howlate_analyse::sequential::run_lengths(figure, Span::from_millis(1)).unwrap();
        let p99_9: StopRule = "p99.9 ±5%".parse().unwrap();
        let of_p99_9 = howlate_analyse::sequential::run_lengths(p99_9, Span::from_millis(1)).unwrap();
        for text in [
            until_announcement(figure, Span::from_secs(12_920), Span::from_secs(60), 60),
            watched_until(p99_9, (Span::ZERO, Some(20_000)), Span::from_secs(3_600), 60),
            super::lengths(&run_lengths, 60),
            super::lengths(&of_p99_9, 60),
        ] {
            assert!(
                text.lines().count() > 1 && text.lines().all(|line| line.chars().count() <= 60),
                "{text}"
            );
        }
    }

    #[test]
    fn progress_is_one_line() {
        let mut analysis = analysis(HOURLY, &["other"]);
        minutes(&mut analysis, 12, Some(0));
        let result = progress_of(&analysis).unwrap();
        let line = until_progress(&result, 200);
        assert!(line.starts_with("until max<100us: 1 per hour · exceeded 2 × in 12 min 00 s"), "{line}");
        assert_eq!(until_progress(&result, 10).chars().count(), 10);
    }
}
