//! Incidents told part by part, and what can be done.

use howlate_analyse::cause::{OnlyIf, WhyCause, only_if, remedy};
use howlate_analyse::incidents::{cause_of, causes_by_urgency};
use howlate_model::{CauseKind, Finding, Incident, IncidentKind, Policy, Segment, Span};

use super::Incidents;
use super::text::more;
use super::words::{how_late, incident_cause, span, unusual, victim, way};
use crate::answer::MOST_REMEDIES;
use crate::cause_words::{first_two, part_in_words, percent, segment_in_words, who};
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
        kept.leave_out_the_shorter(most.incidents);
        if kept.incidents.is_empty() {
            return self.nothing().to_owned();
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
        let mut all: Vec<Advice<'_>> = Vec::new();
        for (policy, causes) in causes_by_urgency(&self.kept.incidents) {
            for cause in &causes {
                let Some(finding) = remedy(cause, policy, findings) else { continue };
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
        let told: String = all.iter().map(|one| one.text(width)).collect();
        format!("{}\n{told}", paint(HEADING, "What to do"))
    }
}

fn share(part: Span, whole: Span) -> f64 {
    span_per_span(part, whole)
}

const fn told_in(detail: Detail) -> Told {
    if matches!(detail, Detail::Full) { FULL } else { BRIEF }
}

/// A part, and those of the same cause after it: what came between them is too short to be told.
struct ToldPart {
    first: Segment,
    stretches: usize,
}

fn told(one: &Incident, most: usize) -> Vec<ToldPart> {
    let mut told: Vec<ToldPart> = Vec::new();
    for part in one.parts.iter().filter(|part| share(part.ns, one.latency) >= WORTH) {
        match told.last_mut() {
            Some(last) if last.first.cause == part.cause && last.first.pid == part.pid => {
                last.first.ns = last.first.ns.plus(part.ns);
                last.stretches += 1;
            }
            _ => told.push(ToldPart { first: part.clone(), stretches: 1 }),
        }
    }
    told.truncate(most);
    told
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
    let named =
        cause_of(one, part).filter(|cause| cause.kind == part.cause.kind && part.cause.kind.is_named());
    if one.kind == IncidentKind::EventLoop {
        return way(one.kind, part.cause.part).to_owned();
    }
    match (named, part.cause.kind) {
        (Some(cause), CauseKind::Thread) => {
            format!("{}: {}", part_in_words(part.cause.part), incident_cause(cause))
        }
        _ => segment_in_words(part),
    }
}

/// What is too short to be told one by one.
fn rest(one: &Incident, told: &[ToldPart]) -> String {
    let left = one.parts.len().saturating_sub(told.iter().map(|part| part.stretches).sum());
    let sum = told.iter().fold(Span::ZERO, |sum, part| sum.plus(part.first.ns));
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
            against: vec![who(cause.kind, name, None)],
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

    fn text(&self, width: usize) -> String {
        let whose = if self.is_realtime { "real-time threads" } else { "ordinary threads" };
        let sentence = format!(
            "Against {}, {} of what {whose} waited: {}. What to do:",
            first_two(&self.against),
            percent(self.share),
            legible(&with_condition(self.finding, self.only_if))
        );
        let steps = self.finding.remedy.iter().flat_map(|remedy| &remedy.apply);
        let lines = steps.flat_map(|step| step_lines(&legible(step), width.saturating_sub(4)));
        let typed: String = lines.map(|line| format!("    {}\n", paint(COMMAND, line))).collect();
        format!("  {}\n{typed}", wrapped(&sentence, width, 2))
    }
}
