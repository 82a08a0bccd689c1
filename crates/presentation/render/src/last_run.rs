//! Which findings of `doctor` affected the most recent run.

use howlate_analyse::Analysis;
use howlate_analyse::cause::{families, remedy};
use howlate_model::{CauseKind, Finding, FindingId};
use serde_json::{Value, json};

use crate::cause_words::{cause_in_words, percent};

/// The most recent run, and the findings that affected its late wake-ups.
#[derive(Debug, PartialEq)]
pub struct LastRun {
    command: String,
    started: String,
    /// Whether late wake-ups were traced.
    traced: bool,
    /// Share of the late time with unknown causes, 0 to 1.
    unknown: f64,
    /// Findings, in order of the late time they affect.
    relevant: Vec<RelevantFinding>,
}

/// A finding, and the late time it affects.
#[derive(Debug, PartialEq)]
struct RelevantFinding {
    finding: FindingId,
    /// Names of the causes, largest first, each once.
    causes: Vec<String>,
    late_ns: u64,
    /// Share of all late time, 0 to 1.
    share: f64,
}

impl LastRun {
    /// Links `findings` to the late wake-ups of `analysis`.
    pub fn new(analysis: &Analysis, findings: &[Finding]) -> Self {
        let late = analysis.header.late_above;
        let (mut relevant, mut total, mut unknown, mut traced) = (Vec::<RelevantFinding>::new(), 0, 0, false);
        for outcome in analysis.outcomes() {
            let Some(why) = outcome.why_late(late) else { continue };
            traced = true;
            for cause in families(&why).into_iter().map(|family| family.cause) {
                total += cause.late_ns;
                if matches!(cause.kind, CauseKind::Undetermined | CauseKind::Unexplained) {
                    unknown += cause.late_ns;
                }
                let findings = outcome.relevant_findings(findings);
                let Some(finding) = remedy(&cause, outcome.policy_in_force(), findings) else { continue };
                let cause_text = cause_in_words(&cause);
                match relevant.iter_mut().find(|existing| existing.finding == finding.id) {
                    Some(existing) => existing.add(cause_text, cause.late_ns),
                    None => relevant.push(RelevantFinding {
                        finding: finding.id.clone(),
                        causes: vec![cause_text],
                        late_ns: cause.late_ns,
                        share: 0.0,
                    }),
                }
            }
        }
        relevant.iter_mut().for_each(|finding| finding.share = finding.late_ns as f64 / total.max(1) as f64);
        relevant.sort_by_key(|finding| std::cmp::Reverse(finding.late_ns));
        let (command, started) = (analysis.header.command.to_string(), analysis.header.started.clone());
        let unknown = unknown as f64 / total.max(1) as f64;
        Self { command, started, traced, unknown, relevant }
    }

    /// As a JSON object.
    pub fn json(&self) -> Value {
        let entry = |entry: &RelevantFinding| {
            json!({
                    "finding": entry.finding, "causes": entry.causes, "late_ns": entry.late_ns, "share": entry.share,
            })
        };
        let relevant: Vec<Value> = self.relevant.iter().map(entry).collect();
        json!({ "command": self.command, "started": self.started, "traced": self.traced, "bears_on": relevant })
    }

    /// `In the last run (howlate watch, 2026-…), 35 % of the late time went to rustc. The finding on that is nice_permission.`
    pub fn in_words(&self) -> String {
        let run = format!("In the last run (howlate {}, {})", self.command, self.started);
        if !self.traced {
            return format!(
                "{run}, nothing was traced, so it is not known which of these findings made it late. To find out, add `--why`."
            );
        }
        match self.relevant.as_slice() {
            [] if self.unknown > 0.5 => format!(
                "{run}, it was not seen who took {} of the late time, so no finding can be linked to it. Names need root.",
                percent(self.unknown)
            ),
            [] => format!("{run}, none of these findings had to do with what made its wake-ups late."),
            [finding] => format!("{run}, {}. The finding on that is {}.", finding.went_to(), finding.finding),
            several => {
                let each = |finding: &RelevantFinding| format!("{} ({})", finding.went_to(), finding.finding);
                let several = several.iter().map(each).collect::<Vec<_>>().join("; ");
                format!("{run}, {several}. In brackets: the finding on it.")
            }
        }
    }
}

impl RelevantFinding {
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

    fn last(causes: &[&str]) -> LastRun {
        let finding = RelevantFinding {
            finding: FindingId::RealtimePermission,
            causes: causes.iter().map(ToString::to_string).collect(),
            late_ns: 96,
            share: 0.96,
        };
        LastRun {
            command: "why".into(),
            started: "2026-11-27T09:12:00Z".into(),
            traced: true,
            unknown: 0.0,
            relevant: vec![finding],
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
