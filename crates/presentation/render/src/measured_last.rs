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

    /// `In the last run (howlate watch, 2026-…), 35 % of the late time went to rustc. The finding on that is nice_permission.`
    pub fn in_words(&self) -> String {
        let run = format!("In the last run (howlate {}, {})", self.command, self.started);
        if !self.traced {
            return format!(
                "{run}, nothing was traced, so it is not known which of these findings made it late. To find out, add `--why`."
            );
        }
        match self.bears_on.as_slice() {
            [] if self.unknown > 0.5 => format!(
                "{run}, it was not seen who took {} of the late time, so no finding can be linked to it. Names need root.",
                percent(self.unknown)
            ),
            [] => format!("{run}, none of these findings had to do with what made its wake-ups late."),
            [one] => format!("{run}, {}. The finding on that is {}.", one.went_to(), one.finding),
            some => {
                let each = |one: &BearsOn| format!("{} ({})", one.went_to(), one.finding);
                let some = some.iter().map(each).collect::<Vec<_>>().join("; ");
                format!("{run}, {some}. In brackets: the finding on it.")
            }
        }
    }
}

impl BearsOn {
    /// `35 % of the late time went to rustc and cargo`
    fn went_to(&self) -> String {
        let causes: Vec<&str> = self.causes.iter().take(2).map(String::as_str).collect();
        let more = if self.causes.len() > 2 { " and others" } else { "" };
        let causes = causes.join(if more.is_empty() { " and " } else { ", " });
        format!("{} of the late time went to {causes}{more}", percent(self.share))
    }

    fn add(&mut self, cause: String, late_ns: u64) {
        self.late_ns += late_ns;
        if !self.causes.contains(&cause) {
            self.causes.push(cause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(causes: &[&str]) -> MeasuredLast {
        let one = BearsOn {
            finding: FindingId::RealtimePermission,
            causes: causes.iter().map(ToString::to_string).collect(),
            late_ns: 96,
            share: 0.96,
        };
        MeasuredLast {
            command: "why".into(),
            started: "2026-11-27T09:12:00Z".into(),
            traced: true,
            unknown: 0.0,
            bears_on: vec![one],
        }
    }

    #[test]
    fn it_is_a_sentence_and_no_advice() {
        assert_eq!(
            last(&["sh, pid 18625"]).in_words(),
            "In the last run (howlate why, 2026-11-27T09:12:00Z), 96 % of the late time went to sh, pid 18625. The finding on that is \
             realtime_permission."
        );
        assert!(last(&["sh", "qemu"]).in_words().contains("went to sh and qemu. "));
        assert!(last(&["sh", "qemu", "cron"]).in_words().contains("went to sh, qemu and others. "));
    }
}
