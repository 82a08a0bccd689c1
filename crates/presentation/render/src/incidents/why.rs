//! `howlate why DIR`: incidents part by part, who held up others, and what can be done.

use howlate_analyse::cause::{OnlyIf, WhyCause, only_if, remedy};
use howlate_analyse::incidents::{cause_of, causes_by_urgency, thread_to_raise};
use howlate_model::{
    CauseKind, Finding, FindingId, Incident, IncidentKind, LateThread, Policy, Priority, Segment, Span,
};

use super::IncidentReport;
use super::text::more;
use super::wording::{
    culprit_text, how_late, idle_meanwhile, incident_cause, part_of_incident, span, unusual, victim, way,
};
use crate::answer::MOST_REMEDIES;
use crate::cause_words::{first_two, part_in_words, percent, segment_in_words};
use crate::commands_to_type::step_lines;
use crate::detail::Detail;
use crate::numbers::{count, span_per_span};
use crate::only_if::with_condition;
use crate::prose::{lines, wrapped};
use crate::style::{BOLD, COMMAND, DIM, HEADING, paint};
use crate::untrusted_text::legible;

/// Most incidents, parts of each, culprits and remedies: in brief for one screen, and in full.
const BRIEF: WhyLimits = WhyLimits { incidents: 2, parts: 2, culprits: 3, remedies: MOST_REMEDIES };
const FULL: WhyLimits = WhyLimits { incidents: 50, parts: 20, culprits: 20, remedies: usize::MAX };
/// Parts with a smaller share are summed up.
const WORTH: f64 = 0.02;
/// Columns before a part: its start and duration.
const INDENT: usize = 26;

/// Whether the remedy is a scheduling right or priority of a thread.
const fn is_for_a_thread(id: &FindingId) -> bool {
    matches!(id, FindingId::RealtimePermission | FindingId::NicePermission | FindingId::RtGroupScheduling)
}

/// The advice for the thread that waited longest.
fn advice_for_thread(thread: &LateThread) -> (String, Vec<String>) {
    let LateThread { name, process, tid, .. } = thread;
    let of_process = if name == process { String::new() } else { format!(" of {process}") };
    let found = format!(
        "a real-time priority may help {name}{of_process}, which waited longest, as long as that leaves its CPU to others; not tried here"
    );
    (found, vec![format!("chrt --fifo -p {} {tid}   # {name}", Priority::USUAL.get())])
}

#[derive(Clone, Copy)]
struct WhyLimits {
    incidents: usize,
    parts: usize,
    culprits: usize,
    remedies: usize,
}

impl IncidentReport {
    /// The longest incidents with their parts, the culprits, and the remedies among `findings`.
    pub fn why(&self, findings: &[Finding], detail: Detail, width: usize) -> String {
        let limits = limits(detail);
        let parts = [
            format!("{}\n", paint(HEADING, wrapped(&self.title(), width, 0))),
            self.incident_texts(detail, width),
            self.notes(width),
            self.culprits(limits.culprits, detail, width),
            self.to_do(findings, limits.remedies, width),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    fn incident_texts(&self, detail: Detail, width: usize) -> String {
        let (mut recording, limits) = (self.recording.clone(), limits(detail));
        recording.drop_shorter(limits.incidents);
        if recording.incidents.is_empty() {
            return format!("{}\n", self.nothing());
        }
        let format =
            if self.is_one_day(&recording.incidents) { "%H:%M:%S.%3f" } else { "%m-%d %H:%M:%S.%3f" };
        let text = |incident: &Incident| {
            self.incident_text(incident, &self.time(incident, format), limits.parts, width)
        };
        let texts: Vec<String> = recording.incidents.iter().map(text).collect();
        let shorter = usize::try_from(recording.shorter).unwrap_or(usize::MAX);
        let more = more(shorter, "that were shorter", detail);
        format!("{}{more}", texts.join("\n"))
    }

    fn incident_text(&self, incident: &Incident, time: &str, parts: usize, width: usize) -> String {
        let policy =
            unusual(incident.thread.policy).map_or_else(String::new, |policy| format!(", {policy},"));
        let heading = format!("{time}  {}{policy} {}", victim(incident), how_late(incident));
        let parts = shown_parts(incident, parts);
        let lines: String = parts.iter().map(|part| part_line(incident, part, width)).collect();
        let idle = idle_meanwhile(incident)
            .map_or_else(String::new, |idle| format!("  {}\n", wrapped(&idle, width, 2)));
        let above = incident.late_above.map_or_else(String::new, |above| {
            paint(DIM, format!("  Waits longer than {} were late then.", span(above))) + "\n"
        });
        let timeline = incident.timeline.as_deref().map_or_else(String::new, |name| {
            paint(DIM, format!("  Timeline of all CPUs: {}", legible(name))) + "\n"
        });
        format!(
            "{}\n{lines}{}{idle}{above}{timeline}",
            paint(BOLD, wrapped(&heading, width, 2)),
            rest(incident, &parts)
        )
    }

    /// Remedies for the causes with most late time.
    fn to_do(&self, findings: &[Finding], most: usize, width: usize) -> String {
        let raised = thread_to_raise(&self.recording.incidents);
        let mut advice: Vec<CulpritAdvice<'_>> = Vec::new();
        for (policy, causes) in causes_by_urgency(&self.recording.incidents) {
            for cause in &causes {
                let Some(finding) = remedy(cause, policy, findings) else { continue };
                // A priority is a remedy for a single thread; without one to raise, there is no advice.
                if is_for_a_thread(&finding.id) && raised.is_none() {
                    continue;
                }
                let new = CulpritAdvice::against(cause, policy, finding);
                match advice.iter_mut().find(|existing| existing.is_like(&new)) {
                    Some(existing) => existing.merge(new),
                    None => advice.push(new),
                }
            }
        }
        advice.truncate(most);
        if advice.is_empty() {
            return String::new();
        }
        let text: String = advice.iter().map(|advice| advice.text(raised, width)).collect();
        format!("{}\n{text}", paint(HEADING, "What to do"))
    }
}

fn share(part: Span, whole: Span) -> f64 {
    span_per_span(part, whole)
}

const fn limits(detail: Detail) -> WhyLimits {
    if matches!(detail, Detail::Full) { FULL } else { BRIEF }
}

/// A part, together with other parts of the same cause.
struct CausePart {
    first: Segment,
    stretches: usize,
}

impl CausePart {
    const fn of(part: Segment) -> Self {
        Self { first: part, stretches: 1 }
    }

    fn is_of(&self, part: &Segment) -> bool {
        self.first.cause == part.cause && self.first.pid == part.pid
    }

    fn join(&mut self, part: &Segment) {
        self.first.ns = self.first.ns.plus(part.ns);
        self.stretches += 1;
    }
}

/// In order of time, if that covers all long parts; otherwise the longest parts, in order of their start.
fn shown_parts(incident: &Incident, most: usize) -> Vec<CausePart> {
    let by_time = by_time(incident);
    let remaining = incident.latency.minus(sum(&by_time));
    let shortest = by_time.iter().map(|part| part.first.ns).min().unwrap_or_default();
    if by_time.len() <= most && remaining <= shortest { by_time } else { largest(incident, most) }
}

/// The parts that are long enough. Parts of one cause with only short ones between are joined.
fn by_time(incident: &Incident) -> Vec<CausePart> {
    let mut parts: Vec<CausePart> = Vec::new();
    for part in incident.parts.iter().filter(|part| share(part.ns, incident.latency) >= WORTH) {
        match parts.last_mut() {
            Some(last) if last.is_of(part) => last.join(part),
            _ => parts.push(CausePart::of(part.clone())),
        }
    }
    parts
}

/// The causes that took most, each with all its stretches.
fn largest(incident: &Incident, most: usize) -> Vec<CausePart> {
    let mut by_cause: Vec<CausePart> = Vec::new();
    for part in &incident.parts {
        match by_cause.iter_mut().find(|cause| cause.is_of(part)) {
            Some(cause) => cause.join(part),
            None => by_cause.push(CausePart::of(part.clone())),
        }
    }
    by_cause.sort_by_key(|part| std::cmp::Reverse(part.first.ns));
    let worth = by_cause.iter().filter(|part| share(part.first.ns, incident.latency) >= WORTH).count();
    by_cause.truncate(most.min(worth.max(1)));
    by_cause.sort_by_key(|part| part.first.from);
    by_cause
}

fn sum(parts: &[CausePart]) -> Span {
    parts.iter().fold(Span::ZERO, |sum, part| sum.plus(part.first.ns))
}

/// Start relative to the wait, duration, and cause.
fn part_line(incident: &Incident, cause_part: &CausePart, width: usize) -> String {
    let part = &cause_part.first;
    let began = incident.at_ns.minus(incident.latency);
    let after = if part.merged { "–".to_owned() } else { format!("+{}", span(part.from.since(began))) };
    let stretches = match (part.merged, cause_part.stretches) {
        (true, _) => ", in several stretches".to_owned(),
        (_, 1) => String::new(),
        (_, stretches) => format!(", in {stretches} stretches"),
    };
    let text =
        format!("{} {}{stretches}", part_text(incident, part), percent(share(part.ns, incident.latency)));
    let text = lines(&text, width.saturating_sub(INDENT + 2)).join(&format!("\n{:INDENT$}  ", ""));
    format!("  {after:>10}  {:>10}  {text}\n", span(part.ns))
}

fn part_text(incident: &Incident, part: &Segment) -> String {
    let culprit =
        cause_of(incident, part).filter(|cause| cause.kind == part.cause.kind && part.cause.kind.is_named());
    match incident.kind {
        IncidentKind::EventLoop => return way(incident.kind, part.cause.part).to_owned(),
        IncidentKind::Request => return segment_in_words(part),
        _ => {}
    }
    match (culprit, part.cause.kind) {
        (Some(culprit), CauseKind::Thread) => {
            format!("{}: {}", part_in_words(part.cause.part), incident_cause(culprit))
        }
        _ => part_of_incident(part),
    }
}

/// The sum of the parts that are too short to be shown.
fn rest(incident: &Incident, shown: &[CausePart]) -> String {
    let number = incident.parts.len().saturating_sub(shown.iter().map(|part| part.stretches).sum());
    let sum = sum(shown);
    let which = match number {
        0 => return String::new(),
        1 => "1 shorter part".to_owned(),
        _ => format!("{} shorter parts together", count(number as u64)),
    };
    format!("  {:>10}  {:>10}  {which}\n", "", span(incident.latency.minus(sum)))
}

/// One remedy, against all causes that it helps against.
struct CulpritAdvice<'a> {
    finding: &'a Finding,
    only_if: Option<OnlyIf>,
    is_realtime: bool,
    against: Vec<String>,
    share: f64,
}

impl<'a> CulpritAdvice<'a> {
    fn against(cause: &WhyCause, policy: Policy, finding: &'a Finding) -> Self {
        let name = cause.name.as_deref().unwrap_or_default();
        Self {
            finding,
            only_if: only_if(cause, &finding.id),
            is_realtime: policy.is_realtime(),
            against: vec![culprit_text(cause.kind, name)],
            share: cause.share,
        }
    }

    /// Whether the advice is the same, apart from the culprits.
    fn is_like(&self, other: &Self) -> bool {
        let key = |advice: &Self| (advice.finding.id.clone(), advice.only_if, advice.is_realtime);
        key(self) == key(other)
    }

    fn merge(&mut self, other: Self) {
        // A program may be a culprit with real-time and with normal threads.
        for name in other.against {
            if !self.against.contains(&name) {
                self.against.push(name);
            }
        }
        self.share += other.share;
    }

    fn text(&self, raised: Option<&LateThread>, width: usize) -> String {
        let whose = if self.is_realtime { "real-time threads" } else { "normal threads" };
        let raised = raised.filter(|_| is_for_a_thread(&self.finding.id));
        let (found, steps) = match raised {
            Some(thread) => advice_for_thread(thread),
            None => {
                let steps = self.finding.remedy.iter().flat_map(|remedy| remedy.apply.clone());
                (with_condition(self.finding, self.only_if), steps.collect())
            }
        };
        let sentence = format!(
            "Against {}, {} of what {whose} waited: {}. What to do:",
            first_two(&self.against),
            percent(self.share),
            legible(&found)
        );
        let lines = steps.iter().flat_map(|step| step_lines(&legible(step), width.saturating_sub(4)));
        let typed: String = lines.map(|line| format!("    {}\n", paint(COMMAND, line))).collect();
        format!("  {}\n{typed}", wrapped(&sentence, width, 2))
    }
}
