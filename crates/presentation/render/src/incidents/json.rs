//! The JSON output of `howlate show DIR`.

use howlate_analyse::incidents::{
    Culprit, GroupWaits, RecurringCulprit, culprits, recurring_culprits, requests_by_server, waits_by_group,
};
use howlate_analyse::percentile;
use howlate_analyse::periodicity::PeriodicTimes;
use howlate_model::{
    Distribution, Incident, LateThreshold, Latency, OmittedAnswers, RemovedFiles, Snapshot, Span,
    WallClockState,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::nodes::{ClockOrder, clock};
use super::unrecorded::UnrecordedTime;
use super::wording::comes_back;
use super::{IncidentReport, NodesIncidentReport, RecordingState};
use crate::bounded_json::answer_schema;

/// What `howlate show` prints of a folder of `howlate record`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Document")]
struct IncidentsDocument<'a> {
    /// Of these names: 1.
    format: u32,
    /// The version of the program.
    howlate: &'static str,
    /// Always `record`.
    command: &'static str,
    /// Which waits were late.
    #[serde(skip_serializing_if = "Option::is_none")]
    late_above_ns: Option<u64>,
    /// That the limit was this percentile of all waits of the hour before; `late_above_ns` is then the least that it may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    late_above_percentile: Option<f64>,
    /// From when on, RFC 3339; absent where it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// Last moment that was asked for, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    /// When the oldest begins that is still there.
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest: Option<String>,
    #[serde(flatten)]
    written: WrittenEntry,
    /// In the order in which they happened.
    incidents: &'a [Incident],
    #[serde(flatten)]
    sums: IncidentSums,
}

/// What else there is of a machine: the same added up, and what was asked for.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Sums")]
struct IncidentSums {
    /// Whoever held up others, those who took most first.
    culprits: Vec<CulpritEntry>,
    /// Those who come back in a rhythm that chance does not explain, the most certain first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    recurring: Vec<RecurringEntry>,
    /// By what threads are counted together: `process`, `unit`, `cgroup`, `container`, `pod` or `user`.
    group_by: &'static str,
    /// How late all threads ran.
    groups: Vec<GroupEntry>,
    /// How long requests to servers took, those of each program at each end of connections; absent where they were not measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    requests: Vec<GroupEntry>,
    /// Answers that are not among the requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted_answers: Option<OmittedAnswers>,
    /// When somebody asked for what all CPUs had just done, the last of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    snaps: Vec<Snapshot>,
    /// What is missing.
    missing: MissingEntry,
}

/// What it prints of the folders of several machines.
#[derive(Serialize, JsonSchema)]
struct NodesDocument<'a> {
    /// Of these names: 1.
    format: u32,
    /// The version of the program.
    howlate: &'static str,
    /// Always `record`.
    command: &'static str,
    /// From when on, RFC 3339; absent where it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// Last moment that was asked for, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    /// Incidents of different machines that are less than this apart may have been in either order; absent where that is not
    /// known of any, as a clock was not synchronised or nothing of it recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    order_known_beyond_ns: Option<u64>,
    /// Of all machines, in the order of their times of day.
    incidents: Vec<NodeIncident<'a>>,
    /// Each machine, as it was named.
    nodes: Vec<NodeEntry<'a>>,
}

/// An incident of one machine.
#[derive(Serialize, JsonSchema)]
struct NodeIncident<'a> {
    /// What the machine is called.
    node: &'a str,
    #[serde(flatten)]
    incident: &'a Incident,
}

/// What one machine has recorded, without its incidents.
#[derive(Serialize, JsonSchema)]
struct NodeEntry<'a> {
    /// What the machine is called.
    node: &'a str,
    /// How well its clock of the day was set, at its worst; absent where that was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<WallClockState>,
    /// Which waits were late.
    #[serde(skip_serializing_if = "Option::is_none")]
    late_above_ns: Option<u64>,
    /// When the oldest begins that is still there.
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest: Option<String>,
    #[serde(flatten)]
    written: WrittenEntry,
    #[serde(flatten)]
    sums: IncidentSums,
}

/// Up to when a folder was written.
#[derive(Serialize, JsonSchema)]
struct WrittenEntry {
    /// When the last line was written, RFC 3339; absent where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_written: Option<String>,
    /// Whether a recorder writes to the folder now.
    is_recording: bool,
}

impl From<RecordingState> for WrittenEntry {
    fn from(state: RecordingState) -> Self {
        let RecordingState { last, is_recording, .. } = state;
        Self { last_written: last.map(|at| at.to_string()), is_recording }
    }
}

/// Of one machine, or of several.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(title = "Incidents")]
enum IncidentsOutput<'a> {
    /// Of one folder.
    One(Box<IncidentsDocument<'a>>),
    /// Of the folders of several machines.
    Several(NodesDocument<'a>),
}

/// One who held up others.
#[derive(Serialize, JsonSchema)]
struct CulpritEntry {
    /// What kind of thing.
    kind: &'static str,
    /// The process, or what it is called itself; absent where nobody knows.
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    /// What that runs, where it is an interpreter.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// Whether it is the recorder itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_recorder: bool,
    /// Of how many incidents it took a part.
    incidents: u64,
    /// How its thread was scheduled that took most of one incident; absent where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<String>,
    /// How much, in all: where several waited at once, the time of each counts.
    ns: u64,
    /// How long it had what they waited for: counted once, however many waited.
    own_ns: u64,
    /// The most of one.
    max_ns: u64,
    /// Which process it held up longest.
    victim: String,
    /// For how long.
    victim_ns: u64,
}

/// One who comes back.
#[derive(Serialize, JsonSchema)]
struct RecurringEntry {
    /// What kind of thing.
    kind: &'static str,
    /// The process, or what it is called itself.
    name: String,
    #[serde(flatten)]
    rhythm: PeriodicTimes,
    /// The part of the recording that was searched, the one with the most incidents; absent where all of it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    within_ns: Option<Span>,
    /// The same in words.
    text: String,
}

fn recurring_entry(culprit: RecurringCulprit) -> RecurringEntry {
    let text = comes_back(&culprit);
    let RecurringCulprit { kind, name, rhythm, within } = culprit;
    RecurringEntry { kind: kind.name(), name, rhythm, within_ns: within, text }
}

/// All waits of one group.
#[derive(Serialize, JsonSchema)]
struct GroupEntry {
    /// What it is called; `-`: those that are in none.
    name: String,
    /// Waits in that minute.
    count: u64,
    /// Of those, how many were late.
    late: u64,
    /// How long they were.
    latency_ns: WaitPercentiles,
}

/// Percentiles; absent where there are too few waits. Of four buckets to each doubling, so that a value may be 12 % off.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Percentiles")]
struct WaitPercentiles {
    /// Median wait, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    p50: Option<i64>,
    /// 99 of 100 are shorter.
    #[serde(skip_serializing_if = "Option::is_none")]
    p99: Option<i64>,
    /// 999 of 1000 are shorter.
    #[serde(rename = "p99.9", skip_serializing_if = "Option::is_none")]
    p99_9: Option<i64>,
    /// The longest, exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<i64>,
}

/// What is missing.
#[derive(Serialize, JsonSchema)]
struct MissingEntry {
    /// Incidents beyond those that are listed, all of them shorter.
    incidents_shorter: u64,
    /// Late waits that were too many to be kept one by one.
    incidents_left_out: u64,
    /// Late waits that found no room.
    incidents_lost: u64,
    /// Switches that were not seen.
    switches_unseen: u64,
    /// Lines of the recording that could not be written: incidents, minutes and marks.
    lines_lost: u64,
    /// Turns of marked loops that found no room, or cannot have been.
    turns_lost: u64,
    /// Marked loops, or programs with some, that were too many to be read.
    loops_left_out: u64,
    /// Requests for what all CPUs had done that were too many.
    snaps_left_out: u64,
    /// Files that made room meanwhile.
    removed: Vec<RemovedFiles>,
    /// Times within those asked for in which no recorder ran, before the last line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_recorded: Vec<UnrecordedTime>,
    /// Files that end in the middle of a line.
    files_cut_off: u64,
    /// What is wrong with files that could not be read to their end.
    files_damaged: Vec<String>,
}

impl IncidentReport {
    /// As one line of JSON.
    pub fn json(&self) -> serde_json::Result<String> {
        let document = IncidentsDocument {
            format: 1,
            howlate: env!("CARGO_PKG_VERSION"),
            command: "record",
            late_above_ns: self.late_above.map(|above| above.least().as_nanos()),
            late_above_percentile: self.late_above.and_then(LateThreshold::percent),
            from: self.from.map(|at| at.to_string()),
            until: self.until.map(|at| at.to_string()),
            oldest: self.oldest.map(|at| at.to_string()),
            written: self.written.into(),
            incidents: &self.recording.incidents,
            sums: self.sums(),
        };
        Ok(serde_json::to_string(&IncidentsOutput::One(Box::new(document)))? + "\n")
    }

    fn sums(&self) -> IncidentSums {
        let missing = self.recording.missing();
        let all = waits_by_group(
            self.recording.minutes.iter().flat_map(|minute| &minute.groups),
            self.by,
            &self.users,
        );
        let (requests, omitted) =
            requests_by_server(self.recording.minutes.iter().flat_map(|minute| &minute.requests));
        IncidentSums {
            culprits: culprits(self.recording.incidents.iter()).into_iter().map(culprit).collect(),
            recurring: recurring_culprits(&self.recording).into_iter().map(recurring_entry).collect(),
            group_by: self.by.name(),
            groups: all.into_iter().map(group).collect(),
            requests: requests.into_iter().map(group).collect(),
            omitted_answers: (omitted.total() > 0).then_some(omitted),
            snaps: self.recording.snaps.clone(),
            missing: MissingEntry {
                incidents_shorter: self.recording.shorter,
                incidents_left_out: missing.left_out,
                incidents_lost: missing.lost,
                switches_unseen: missing.unseen,
                lines_lost: missing.lines,
                turns_lost: missing.turns,
                loops_left_out: missing.loops,
                snaps_left_out: missing.snaps,
                removed: missing.removed,
                not_recorded: self.unrecorded(),
                files_cut_off: self.cut_off,
                files_damaged: self.damaged.clone(),
            },
        }
    }
}

impl NodesIncidentReport {
    /// As one line of JSON.
    pub fn json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string(&self.output())? + "\n")
    }

    /// The JSON output as a value.
    pub fn json_value(&self) -> serde_json::Result<serde_json::Value> {
        serde_json::to_value(self.output())
    }

    fn output(&self) -> IncidentsOutput<'_> {
        let first = self.nodes.first().map(|(_, report)| report);
        let incident = |(node, _, incident)| NodeIncident { node, incident };
        let document = NodesDocument {
            format: 1,
            howlate: env!("CARGO_PKG_VERSION"),
            command: "record",
            from: first.and_then(|report| report.from).map(|at| at.to_string()),
            until: first.and_then(|report| report.until).map(|at| at.to_string()),
            order_known_beyond_ns: match self.order() {
                ClockOrder::KnownBeyond(apart) => Some(apart.as_nanos()),
                ClockOrder::Unsynchronised | ClockOrder::Unknown => None,
            },
            incidents: self.in_order().into_iter().map(incident).collect(),
            nodes: self.nodes.iter().map(node).collect(),
        };
        IncidentsOutput::Several(document)
    }
}

fn node((name, report): &(String, IncidentReport)) -> NodeEntry<'_> {
    NodeEntry {
        node: name,
        clock: clock(report),
        late_above_ns: report.late_above.map(|above| above.least().as_nanos()),
        oldest: report.oldest.map(|at| at.to_string()),
        written: report.written.into(),
        sums: report.sums(),
    }
}

fn culprit(culprit: Culprit) -> CulpritEntry {
    CulpritEntry {
        kind: culprit.kind.name(),
        name: culprit.name,
        command: culprit.command,
        is_recorder: culprit.is_recorder,
        incidents: culprit.incidents,
        policy: culprit.policy.map(|policy| policy.to_string()),
        ns: culprit.took.as_nanos(),
        own_ns: culprit.own.as_nanos(),
        max_ns: culprit.longest.as_nanos(),
        victim: culprit.victim.0,
        victim_ns: culprit.victim.1.as_nanos(),
    }
}

fn group(group: GroupWaits) -> GroupEntry {
    let (count, late, latency_ns) = (group.waits.count(), group.late, percentiles(&group.waits));
    GroupEntry { name: group.name, count, late, latency_ns }
}

fn percentiles(waits: &Distribution) -> WaitPercentiles {
    let at = |quantile| percentile(waits, quantile).map(Latency::as_nanos);
    let max = waits.max().map(Latency::as_nanos);
    WaitPercentiles { p50: at(0.5), p99: at(0.99), p99_9: at(0.999), max }
}

/// The JSON Schema of the output of `howlate show DIR --json`.
pub fn incidents_schema() -> serde_json::Result<String> {
    answer_schema::<IncidentsOutput<'_>>()
}

#[cfg(test)]
mod tests {
    use crate::assert_published::assert_published;

    use super::*;

    #[test]
    fn the_schema_is_the_published_one() {
        assert_published("incidents.schema.json", &incidents_schema().unwrap());
    }
}
