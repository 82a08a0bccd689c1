//! Incidents told part by part, and what can be done.

use howlate_analyse::cause::{OnlyIf, WhyCause, only_if, remedy};
use howlate_analyse::incidents::{cause_of, causes_by_urgency, thread_to_raise};
use howlate_model::{
    CauseKind, Finding, FindingId, Incident, IncidentKind, LateThread, Policy, Priority, Segment, Span,
};

use super::Incidents;
use super::text::more;
use super::words::{how_late, incident_cause, named, part_of_incident, span, unusual, victim, way};
use crate::answer::MOST_REMEDIES;
use crate::cause_words::{first_two, part_in_words, percent};
use crate::commands_to_type::step_lines;
use crate::detail::Detail;
use crate::numbers::{count, span_per_span};
use crate::only_if::with_condition;
use crate::prose::{lines, wrapped};
use crate::style::{BOLD, COMMAND, DIM, HEADING, paint};
use crate::untrusted_text::legible;

/// The longest incidents, parts of each, culprits and things to do that a screen has, and that are told at most.
const BRIEF: Told = Told { incidents: 2, parts: 2, culprits: 3, remedies: MOST_REMEDIES };
const FULL: Told = Told { incidents: 50, parts: 20, culprits: 20, remedies: usize::MAX };
/// Parts with less than this share are told together.
const WORTH: f64 = 0.02;
/// Columns before a part: when it began, and how long it took.
const INDENT: usize = 26;

/// Whether a finding is about what a thread may ask of the scheduler.
const fn is_for_a_thread(id: &FindingId) -> bool {
    matches!(id, FindingId::RealtimePermission | FindingId::NicePermission | FindingId::RtGroupScheduling)
}

/// What may help the thread that waited longest.
fn for_thread(thread: &LateThread) -> (String, Vec<String>) {
    let LateThread { name, process, tid, .. } = thread;
    let of = if name == process { String::new() } else { format!(" of {process}") };
    let found = format!(
        "a real-time priority may help {name}{of}, which waited longest, as long as that leaves its CPU to others; not tried here"
    );
    (found, vec![format!("chrt --fifo -p {} {tid}   # {name}", Priority::USUAL.get())])
}

#[derive(Clone, Copy)]
struct Told {
    incidents: usize,
    parts: usize,
    culprits: usize,
    remedies: usize,
}

impl Incidents {
    /// Each of the longest incidents with its parts; who held up others; and what `findings` say that can be done.
    pub fn why(&self, findings: &[Finding], detail: Detail, width: usize) -> String {
        let told = told_in(detail);
        let parts = [
            format!("{}\n", paint(HEADING, wrapped(&self.title(), width, 0))),
            self.told(detail, width),
            self.notes(width),
            self.culprits(told.culprits, detail, width),
            self.to_do(findings, told.remedies, width),
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    fn told(&self, detail: Detail, width: usize) -> String {
        let (mut kept, most) = (self.kept.clone(), told_in(detail));
        kept.drop_shorter(most.incidents);
        if kept.incidents.is_empty() {
            return format!("{}\n", self.nothing());
        }
        let format = if self.is_one_day(&kept.incidents) { "%H:%M:%S.%3f" } else { "%m-%d %H:%M:%S.%3f" };
        let one = |one: &Incident| self.one(one, &self.time(one, format), most.parts, width);
        let told: Vec<String> = kept.incidents.iter().map(one).collect();
        let shorter = usize::try_from(kept.shorter).unwrap_or(usize::MAX);
        let more = more(shorter, "that were shorter", detail);
        format!("{}{more}", told.join("\n"))
    }

    fn one(&self, one: &Incident, time: &str, parts: usize, width: usize) -> String {
        let policy = unusual(one.thread.policy).map_or_else(String::new, |policy| format!(", {policy},"));
        let heading = format!("{time}  {}{policy} {}", victim(one), how_late(one));
        let told = told(one, parts);
        let lines: String = told.iter().map(|part| part_line(one, part, width)).collect();
        let above = one.late_above.map_or_else(String::new, |above| {
            paint(DIM, format!("  Waits longer than {} were late then.", span(above))) + "\n"
        });
        let timeline = one.timeline.as_deref().map_or_else(String::new, |name| {
            paint(DIM, format!("  Timeline of all CPUs: {}", legible(name))) + "\n"
        });
        format!("{}\n{lines}{}{above}{timeline}", paint(BOLD, wrapped(&heading, width, 2)), rest(one, &told))
    }

    /// What `why`'s rules know against what took most.
    fn to_do(&self, findings: &[Finding], most: usize, width: usize) -> String {
        let raised = thread_to_raise(&self.kept.incidents);
        let mut all: Vec<Advice<'_>> = Vec::new();
        for (policy, causes) in causes_by_urgency(&self.kept.incidents) {
            for cause in &causes {
                let Some(finding) = remedy(cause, policy, findings) else { continue };
                // Whose right that is, doctor does not know: it is of use to one thread.
                if is_for_a_thread(&finding.id) && raised.is_none() {
                    continue;
                }
                let one = Advice::against(cause, policy, finding);
                match all.iter_mut().find(|known| known.is_the_same(&one)) {
                    Some(known) => known.also(one),
                    None => all.push(one),
                }
            }
        }
        all.truncate(most);
        if all.is_empty() {
            return String::new();
        }
        let told: String = all.iter().map(|one| one.text(raised, width)).collect();
        format!("{}\n{told}", paint(HEADING, "What to do"))
    }
}

fn share(part: Span, whole: Span) -> f64 {
    span_per_span(part, whole)
}

const fn told_in(detail: Detail) -> Told {
    if matches!(detail, Detail::Full) { FULL } else { BRIEF }
}

/// A part, and others of the same cause.
struct ToldPart {
    first: Segment,
    stretches: usize,
}

impl ToldPart {
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

/// In order of time, as long as that tells all that took long; otherwise those that took most, in the order in which they began.
fn told(one: &Incident, most: usize) -> Vec<ToldPart> {
    let by_time = by_time(one);
    let left = one.latency.minus(sum(&by_time));
    let shortest = by_time.iter().map(|part| part.first.ns).min().unwrap_or_default();
    if by_time.len() <= most && left <= shortest { by_time } else { largest(one, most) }
}

/// Those that are long enough. What came between two of one cause is too short to be told.
fn by_time(one: &Incident) -> Vec<ToldPart> {
    let mut told: Vec<ToldPart> = Vec::new();
    for part in one.parts.iter().filter(|part| share(part.ns, one.latency) >= WORTH) {
        match told.last_mut() {
            Some(last) if last.is_of(part) => last.join(part),
            _ => told.push(ToldPart::of(part.clone())),
        }
    }
    told
}

/// The causes that took most, each in all its stretches.
fn largest(one: &Incident, most: usize) -> Vec<ToldPart> {
    let mut by_cause: Vec<ToldPart> = Vec::new();
    for part in &one.parts {
        match by_cause.iter_mut().find(|known| known.is_of(part)) {
            Some(known) => known.join(part),
            None => by_cause.push(ToldPart::of(part.clone())),
        }
    }
    by_cause.sort_by_key(|part| std::cmp::Reverse(part.first.ns));
    let worth = by_cause.iter().filter(|part| share(part.first.ns, one.latency) >= WORTH).count();
    by_cause.truncate(most.min(worth.max(1)));
    by_cause.sort_by_key(|part| part.first.from);
    by_cause
}

fn sum(told: &[ToldPart]) -> Span {
    told.iter().fold(Span::ZERO, |sum, part| sum.plus(part.first.ns))
}

/// When it began after the wait did, how long it took, and what it was.
fn part_line(one: &Incident, told: &ToldPart, width: usize) -> String {
    let part = &told.first;
    let began = one.at_ns.minus(one.latency);
    let after = if part.merged { "–".to_owned() } else { format!("+{}", span(part.from.since(began))) };
    let several = match (part.merged, told.stretches) {
        (true, _) => ", in several stretches".to_owned(),
        (_, 1) => String::new(),
        (_, several) => format!(", in {several} stretches"),
    };
    let text = format!("{} {}{several}", part_words(one, part), percent(share(part.ns, one.latency)));
    let text = lines(&text, width.saturating_sub(INDENT + 2)).join(&format!("\n{:INDENT$}  ", ""));
    format!("  {after:>10}  {:>10}  {text}\n", span(part.ns))
}

fn part_words(one: &Incident, part: &Segment) -> String {
    let known =
        cause_of(one, part).filter(|cause| cause.kind == part.cause.kind && part.cause.kind.is_named());
    if one.kind == IncidentKind::EventLoop {
        return way(one.kind, part.cause.part).to_owned();
    }
    match (known, part.cause.kind) {
        (Some(cause), CauseKind::Thread) => {
            format!("{}: {}", part_in_words(part.cause.part), incident_cause(cause))
        }
        _ => part_of_incident(part),
    }
}

/// What is too short to be told one by one.
fn rest(one: &Incident, told: &[ToldPart]) -> String {
    let left = one.parts.len().saturating_sub(told.iter().map(|part| part.stretches).sum());
    let sum = sum(told);
    let which = match left {
        0 => return String::new(),
        1 => "1 shorter part".to_owned(),
        _ => format!("{} shorter parts together", count(left as u64)),
    };
    format!("  {:>10}  {:>10}  {which}\n", "", span(one.latency.minus(sum)))
}

/// Something to do, against causes for which it is the same.
struct Advice<'a> {
    finding: &'a Finding,
    only_if: Option<OnlyIf>,
    is_realtime: bool,
    against: Vec<String>,
    share: f64,
}

impl<'a> Advice<'a> {
    fn against(cause: &WhyCause, policy: Policy, finding: &'a Finding) -> Self {
        let name = cause.name.as_deref().unwrap_or_default();
        Self {
            finding,
            only_if: only_if(cause, &finding.id),
            is_realtime: policy.is_realtime(),
            against: vec![named(cause.kind, name)],
            share: cause.share,
        }
    }

    fn is_the_same(&self, other: &Self) -> bool {
        let of = |one: &Self| (one.finding.id.clone(), one.only_if, one.is_realtime);
        of(self) == of(other)
    }

    fn also(&mut self, other: Self) {
        // A program's real-time threads may be meant as well as its others.
        for name in other.against {
            if !self.against.contains(&name) {
                self.against.push(name);
            }
        }
        self.share += other.share;
    }

    fn text(&self, raised: Option<&LateThread>, width: usize) -> String {
        let whose = if self.is_realtime { "real-time threads" } else { "ordinary threads" };
        let raised = raised.filter(|_| is_for_a_thread(&self.finding.id));
        let (found, steps) = match raised {
            Some(thread) => for_thread(thread),
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
