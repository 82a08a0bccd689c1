//! Results of `howlate quick`: one screen for newcomers.

use howlate_analyse::{Analysis, Outcome, Ratio, SavedAs, ratio};
use howlate_model::{Caveat, Finding, HasProperties, Latency, Load, Policy, Property, Verdict};

use crate::cause_words::main_causes;
use crate::commands_to_type::step_lines;
use crate::detail::{Detail, show_again};
use crate::ending::ending_after_title;
use crate::machine::machine;
use crate::notes::{MOST_LINES, doubts_but, notes};
use crate::numbers::{count, length, micros};
use crate::prose::wrapped;
use crate::ratio::{times_as_much, two_digits};
use crate::style::{COMMAND, DIM, HEADING, paint};
use crate::table::{TextTable, transpose, worst_in_bold};

/// Most findings that are named.
const MOST_FINDINGS: usize = 3;
/// Most commands shown for each.
const MOST_COMMANDS: usize = 2;

/// Lateness idle and under load, and what helps, in 24 lines. With `--details` also explanations, and the findings that cost most.
pub fn quick(analysis: &Analysis, detail: Detail, width: usize) -> String {
    let rows = rows(analysis.outcomes());
    let machine = format!("{}{}", machine(&analysis.header.system), ending_after_title(analysis));
    let machine = paint(HEADING, wrapped(&machine, width, 0));
    let table = format!("Wake-up latency of a 1 ms periodic thread, in µs:\n{}", table(&rows, width));
    let parts = match detail {
        Detail::Brief | Detail::PerCpu => {
            let is_of_no_row = |caveat: &Caveat| realtime(&rows).is_none() && is_of_realtime(caveat);
            let first = headline(&rows).map(|line| format!("{}\n", wrapped(&line, width, 0)));
            [
                doubts_but(is_of_no_row, analysis, MOST_LINES, width),
                first.unwrap_or_default(),
                table,
                in_brief(analysis, &rows, width),
            ]
        }
        Detail::Full => {
            let counts = paint(DIM, wrapped(&wakeup_counts(analysis.outcomes()), width, 0));
            let costly = costly(&analysis.header.findings, width);
            [format!("{table}\n{counts}\n"), in_full(&rows, width), costly, notes(analysis, width)]
        }
    };
    let below = parts.into_iter().filter(|part| !part.is_empty()).map(|part| format!("\n{part}"));
    format!("{machine}\n{}", below.collect::<String>())
}

/// Whether the caveat matters to real-time threads only: page faults are negligible beside the lateness of normal ones.
const fn is_of_realtime(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::MemoryNotLocked { .. })
}

/// What helps, and the main causes.
fn in_brief(analysis: &Analysis, rows: &[QuickRow<'_>], width: usize) -> String {
    let costly = analysis.header.findings.iter().filter(|finding| is_costly(finding)).count();
    // Alone, howlate has no `--details`.
    let shown = (analysis.saved_as != SavedAs::Nowhere).then(|| show_again(analysis, "--details") + ", ");
    let shown = shown.unwrap_or_default();
    let more = format!("More: {shown}`howlate why`, `howlate doctor` ({costly} to fix).");
    let lines = helpful(rows).into_iter().chain(reasons(rows));
    let lines = lines.map(|line| format!("{}\n", wrapped(&line, width, 0)));
    format!("{}{}\n", lines.collect::<String>(), paint(DIM, wrapped(&more, width, 0)))
}

fn in_full(rows: &[QuickRow<'_>], width: usize) -> String {
    let meaning: Vec<String> = meaning(rows).into_iter().chain(reasons(rows)).collect();
    if meaning.is_empty() {
        return String::new();
    }
    let lines = meaning.iter().map(|line| format!("  {}\n", wrapped(line, width, 2)));
    format!("{}\n{}", paint(HEADING, "What this means"), lines.collect::<String>())
}

/// `Wake-ups are usually 77.3 µs late; under load, 1 in 100 is more than 14.9 ms late (48.1 µs with real-time priority).`
fn headline(rows: &[QuickRow<'_>]) -> Option<String> {
    let default_row = default_settings(rows)?;
    let usual = at(default_row.idle, 0.5)?;
    let busy = default_row.busy.and_then(|busy| at(busy, 0.99));
    let busy =
        busy.map_or_else(String::new, |late| format!("; under load, 1 in 100 is more than {late} late"));
    let realtime = realtime(rows).and_then(|row| at(row.busy?, 0.99));
    let realtime = realtime.map_or_else(String::new, |late| format!(" ({late} with real-time priority)"));
    Some(format!("Wake-ups are usually {usual} late{busy}{realtime}."))
}

/// What helps according to these turns, a line each.
fn helpful(rows: &[QuickRow<'_>]) -> Vec<String> {
    let Some(default_row) = default_settings(rows) else { return Vec::new() };
    let slack = without_slack(rows).and_then(|row| slack_gain(default_row, row)).map(|(gain, _)| {
        format!("{gain} of the median are timer slack; `prctl(PR_SET_TIMERSLACK, 1)` removes it.")
    });
    let priority = realtime(rows).and_then(|row| gain_of_priority(default_row, row)).map(|(low, high)| {
        format!("`chrt --fifo 80 …` makes p99 under load {low} to {high} times lower (95 % interval).")
    });
    slack.into_iter().chain(priority).collect()
}

/// What the numbers mean.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    meaning(&rows(analysis.outcomes()))
}

/// A policy and slack, idle and under load.
struct QuickRow<'a> {
    idle: &'a Outcome,
    busy: Option<&'a Outcome>,
}

fn rows(outcomes: &[Outcome]) -> Vec<QuickRow<'_>> {
    let partner = |idle: &Outcome| {
        outcomes.iter().find(|busy| {
            busy.condition.load == Load::cpu()
                && busy.condition.policy == idle.condition.policy
                && busy.condition.slack_ns == idle.condition.slack_ns
        })
    };
    let idle = outcomes.iter().filter(|outcome| outcome.condition.load == Load::IDLE);
    idle.map(|idle| QuickRow { idle, busy: partner(idle) }).collect()
}

fn name(row: &QuickRow<'_>) -> String {
    let condition = &row.idle.condition;
    match (row.refused(), condition.policy, condition.slack_ns) {
        (Some(refused), ..) => refused,
        (_, Policy::OTHER, None) => "normal scheduling".to_owned(),
        (_, Policy::OTHER, Some(slack)) => format!("{} of timer slack", length(slack)),
        (_, policy, _) if policy.is_realtime() => format!("real-time priority ({policy})"),
        (_, policy, _) => policy.to_string(),
    }
}

impl QuickRow<'_> {
    const fn outcome(&self, busy: bool) -> Option<&Outcome> {
        if busy { self.busy } else { Some(self.idle) }
    }

    /// The refused policy, if it was refused idle or under load.
    fn refused(&self) -> Option<String> {
        let refused = |outcome: &Outcome| {
            outcome.fallback_policy().and(outcome.value(Property::Policy)).map(|value| value.to_string())
        };
        refused(self.idle).or_else(|| self.busy.and_then(refused))
    }
}

/// Idle above busy, because side by side they do not fit 80 columns.
fn table(rows: &[QuickRow<'_>], width: usize) -> String {
    let headings = ["", "median", "p99", "max", "missed"].map(str::to_owned);
    let missed = |row: &QuickRow<'_>, busy| row.outcome(busy).map(Outcome::missed_periods);
    let is_missed = rows.iter().any(|row| missed(row, false) > Some(0) || missed(row, true) > Some(0));
    let shown = if is_missed { headings.len() } else { headings.len() - 1 };
    let mut table = TextTable::new(&headings[..shown], 1);
    for (busy, heading_text) in [(false, "idle"), (true, "all CPUs busy")] {
        let mut heading = vec![String::new(); shown];
        heading_text.clone_into(&mut heading[0]);
        table.row(heading);
        let mut columns = vec![rows.iter().map(|row| format!("  {}", name(row))).collect()];
        for quantile in [0.5, 0.99, 1.0] {
            let value = |row: &QuickRow<'_>| at(row.outcome(busy)?, quantile).map(Latency::as_nanos);
            let values: Vec<Option<i64>> = rows.iter().map(value).collect();
            columns.push(worst_in_bold(&values, micros));
        }
        if is_missed {
            let shown = |row| missed(row, busy).map_or_else(|| "–".to_owned(), count);
            columns.push(rows.iter().map(shown).collect());
        }
        transpose(&columns).into_iter().for_each(|row| table.row(row));
    }
    table.text(width)
}

/// How many wake-ups the numbers are from.
fn wakeup_counts(outcomes: &[Outcome]) -> String {
    let counts = || outcomes.iter().map(|outcome| outcome.planned().count());
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let missed: u64 = outcomes.iter().map(Outcome::missed_periods).sum();
    let range = if least == most { count(least) } else { format!("{} to {}", count(least), count(most)) };
    let missed = match missed {
        0 => ", none missed".to_owned(),
        _ => ". Missed ones count with the delay they would have had".to_owned(),
    };
    format!("Each row covers {range} planned wake-ups{missed}.")
}

/// Sentences on what the numbers mean.
fn meaning(rows: &[QuickRow<'_>]) -> Vec<String> {
    let Some(default_row) = default_settings(rows) else { return Vec::new() };
    let mut lines = Vec::new();
    lines.extend(without_slack(rows).and_then(|row| slack(default_row, row)));
    lines.extend(load(default_row));
    lines.extend(realtime(rows).and_then(|row| priority(default_row, row)));
    lines
}

/// The row with default settings.
fn default_settings<'a, 'b>(rows: &'b [QuickRow<'a>]) -> Option<&'b QuickRow<'a>> {
    rows.iter()
        .find(|row| row.idle.condition.policy == Policy::OTHER && row.idle.condition.slack_ns.is_none())
}

fn without_slack<'a, 'b>(rows: &'b [QuickRow<'a>]) -> Option<&'b QuickRow<'a>> {
    rows.iter().find(|row| row.idle.condition.slack_ns.is_some())
}

fn realtime<'a, 'b>(rows: &'b [QuickRow<'a>]) -> Option<&'b QuickRow<'a>> {
    rows.iter().find(|row| row.idle.condition.policy.is_realtime() && row.refused().is_none())
}

/// Main causes of late wake-ups with default settings, if traced.
fn reasons(rows: &[QuickRow<'_>]) -> Option<String> {
    let first = rows.first()?;
    let causes = |busy, when: &str| {
        let main = main_causes(&first.outcome(busy)?.why_late(None)?)?;
        Some(format!("{when}: {main}"))
    };
    let causes: Vec<String> = [causes(false, "idle"), causes(true, "busy")].into_iter().flatten().collect();
    let of_all = format!("Main causes of the slowest 1 % (normal scheduling): {}.", causes.join("; "));
    (!causes.is_empty()).then_some(of_all)
}

fn at(outcome: &Outcome, quantile: f64) -> Option<Latency> {
    if quantile < 1.0 { outcome.percentile(quantile) } else { outcome.latency().max() }
}

fn slack(default_row: &QuickRow<'_>, row: &QuickRow<'_>) -> Option<String> {
    let slack = default_row.idle.in_force.as_ref()?.slack;
    slack_gain(default_row, row).map(|(gain, median)| {
        format!(
            "{gain} of the median {median} are timer slack: the kernel may delay the timers of a normal thread by up to {}. \
             `prctl(PR_SET_TIMERSLACK, 1)` removes it and needs no privileges.",
            length(slack)
        )
    })
}

/// The part of the median that is timer slack, and the median. A larger difference is not due to slack.
fn slack_gain(default_row: &QuickRow<'_>, row: &QuickRow<'_>) -> Option<(Latency, Latency)> {
    let slack = default_row.idle.in_force.as_ref()?.slack;
    let (with, without) = (at(default_row.idle, 0.5)?, at(row.idle, 0.5)?);
    let most = i64::try_from(slack.as_nanos()).unwrap_or(i64::MAX);
    let gain = (with.as_nanos() - without.as_nanos()).min(most);
    (gain > 5_000).then(|| (Latency::from_nanos(gain), with))
}

/// By how much real-time priority reduces p99 under load, if significant.
fn gain_of_priority(default_row: &QuickRow<'_>, row: &QuickRow<'_>) -> Option<(String, String)> {
    match ratio(default_row.busy?, row.busy?, |turn| turn.p99, STATEMENTS) {
        Ratio::Settled { low, high, .. } if high < 1.0 => {
            Some((two_digits(1.0 / high), two_digits(1.0 / low)))
        }
        _ => None,
    }
}

/// Number of joint statements on ratios.
const STATEMENTS: usize = 2;

/// Commands that measure the effect of a load, and of a priority.
const SETTLES_LOAD: &str =
    "howlate cyclic --load idle,cpu --out run.jsonl && howlate compare run.jsonl --by load";
const SETTLES_PRIORITY: &str = "howlate cyclic --policy other,fifo:80 --load cpu --out run.jsonl && \
                                howlate compare run.jsonl --by policy";

const HOW_TO_GET_PRIORITY: &str = "Start your program with `chrt --fifo 80 …`, or call sched_setscheduler(2); either needs root or a raised limit \
     (see `howlate doctor`).";

fn load(default_row: &QuickRow<'_>) -> Option<String> {
    let busy = default_row.busy?;
    let (idle_p99, busy_p99) = (at(default_row.idle, 0.99)?, at(busy, 0.99)?);
    let ratio = ratio(default_row.idle, busy, |turn| turn.p99, STATEMENTS);
    if matches!(ratio, Ratio::Settled { low, .. } if low > 1.0) {
        let much = times_as_much(ratio, SETTLES_LOAD);
        return Some(format!(
            "Under load, 1 wake-up in 100 is more than {busy_p99} late; without it, {idle_p99}{much}"
        ));
    }
    (busy_p99 > idle_p99).then(|| {
        format!("Under load, 1 wake-up in 100 was more than {busy_p99} late, without it {idle_p99}, but this short run cannot confirm a difference. To confirm: `{SETTLES_LOAD}`")
    })
}

fn priority(default_row: &QuickRow<'_>, row: &QuickRow<'_>) -> Option<String> {
    let (normal, realtime) = (default_row.busy?, row.busy?);
    let (normal_p99, realtime_p99) = (at(normal, 0.99)?, at(realtime, 0.99)?);
    let ratio = ratio(normal, realtime, |turn| turn.p99, STATEMENTS);
    if matches!(ratio, Ratio::Settled { high, .. } if high < 1.0) {
        let much = times_as_much(ratio, SETTLES_PRIORITY);
        return Some(format!(
            "With real-time priority, 1 in 100 is more than {realtime_p99} late under load, instead of {normal_p99}{much} {HOW_TO_GET_PRIORITY}"
        ));
    }
    (realtime_p99 < normal_p99).then(|| {
        format!("Under load, 1 wake-up in 100 was more than {realtime_p99} late with real-time priority, and {normal_p99} without, but this short run cannot confirm a difference. To confirm: `{SETTLES_PRIORITY}`")
    })
}

const fn is_costly(finding: &Finding) -> bool {
    matches!(finding.verdict, Verdict::Blocks | Verdict::Costs)
}

/// The findings that cost most, with commands.
fn costly(findings: &[Finding], width: usize) -> String {
    let costly = findings.iter().filter(|finding| is_costly(finding));
    let shown: Vec<&Finding> = costly.clone().take(MOST_FINDINGS).collect();
    if shown.is_empty() {
        return String::new();
    }
    let mut text = format!("{}\n", paint(HEADING, "What costs most on this system"));
    for finding in shown {
        text.push_str(&format!("  · {}\n", wrapped(&finding.found, width, 4)));
        let apply = finding.remedy.iter().flat_map(|remedy| &remedy.apply).take(MOST_COMMANDS);
        let lines = apply.flat_map(|step| step_lines(step, width.saturating_sub(4)));
        lines.for_each(|line| text.push_str(&format!("    {}\n", paint(COMMAND, line))));
    }
    let rest = costly.count().saturating_sub(MOST_FINDINGS);
    let more = if rest > 0 {
        format!("{rest} more, and why: howlate doctor")
    } else {
        "Why: howlate doctor".to_owned()
    };
    text.push_str(&format!("  {}\n", paint(DIM, more)));
    text
}

#[cfg(test)]
mod tests {
    use howlate_model::{
        AsText, Block, Condition, EndReason, Header, Line, MonotonicTime, Priority, RecordingEnd,
        SettingRefusal, Span, Wait, Wakeup, Work,
    };

    use super::*;

    /// Three turns of each condition: 196 wake-ups with one latency, and four with another, in microseconds.
    fn analysis(late: [(Load, u64, u64); 2]) -> Analysis {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let conditions =
            late.iter().map(|(load, ..)| Condition { load: load.clone(), ..Condition::new(work, "6.18.0") });
        let mut analysis = Analysis::new(Header::for_conditions(conditions.collect()));
        for round in 0..3 {
            for (condition, (_, usual, rare)) in (0..).zip(&late) {
                let at = |number: u64| MonotonicTime::from_nanos(0).plus(Span::from_millis(number));
                let mut block = Block { condition, round, until: at(200), ..Block::default() };
                for number in 0..200 {
                    let late = Span::from_micros(if number % 50 == 0 { *rare } else { *usual });
                    let expected = at(number);
                    block.record(Wakeup { expected, ran: expected.plus(late) }, None);
                }
                analysis.add(&Line::Block(Box::new(block)));
            }
        }
        analysis
    }

    /// Idle CPUs sleep deeply, so under load the median falls while the 99th percentile rises.
    #[test]
    fn what_load_costs_is_said_of_the_percentile_that_it_is_of() {
        let analysis = analysis([(Load::IDLE, 80, 100), (Load::cpu(), 60, 1_000)]);
        let meaning = sentences(&analysis).join("\n");
        assert!(meaning.contains("1 wake-up in 100") && meaning.contains("1.00 ms late"), "{meaning}");
        let text = quick(&analysis, Detail::Brief, 100);
        assert!(
            text.contains("Wake-ups are usually 80.") && text.contains("under load, 1 in 100 is"),
            "{text}"
        );
        for text in [meaning, text, quick(&analysis, Detail::Full, 100)] {
            assert!(!text.contains("woke later") && !text.contains("wake later"), "{text}");
        }
    }

    /// For normal threads, page faults are negligible.
    #[test]
    fn memory_that_is_not_locked_is_a_doubt_about_real_time_threads_alone() {
        let mut analysis = analysis([(Load::IDLE, 80, 100), (Load::cpu(), 60, 1_000)]);
        let reason = AsText::Value(SettingRefusal::ReportsAnother);
        analysis.add(&Line::Caveat(Caveat::MemoryNotLocked { reason }));
        assert!(!quick(&analysis, Detail::Brief, 100).contains("not locked"));
        assert!(quick(&analysis, Detail::Full, 100).contains("not locked"), "nothing is kept from who asks");
        analysis
            .header
            .conditions
            .iter_mut()
            .for_each(|condition| condition.policy = Policy::Fifo { priority: Priority::USUAL });
        let mut of_realtime = Analysis::new(analysis.header.clone());
        analysis.caveats.iter().for_each(|caveat| of_realtime.add(&Line::Caveat(caveat.clone())));
        assert!(quick(&of_realtime, Detail::Brief, 100).contains("not locked"));
    }

    #[test]
    fn a_look_that_was_cut_short_says_so() {
        let mut analysis = Analysis::new(Header::for_conditions(Vec::new()));
        for (how, says) in [(EndReason::Interrupted, true), (EndReason::Done, false)] {
            analysis.end = Some(RecordingEnd { at: MonotonicTime::default(), how });
            let text = quick(&analysis, Detail::Brief, 100);
            assert_eq!(text.contains("interrupted"), says, "{text}");
        }
    }
}
