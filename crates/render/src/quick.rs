//! The quick look: one screen that a newcomer understands.

use howlate_analyse::{Analysis, Outcome};
use howlate_model::{Finding, Latency, Load, Policy, Verdict};

use crate::machine::machine;
use crate::notes::notes;
use crate::numbers::{length, micros, times};
use crate::prose::wrapped;
use crate::style::{BOLD, DIM, paint};
use crate::table::{Columns, transpose, worst_in_bold};

/// Findings named in the quick look.
const NAMED: usize = 3;
/// Commands shown for each.
const COMMANDS: usize = 2;

/// What machine, how late idle and busy, what it means, what costs most.
pub fn quick(analysis: &Analysis, width: usize) -> String {
    let rows = rows(analysis.outcomes());
    let mut text = format!("{}\n\n", paint(BOLD, machine(&analysis.header.system)));
    text.push_str("How late a thread wakes that wants to run every millisecond, in µs:\n\n");
    text.push_str(&table(&rows));
    let meaning = meaning(&rows);
    if !meaning.is_empty() {
        text.push_str(&format!("\n{}\n", paint(BOLD, "What this means")));
        meaning.iter().for_each(|line| text.push_str(&format!("  {}\n", wrapped(line, width, 2))));
    }
    text.push_str(&costly(&analysis.header.findings, width));
    let notes = notes(analysis, width);
    if !notes.is_empty() {
        text.push_str(&format!("\n{notes}"));
    }
    text
}

/// What the numbers of a quick look mean.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    meaning(&rows(analysis.outcomes()))
}

/// One way to run, idle and under load.
struct Row<'a> {
    idle: &'a Outcome,
    busy: Option<&'a Outcome>,
}

fn rows(outcomes: &[Outcome]) -> Vec<Row<'_>> {
    let partner = |idle: &Outcome| {
        outcomes.iter().find(|busy| {
            busy.condition.load == Load::cpu()
                && busy.condition.policy == idle.condition.policy
                && busy.condition.slack_ns == idle.condition.slack_ns
        })
    };
    let idle = outcomes.iter().filter(|outcome| outcome.condition.load == Load::IDLE);
    idle.map(|idle| Row { idle, busy: partner(idle) }).collect()
}

fn name(row: &Row<'_>) -> String {
    let condition = &row.idle.condition;
    match (condition.policy, condition.slack_ns) {
        (Policy::OTHER, None) => "as you are (other)".to_owned(),
        (Policy::OTHER, Some(slack)) => format!("with {} of timer slack", length(slack)),
        (policy, _) if policy.is_realtime() => format!("with real-time priority ({policy})"),
        (policy, _) => format!("with {policy}"),
    }
}

fn table(rows: &[Row<'_>]) -> String {
    let mut headings = vec![String::new()];
    let mut columns: Vec<Vec<String>> = vec![rows.iter().map(name).collect()];
    for (busy, words) in [(false, "idle"), (true, "all CPUs busy")] {
        for (heading, quantile) in [("median", 0.5), ("p99", 0.99), ("max", 1.0)] {
            let label = if quantile < 0.6 { format!("{words}: {heading}") } else { heading.to_owned() };
            headings.push(label);
            let outcome = |row: &Row<'_>| if busy { row.busy.cloned() } else { Some(row.idle.clone()) };
            let value = |row: &Row<'_>| outcome(row)?.latency().quantile(quantile).map(Latency::as_nanos);
            let values: Vec<Option<i64>> = rows.iter().map(value).collect();
            columns.push(worst_in_bold(&values, micros));
        }
    }
    let mut table = Columns::new(&headings, 1);
    transpose(&columns).into_iter().for_each(|row| table.row(row));
    table.text()
}

/// Differences smaller than this factor are not worth a sentence.
const CLEAR: i64 = 2;

/// What the numbers bear out, in sentences.
fn meaning(rows: &[Row<'_>]) -> Vec<String> {
    let as_you_are = rows
        .iter()
        .find(|row| row.idle.condition.policy == Policy::OTHER && row.idle.condition.slack_ns.is_none());
    let Some(now) = as_you_are else { return Vec::new() };
    let without_slack = rows.iter().find(|row| row.idle.condition.slack_ns.is_some());
    let realtime = rows.iter().find(|row| row.idle.condition.policy.is_realtime());
    let mut lines = Vec::new();
    lines.extend(without_slack.and_then(|row| slack(now, row)));
    lines.extend(load(now));
    lines.extend(realtime.and_then(|row| priority(now, row)));
    lines
}

fn at(outcome: &Outcome, quantile: f64) -> Option<Latency> {
    outcome.latency().quantile(quantile)
}

fn slack(now: &Row<'_>, row: &Row<'_>) -> Option<String> {
    let slack = now.idle.in_force.as_ref()?.slack_ns;
    let (with, without) = (at(now.idle, 0.5)?, at(row.idle, 0.5)?);
    // The rest of the difference is the machine's, not the slack's.
    let most = i64::try_from(slack.as_nanos()).unwrap_or(i64::MAX);
    let gain = (with.as_nanos() - without.as_nanos()).min(most);
    (gain > 5_000).then(|| {
        format!(
            "Timer slack ({}) makes up {} of the usual {with}. A program gets rid of it without any right: prctl(PR_SET_TIMERSLACK, 1).",
            length(slack),
            Latency::from_nanos(gain)
        )
    })
}

fn load(now: &Row<'_>) -> Option<String> {
    let (idle, busy) = (at(now.idle, 0.99)?, at(now.busy?, 0.99)?);
    (busy.as_nanos() > CLEAR * idle.as_nanos()).then(|| {
        let factor = times(busy.as_nanos(), idle.as_nanos());
        format!("When other programs use the CPUs, 1 wake-up in 100 is more than {busy} late: {factor} times the idle {idle}.")
    })
}

fn priority(now: &Row<'_>, row: &Row<'_>) -> Option<String> {
    let (normal, realtime) = (at(now.busy?, 0.99)?, at(row.busy?, 0.99)?);
    (normal.as_nanos() > CLEAR * realtime.as_nanos()).then(|| {
        let factor = times(normal.as_nanos(), realtime.as_nanos());
        format!(
            "With real-time priority, 1 in 100 is more than {realtime} late under load, instead of {normal}: {factor} times less. Start your program with `chrt --fifo 80 …`, or call sched_setscheduler(2)."
        )
    })
}

/// The findings that cost most, with what to do.
fn costly(findings: &[Finding], width: usize) -> String {
    let costly =
        findings.iter().filter(|finding| matches!(finding.verdict, Verdict::Blocks | Verdict::Costs));
    let named: Vec<&Finding> = costly.clone().take(NAMED).collect();
    if named.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", paint(BOLD, "What costs most on this system"));
    for finding in named {
        text.push_str(&format!("  · {}\n", wrapped(&finding.found, width, 4)));
        let apply = finding.remedy.iter().flat_map(|remedy| &remedy.apply).take(COMMANDS);
        apply.for_each(|command| text.push_str(&format!("    {}\n", paint(DIM, command))));
    }
    let rest = costly.count().saturating_sub(NAMED);
    let more = if rest > 0 {
        format!("{rest} more, and why: howlate doctor")
    } else {
        "Why: howlate doctor".to_owned()
    };
    text.push_str(&format!("  {}\n", paint(DIM, more)));
    text
}
