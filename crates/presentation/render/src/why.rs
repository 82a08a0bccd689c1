//! `howlate why`: a typical wake-up beside the late ones, the causes, the worst.

use howlate_analyse::cause::{ProbeEffect, Why};
use howlate_analyse::{Analysis, Outcome};
use howlate_model::{Finding, FindingId, Latency, NO_TRACER, Span, WakeupBreakdown, Work};

use crate::answer::{CauseReport, MOST_REMEDIES};
use crate::cause_table::CauseTable;
use crate::cause_words::{part_in_words, percent, segment_in_words};
use crate::commands_to_type::step_lines;
use crate::condition::condition;
use crate::detail::{Detail, show_again};
use crate::numbers::{count, micros};
use crate::prose::wrapped;
use crate::style::{COMMAND, DIM, HEADING, paint};
use crate::table::TextTable;
use crate::untrusted_text::legible;
use crate::watched_slack::findings_for;

/// Most worst wake-ups shown; the JSON output has all.
const WORST_SHOWN: usize = 3;
/// Threads of a watched program whose causes are shown: the latest ones.
const THREADS_SHOWN: usize = 4;
/// Parts of a worst wake-up with a smaller share are summed up.
const SMALL: f64 = 0.02;
/// Minimum share of unexplained lateness that is mentioned.
const MUCH: f64 = 0.1;

/// Why the wake-ups of every traced condition were late; empty where nothing was traced. In brief, one line of causes per loop, and remedies.
pub fn why(analysis: &Analysis, above: Option<Span>, detail: Detail, width: usize) -> String {
    if detail != Detail::Full {
        return in_brief(analysis, above, detail, MOST_REMEDIES, width);
    }
    let mut outcomes: Vec<&Outcome> = analysis.outcomes().iter().collect();
    if outcomes.iter().all(|outcome| is_watched(outcome)) {
        outcomes.sort_by_key(|outcome| std::cmp::Reverse(outcome.latency().max()));
        outcomes.truncate(THREADS_SHOWN);
    }
    let findings: Vec<_> = outcomes.iter().map(|outcome| findings_for(outcome, analysis)).collect();
    let mut shown = Vec::new();
    let mut all = Vec::new();
    for (outcome, findings) in outcomes.into_iter().zip(&findings) {
        // All threads of a program have the same remedies.
        if !is_watched(outcome) {
            shown.clear();
        }
        all.extend(outcome.why_late(above).map(|why| section(outcome, &why, findings, &mut shown, width)));
    }
    all.join("\n")
}

/// The brief form, with at most `most` remedies.
pub(crate) fn in_brief(
    analysis: &Analysis,
    above: Option<Span>,
    detail: Detail,
    most: usize,
    width: usize,
) -> String {
    let late_causes = CauseReport::find(analysis, above, detail);
    let causes = late_causes.causes(width);
    let remedies = late_causes.remedies(most, width);
    if causes.is_empty() {
        return if remedies.is_empty() { remedies } else { format!("{remedies}\n") };
    }
    let more = match analysis.outcomes().iter().any(is_watched) {
        true => "The latencies include what tracing adds.",
        false => "Traced in separate turns.",
    };
    let more = format!("{more} Part by part: {}.", show_again(analysis, "--details"));
    let more = paint(DIM, wrapped(&more, width, 0));
    let parts = [causes, remedies, format!("{more}\n")];
    parts.into_iter().filter(|part| !part.is_empty()).map(|part| format!("{part}\n")).collect()
}

const fn is_watched(outcome: &Outcome) -> bool {
    matches!(outcome.condition.work, Work::Watch { .. })
}

fn section<'a>(
    outcome: &Outcome,
    why: &Why,
    findings: &'a [Finding],
    shown: &mut Vec<&'a FindingId>,
    width: usize,
) -> String {
    let title = format!("Why: {}", condition(&outcome.condition));
    let title = paint(HEADING, wrapped(&title, width, 0));
    let mut text = format!("{title}\n\n");
    if why.decomposed > 0 {
        text.push_str(&parts(why, width));
        text.push('\n');
    }
    let table = CauseTable::new(why, outcome.policy_in_force(), outcome.relevant_findings(findings));
    text.push_str(&cause_table(&table, width));
    text.push_str(&findings_of(&table, shown, width));
    for worst in why.worst.iter().take(WORST_SHOWN) {
        text.push_str(&time_line(worst, width));
    }
    text.push_str(&format!("{}\n", paint(DIM, wrapped(&how_well(why, is_watched(outcome)), width, 0))));
    text
}

/// A row per part, over all wake-ups.
fn parts(why: &Why, width: usize) -> String {
    let headings = ["part", "mean", "median", "p99", "max"].map(str::to_owned);
    let mut table = TextTable::new(&headings, 1);
    for part in &why.parts {
        let number = |nanos: u64| micros(i64::try_from(nanos).unwrap_or(i64::MAX));
        table.row(vec![
            part_in_words(part.part).to_owned(),
            number(part.mean_ns),
            number(part.p50_ns),
            number(part.p99_ns),
            number(part.max_ns),
        ]);
    }
    table.text(width)
}

/// The causes of the late wake-ups.
fn cause_table(causes: &CauseTable<'_>, width: usize) -> String {
    let mut table = TextTable::new(&CauseTable::HEADINGS.map(str::to_owned), 1);
    for row in &causes.rows {
        table.row(row.cells_with(micros(row.largest.as_nanos())).into());
    }
    format!("{}\n\n{}\n", wrapped(&causes.sentence, width, 0), table.text(width))
}

/// Remedies for the causes that are not among `shown`, with the commands.
fn findings_of<'a>(causes: &CauseTable<'a>, shown: &mut Vec<&'a FindingId>, width: usize) -> String {
    let mut text = String::new();
    for row in &causes.rows {
        let Some(finding) = row.first_finding().filter(|finding| !shown.contains(&&finding.id)) else {
            continue;
        };
        shown.push(&finding.id);
        let sentence = format!("{}: {}. What to do:", row.cause, legible(&row.found(finding)));
        text.push_str(&format!("{}\n", wrapped(&sentence, width, 2)));
        for step in finding.remedy.iter().flat_map(|remedy| &remedy.apply) {
            let lines = step_lines(&legible(step), width.saturating_sub(4));
            let painted = |line: &String| format!("    {}\n", paint(COMMAND, line));
            text.extend(lines.iter().map(painted));
        }
    }
    if text.is_empty() { text } else { text + "\n" }
}

/// One wake-up: its causes, in the order of their first part.
fn time_line(worst: &WakeupBreakdown, width: usize) -> String {
    let cpu = worst.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
    let late = worst.latency.as_nanos().max(1);
    let mut pieces = Vec::new();
    let mut small = Span::ZERO;
    for (segment, times) in worst.by_cause() {
        if share(segment.ns, late) < SMALL {
            small = small.plus(segment.ns);
        } else {
            let in_several = if times > 1 { format!(" in {times} pieces") } else { String::new() };
            pieces.push(format!("{} {}{in_several}", latency(segment.ns), segment_in_words(&segment)));
        }
    }
    if !small.is_zero() {
        pieces.push(format!("{} other", latency(small)));
    }
    let text = format!("{} late{cpu}: {}.", worst.latency, pieces.join(", "));
    format!("{}\n", wrapped(&text, width, 2))
}

fn latency(span: Span) -> Latency {
    Latency::from_nanos(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX))
}

fn share(span: Span, whole: i64) -> f64 {
    span.as_nanos() as f64 / whole as f64
}

/// How much was traced, what is unexplained, and what tracing costs.
fn how_well(why: &Why, is_watched: bool) -> String {
    let seen = why.decomposed + why.not_decomposed;
    if why.tracer == NO_TRACER {
        return "Without a tracer, an iteration is late because the previous one's work took too long, or for unknown reasons."
            .to_owned();
    }
    let mut text = format!(
        "Tracer {}: every step of {} of {} traced wake-ups was recorded",
        why.tracer,
        count(why.decomposed),
        count(seen)
    );
    if why.late.unexplained_share() > MUCH {
        let unexplained = percent(why.late.unexplained_share());
        text.push_str(&format!("; but {unexplained} of the lateness of the slowest is unexplained"));
    }
    if why.lost_events > 0 {
        text.push_str(&format!("; {} events were lost", count(why.lost_events)));
    }
    if is_watched {
        text.push_str(". The latencies above are of the same wake-ups, and include what tracing adds.");
        return text;
    }
    text.push_str(&match why.probe_effect_ns {
        Some(effect) => format!(". Tracing {}.", adds(effect)),
        None => ". At least six turns are needed to tell what tracing adds (`--rounds 10`).".to_owned(),
    });
    text.push_str(" The latencies above are from the turns that were not traced.");
    text
}

fn adds(effect: ProbeEffect) -> String {
    let [p50, low, high] = [effect.p50, effect.low, effect.high].map(Latency::from_nanos);
    format!("adds {p50} to the median, 95 % interval {low} to {high}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause_words::main_causes;
    use howlate_model::{Cause, CauseKind, Ledger, MonotonicTime, Part, Policy, Segment};

    fn explained(ns: u64, kind: CauseKind, name: &str) -> WakeupBreakdown {
        let segment = |part, kind, name: &str, ns| {
            Segment::new(
                Cause::new(part, kind, name.into()),
                (!name.is_empty()).then_some(4_711),
                MonotonicTime::default(),
                Span::from_nanos(ns),
            )
        };
        WakeupBreakdown {
            at: MonotonicTime::default(),
            latency: Latency::from_nanos(i64::try_from(ns).unwrap() + 2_000),
            cpu: Some(1),
            parts: vec![
                segment(Part::Waiting, kind, name, ns),
                segment(Part::Return, CauseKind::Kernel, "", 2_000),
            ],
        }
    }

    #[test]
    fn the_culprit_is_named_with_its_share() {
        let mut ledger = Ledger::default();
        (0..100).for_each(|_| ledger.add(&explained(3_000, CauseKind::IdleExit, "")));
        ledger.add(&explained(398_000, CauseKind::Thread, "hog"));
        let why = Why::from_ledger(&ledger, "bpf", Some(Span::from_micros(100)), None);
        let text =
            anstream::adapter::strip_str(&cause_table(&CauseTable::new(&why, Policy::OTHER, &[]), 100))
                .to_string();
        assert!(
            text.contains("Slowest traced wake-ups (at least 98.3 µs late): 1, 400 µs late in total"),
            "{text}"
        );
        assert!(text.contains("hog, pid 4711"), "{text}");
        assert!(text.contains("99.5 %"), "what is not all does not read so: {text}");
        let line = anstream::adapter::strip_str(&time_line(&why.worst[0], 100)).to_string();
        assert_eq!(
            line.trim(),
            "400 µs late on CPU 1: 398 µs waiting for the CPU (hog, pid 4711), 2.00 µs other."
        );
        assert!(how_well(&why, false).contains("every step of 101 of 101 traced wake-ups was recorded"));
    }

    #[test]
    fn a_cause_has_doctors_remedy_beside_it() {
        let mut ledger = Ledger::default();
        (0..100).for_each(|_| ledger.add(&explained(400_000, CauseKind::Thread, "hog")));
        let why = Why::from_ledger(&ledger, "bpf", Some(Span::ZERO), None);
        let remedy = Some(howlate_model::Remedy { apply: vec!["ulimit -r 80".into()], ..Default::default() });
        let finding = Finding {
            id: FindingId::RealtimePermission,
            verdict: howlate_model::Verdict::Blocks,
            found: "no real-time policy may be used".into(),
            evidence: Vec::new(),
            why: String::new(),
            cost: None,
            remedy,
        };
        let (findings, mut shown) = ([finding], Vec::new());
        let table = CauseTable::new(&why, Policy::OTHER, &findings);
        let text = findings_of(&table, &mut shown, 100);
        assert_eq!(findings_of(&table, &mut shown, 100), "", "it was told");
        let text = anstream::adapter::strip_str(&text).to_string();
        assert_eq!(text, "hog, pid 4711: no real-time policy may be used. What to do:\n    ulimit -r 80\n\n");
        assert_eq!(findings_of(&CauseTable::new(&why, Policy::OTHER, &[]), &mut Vec::new(), 100), "");
    }

    #[test]
    fn the_first_causes_are_named_in_a_few_words() {
        let mut ledger = Ledger::default();
        (0..3).for_each(|_| ledger.add(&explained(300_000, CauseKind::Thread, "hog")));
        ledger.add(&explained(300_000, CauseKind::IdleExit, ""));
        let why = Why::from_ledger(&ledger, "bpf", Some(Span::ZERO), None);
        assert_eq!(main_causes(&why).as_deref(), Some("hog (75 %) and leaving idle (25 %)"));
        assert_eq!(main_causes(&Why::from_ledger(&Ledger::default(), "bpf", None, None)), None);
    }

    #[test]
    fn shares_say_when_they_are_small() {
        assert_eq!(
            [percent(0.0), percent(0.0004), percent(0.034), percent(0.62)],
            ["0 %", "below 0.1 %", "3.4 %", "62 %"]
        );
    }
}
