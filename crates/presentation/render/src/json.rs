//! The JSON output of results. Names are public: add, never rename.

use howlate_analyse::cause::Why;
use howlate_analyse::nodes::{NodeSpread, nodes};
use howlate_analyse::periodicity::Recurrence;
use howlate_analyse::sequential::{Progress, progress_of};
use howlate_analyse::steps::{LengthStep, Staircase, staircases};
use howlate_analyse::watch::{Rhythm, RhythmNumbers};
use howlate_analyse::{
    Analysis, BlockNumbers, Check, GateTrust, Insight, Interval, LargerLatencies, LimitVerdict, LoadEffect,
    Outcome, Ranking, Summary, checks_of, gate_trust, insights, larger_latencies, rankings,
};
use howlate_model::{
    Boot, BootEnd, Caveat, Condition, EffectiveSettings, EndReason, Instrument, IrregularMessages, Limit,
    System, TimelineFile, Usage, WorstWakeup,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::bounded_json::answer_schema;
use crate::caveats::{caveat, policy_remedy};
use crate::export::finding;
use crate::guests::parts;
use crate::insights::insight;
use crate::recurrence::recurrence_in_words;
use crate::steps::sentence as sentence_of;
use crate::watched_slack::findings_for;

/// Version of the format.
const FORMAT: u32 = 1;

/// What `--json` prints. Names are public: they are added to, never renamed. Times are nanoseconds, whole numbers that pass
/// 2^53 on a machine that has been up for more than 104 days: read them as 64-bit integers, or lose a nanosecond or two.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Document")]
struct ResultDocument<'a> {
    format: u32,
    howlate: &'a str,
    command: &'a str,
    arguments: &'a [String],
    started: &'a str,
    /// `done`, `interrupted`, `stopped_above`, `program_ended` or `not_restored`; null when the run did not end in order.
    ended: Option<EndReason>,
    seed: u64,
    system: &'a System,
    instrument: Instrument,
    caveats: Vec<CaveatEntry>,
    /// Nanoseconds from the beginning to moments that somebody who watched has marked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    marks_ns: Vec<u64>,
    /// Files beside the recording that say what all CPUs did around late wake-ups, in their order.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    timelines: &'a [TimelineFile],
    /// The sentences alone.
    insights: Vec<String>,
    /// The same with their numbers.
    explanations: Vec<ExplanationEntry>,
    /// Ways to notify under the same circumstances, fastest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rankings: Vec<Ranking>,
    /// The guests it was measured in, in the order in which they were booted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    guests: Vec<GuestEntry<'a>>,
    /// Of several machines: each condition, how far they lie apart, which stand out, and what those have in common.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<NodeSpread>,
    /// What it was to go on until, and what is known of that; the condition that decided, or of which least is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Progress>,
    /// Steps in the lateness of sleeps, the shortest length first; absent where no lengths were swept.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<StepEntry>>,
    /// What those were looked for in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    staircases: Vec<Staircase>,
    /// Late wake-ups that come back, the most certain first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    periodicity: Vec<RecurrenceEntry>,
    results: Vec<ResultEntry<'a>>,
}

/// Late wake-ups that come back, as data and in words.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToldRecurrence")]
struct RecurrenceEntry {
    #[serde(flatten)]
    recurrence: Recurrence,
    text: String,
}

fn recurrences(analysis: &Analysis) -> Vec<RecurrenceEntry> {
    let entry = |recurrence: Recurrence| RecurrenceEntry {
        text: recurrence_in_words(&recurrence, analysis),
        recurrence,
    };
    analysis.recurrences().iter().cloned().map(entry).collect()
}

/// A step as data and in words.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ToldStep")]
struct StepEntry {
    /// The condition of its sweep's shortest sleep, by index in the recording's header.
    condition: u32,
    #[serde(flatten)]
    step: LengthStep,
    text: String,
}

fn steps(staircases: &[Staircase]) -> Option<Vec<StepEntry>> {
    let steps_of = |staircase: &Staircase| {
        let condition = staircase.condition;
        let entry =
            move |step: &LengthStep| StepEntry { condition, step: step.clone(), text: sentence_of(step) };
        staircase.steps.iter().map(entry).collect::<Vec<_>>()
    };
    (!staircases.is_empty()).then(|| staircases.iter().flat_map(steps_of).collect())
}

/// An explanation as data and in words.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Explained")]
struct ExplanationEntry {
    #[serde(flatten)]
    insight: Insight,
    /// The guest it is about.
    #[serde(skip_serializing_if = "String::is_empty")]
    guest: String,
    text: String,
}

/// A caveat as data and in words.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Noted")]
struct CaveatEntry {
    #[serde(flatten)]
    caveat: Caveat,
    text: String,
    /// What to do, in words, where the caveat has that as data.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// The result of one condition. Keys that do not apply are absent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Entry")]
struct ResultEntry<'a> {
    condition: &'a Condition,
    in_force: Option<&'a EffectiveSettings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sender_in_force: Option<&'a EffectiveSettings>,
    /// What a program said of its language and its way to sleep.
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime: Option<&'a str>,
    /// Wake-ups that happened: those of `latency_ns`.
    count: u64,
    /// The same with those that missed periods would have had: those of `corrected_ns`, and of limits. Not of what another program
    /// measured, which does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    planned: Option<u64>,
    /// Wake-ups that came first in the turns and are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    warm_up: Option<u64>,
    missed_periods: u64,
    unfinished: bool,
    latency_ns: Option<Summary>,
    /// How long the calls that notify took.
    #[serde(skip_serializing_if = "Option::is_none")]
    send_ns: Option<Summary>,
    #[serde(skip_serializing_if = "IrregularMessages::is_none")]
    irregular: IrregularMessages,
    /// Messages whose receiver had not gone to sleep again: no wake-ups. They are in the numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    found_awake: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    corrected_ns: Option<Summary>,
    /// The policy that ran, where the one asked for was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    ran_as: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_interval_ns: Option<Interval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_interval_ns: Option<Interval>,
    /// The intervals of the corrected numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    corrected_p50_interval_ns: Option<Interval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    corrected_p99_interval_ns: Option<Interval>,
    /// At most one wake-up in this many is later than the maximum, with 95 % confidence for what changes within a hundredth of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_exceeded_at_most_one_in: Option<u64>,
    /// What the maximum leaves open: how often, and how soon, it may be exceeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    larger: Option<LargerLatencies>,
    worst: &'a [WorstWakeup],
    /// What is known of that which the run was to go on until.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Progress>,
    /// What the load did meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    load_effect: Option<&'a LoadEffect>,
    usage: Usage,
    /// Of watched threads: their period and who woke them.
    #[serde(skip_serializing_if = "Option::is_none")]
    rhythm: Option<RhythmNumbers>,
    /// Why its wake-ups were late; absent where nothing was traced.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Why>,
    /// Each `--fail-above`, and what became of it; absent without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    limits: Vec<LimitEntry>,
    caveats: Vec<CaveatEntry>,
}

/// A limit of a condition, and whether it was kept.
#[derive(Serialize, JsonSchema)]
struct LimitEntry {
    /// As it is typed: `p99.9>50us`.
    limit: String,
    /// What is compared: `max`, `mean`, `p99.9`, `missed` or `loop`.
    statistic: String,
    /// Exceeded above this: nanoseconds, or a count of periods for `missed`.
    above: u64,
    /// What was found, likewise; null where nothing was.
    value: Option<u64>,
    verdict: LimitState,
    /// How often such runs exceed it by chance, and how long a run must be so that few do; absent where nothing was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<GateTrust>,
    /// Why it is not known whether the limit was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// What became of a limit.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Verdict")]
#[serde(rename_all = "snake_case")]
enum LimitState {
    Kept,
    Exceeded,
    /// What was measured does not decide it.
    Unknown,
}

fn limit_entry(check: &Check<'_>) -> Option<LimitEntry> {
    let limit = check.limit?;
    let (verdict, reason) = match check.verdict {
        LimitVerdict::Yes => (LimitState::Kept, None),
        LimitVerdict::No => (LimitState::Exceeded, None),
        LimitVerdict::Unknown(_) => (LimitState::Unknown, Some(finding(check))),
    };
    Some(LimitEntry {
        limit: limit.to_string(),
        statistic: limit.statistic.to_string(),
        above: limit.above,
        value: check.value,
        gate: gate_trust(check.outcome, limit).filter(|_| reason.is_none()),
        verdict,
        reason,
    })
}

/// A guest, and how it ended.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Guest")]
struct GuestEntry<'a> {
    #[serde(flatten)]
    boot: &'a Boot,
    /// Null when the run was killed meanwhile.
    ended: Option<&'a BootEnd>,
}

fn guests(analysis: &Analysis) -> Vec<GuestEntry<'_>> {
    let ended = |boot: &Boot| analysis.boots_ended.iter().find(|ended| ended.boot == boot.boot);
    analysis.boots.iter().map(|boot| GuestEntry { boot, ended: ended(boot) }).collect()
}

fn explanations(guest: &str, part: &Analysis) -> Vec<ExplanationEntry> {
    let entry = |found: Insight| {
        let text = insight(&found, part);
        ExplanationEntry { insight: found, guest: guest.to_owned(), text }
    };
    insights(part).into_iter().map(entry).collect()
}

/// `6.1.0: Timer slack: …`.
fn sentence(explanation: &ExplanationEntry) -> String {
    if explanation.guest.is_empty() {
        explanation.text.clone()
    } else {
        format!("{}: {}", explanation.guest, explanation.text)
    }
}

fn caveat_entries(caveats: &[Caveat]) -> Vec<CaveatEntry> {
    let remedy = |source: &Caveat| match source {
        Caveat::PolicyRefused { would_help, .. } => would_help.as_ref().map(policy_remedy),
        _ => None,
    };
    let entry = |source: &Caveat| CaveatEntry {
        caveat: source.clone(),
        text: caveat(source),
        remedy: remedy(source),
    };
    caveats.iter().map(entry).collect()
}

fn entry<'a>(outcome: &'a Outcome, analysis: &Analysis, limits: &[Limit]) -> ResultEntry<'a> {
    let findings = findings_for(outcome, analysis);
    let corrected_blocks = Some(outcome.planned_blocks()).filter(|_| outcome.has_missed());
    ResultEntry {
        condition: &outcome.condition,
        in_force: outcome.in_force.as_ref(),
        sender_in_force: outcome.sender_in_force.as_ref(),
        runtime: outcome.runtime.as_deref(),
        count: outcome.count(),
        planned: outcome.knows_planned().then(|| outcome.planned().count()),
        warm_up: outcome.warm_up,
        missed_periods: outcome.missed_periods(),
        unfinished: outcome.unfinished,
        latency_ns: outcome.summary(),
        send_ns: outcome.send_summary(),
        irregular: outcome.irregular(),
        found_awake: outcome.found_awake(),
        corrected_ns: outcome.corrected_summary(),
        ran_as: outcome.fallback_policy().map(|policy| policy.to_string()),
        p50_interval_ns: outcome.blocks().p50_interval(),
        p99_interval_ns: outcome.blocks().p99_interval(),
        corrected_p50_interval_ns: corrected_blocks.as_ref().and_then(BlockNumbers::p50_interval),
        corrected_p99_interval_ns: corrected_blocks.as_ref().and_then(BlockNumbers::p99_interval),
        max_exceeded_at_most_one_in: outcome.bound().map(|bound| bound.one_in),
        larger: larger_latencies(outcome),
        worst: outcome.worst(),
        until: outcome.until(),
        load_effect: outcome.load_effect.as_ref(),
        usage: outcome.usage,
        rhythm: outcome.rhythm.as_deref().map(Rhythm::numbers),
        why: outcome
            .why_late(None)
            .map(|why| why.with_remedies(outcome.policy_in_force(), outcome.relevant_findings(&findings))),
        limits: checks_of(outcome, analysis, limits).iter().filter_map(limit_entry).collect(),
        caveats: caveat_entries(&outcome.caveats()),
    }
}

fn document<'a>(analysis: &'a Analysis, limits: &[Limit]) -> ResultDocument<'a> {
    let header = &analysis.header;
    let parts = parts(analysis);
    let explanations: Vec<ExplanationEntry> =
        parts.iter().flat_map(|(guest, part)| explanations(guest, part)).collect();
    let staircases = staircases(analysis);
    ResultDocument {
        format: FORMAT,
        howlate: &header.howlate,
        command: header.command.name(),
        arguments: &header.arguments,
        started: &header.started,
        ended: analysis.end.as_ref().map(|end| end.how),
        seed: header.seed,
        system: &header.system,
        instrument: header.instrument,
        caveats: caveat_entries(&analysis.caveats),
        marks_ns: analysis.marks.iter().map(|at| at.since(header.at).as_nanos()).collect(),
        timelines: &analysis.timelines,
        insights: explanations.iter().map(sentence).collect(),
        explanations,
        rankings: parts.iter().flat_map(|(_, part)| rankings(part)).collect(),
        guests: guests(analysis),
        nodes: nodes(analysis),
        until: progress_of(analysis),
        steps: steps(&staircases),
        staircases,
        periodicity: recurrences(analysis),
        results: analysis.outcomes().iter().map(|outcome| entry(outcome, analysis, limits)).collect(),
    }
}

/// What `howlate show --format json` prints of several recordings.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Many")]
struct SeveralResults<'a> {
    format: u32,
    recordings: Vec<ResultDocument<'a>>,
}

/// One or the other.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(title = "Result")]
#[allow(dead_code, reason = "only its schema is used")]
enum ResultOutput<'a> {
    /// Of one recording.
    One(Box<ResultDocument<'a>>),
    /// Results of several recordings.
    Many(SeveralResults<'a>),
}

/// The JSON Schema of these objects, draft 2020-12; `docs/result.schema.json` is a copy.
pub fn result_schema() -> Result<String, serde_json::Error> {
    answer_schema::<ResultOutput<'_>>()
}

/// The JSON output for one recording, with `limits` checked.
pub fn json(analysis: &Analysis, limits: &[Limit]) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(&document(analysis, limits)).map(|text| text + "\n")
}

/// The JSON output as a value.
pub fn json_value(analysis: &Analysis) -> Result<serde_json::Value, serde_json::Error> {
    serde_json::to_value(document(analysis, &[]))
}

/// The JSON output for several recordings, under `recordings`.
pub fn json_of_many(analyses: &[Analysis], limits: &[Limit]) -> Result<String, serde_json::Error> {
    let recordings = analyses.iter().map(|analysis| document(analysis, limits)).collect();
    let many = SeveralResults { format: FORMAT, recordings };
    serde_json::to_string_pretty(&many).map(|text| text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_published::assert_published;

    #[test]
    fn the_published_schema_is_that_of_the_code() {
        assert_published("result.schema.json", &result_schema().unwrap());
    }
}
