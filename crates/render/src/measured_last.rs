//! Which findings bear on what was measured last.

use howlate_analyse::Analysis;
use howlate_analyse::cause::{families, remedy};
use howlate_model::{CauseKind, Finding, FindingId};
use serde_json::{Value, json};

use crate::cause_words::{cause_in_words, percent};

/// The most recent run kept, and the findings that bear on what made its wake-ups late.
#[derive(Debug, PartialEq)]
pub struct MeasuredLast {
    command: String,
    started: String,
    /// Whether it is known what made its wake-ups late.
    traced: bool,
    /// The share of the late time of which it is not known who took it, 0 to 1.
    unknown: f64,
    /// The findings, those that bear on most of the late time first.
    bears_on: Vec<BearsOn>,
}

/// A finding, and what it bears on.
#[derive(Debug, PartialEq)]
struct BearsOn {
    finding: FindingId,
    /// What was found, in words.
    found: String,
    /// Who took the time, each once, the most first.
    causes: Vec<String>,
    late_ns: u64,
    /// The same as a share of all late time, 0 to 1.
    share: f64,
}

impl MeasuredLast {
    /// Of these findings, as `analysis` shows what was late.
    pub fn new(analysis: &Analysis, found: &[Finding]) -> Self {
        let late = analysis.header.late_above;
        let (mut bears_on, mut total, mut unknown, mut traced) = (Vec::<BearsOn>::new(), 0, 0, false);
        for outcome in analysis.outcomes() {
            let Some(why) = outcome.why_late(late) else { continue };
            traced = true;
            for cause in families(&why).into_iter().map(|family| family.cause) {
                total += cause.late_ns;
                if matches!(cause.kind, CauseKind::Undetermined | CauseKind::Unexplained) {
                    unknown += cause.late_ns;
                }
                let Some(finding) = remedy(&cause, outcome.policy_in_force(), found) else { continue };
                let words = cause_in_words(&cause);
                match bears_on.iter_mut().find(|one| one.finding == finding.id) {
                    Some(known) => known.add(words, cause.late_ns),
                    None => bears_on.push(BearsOn {
                        finding: finding.id.clone(),
                        found: finding.found.clone(),
                        causes: vec![words],
                        late_ns: cause.late_ns,
                        share: 0.0,
                    }),
                }
            }
        }
        bears_on.iter_mut().for_each(|one| one.share = one.late_ns as f64 / total.max(1) as f64);
        bears_on.sort_by_key(|one| std::cmp::Reverse(one.late_ns));
        let (command, started) = (analysis.header.command.to_string(), analysis.header.started.clone());
        let unknown = unknown as f64 / total.max(1) as f64;
        Self { command, started, traced, unknown, bears_on }
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        let one = |one: &BearsOn| {
            json!({
                "finding": one.finding, "causes": one.causes, "late_ns": one.late_ns, "share": one.share,
            })
        };
        let bears_on: Vec<Value> = self.bears_on.iter().map(one).collect();
        json!({ "command": self.command, "started": self.started, "traced": self.traced, "bears_on": bears_on })
    }

    /// `Measured last (howlate watch, 2026-…): rustc took 35 % of the late time; this process may set any nice value
    /// (nice_permission).`
    pub fn in_words(&self) -> String {
        let run = format!("Measured last (howlate {}, {})", self.command, self.started);
        if !self.traced {
            return format!(
                "{run}: not traced, so which of these findings made it late is not known. `--why` finds out."
            );
        }
        let one = |one: &BearsOn| {
            let causes = one.causes.iter().take(2).cloned().collect::<Vec<_>>().join(", ");
            format!("{causes} took {} of the late time; {} ({})", percent(one.share), one.found, one.finding)
        };
        match self.bears_on.as_slice() {
            [] if self.unknown > 0.5 => format!(
                "{run}: who took {} of the late time was not seen, so no finding can be linked to it. Names need root.",
                percent(self.unknown)
            ),
            [] => format!("{run}: none of these findings bears on what made its wake-ups late."),
            some => format!("{run}: {}.", some.iter().map(one).collect::<Vec<_>>().join(". ")),
        }
    }
}

impl BearsOn {
    fn add(&mut self, cause: String, late_ns: u64) {
        self.late_ns += late_ns;
        if !self.causes.contains(&cause) {
            self.causes.push(cause);
        }
    }
}
