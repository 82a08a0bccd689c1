//! A finding being written.

use howlate_model::{Cost, Finding, Remedy, Verdict};
use howlate_procfs::Reading;

/// Collects the parts of a finding in the order in which they are read.
pub(super) struct Draft {
    finding: Finding,
    remedy: Remedy,
}

/// Starts a finding: its stable name, what it means, and what was found.
pub(super) fn finding(id: &str, verdict: Verdict, found: impl Into<String>) -> Draft {
    let finding = Finding {
        id: id.to_owned(),
        verdict,
        found: found.into(),
        evidence: Vec::new(),
        why: String::new(),
        cost: None,
        remedy: None,
    };
    Draft { finding, remedy: Remedy::default() }
}

impl Draft {
    /// What was read.
    pub(super) fn seen(mut self, reading: &Reading) -> Self {
        self.finding.evidence.push(reading.evidence());
        self
    }

    /// Why it matters.
    pub(super) fn why(mut self, why: impl Into<String>) -> Self {
        self.finding.why = why.into();
        self
    }

    /// What it typically costs, and who says so.
    pub(super) fn typically(mut self, cost: impl Into<String>, source: impl Into<String>) -> Self {
        self.finding.cost = Some(Cost { typical: cost.into(), source: source.into() });
        self
    }

    /// One command or sentence that mends it.
    pub(super) fn apply(mut self, command: impl Into<String>) -> Self {
        self.remedy.apply.push(command.into());
        self
    }

    /// One command or sentence that puts it back.
    pub(super) fn undo(mut self, command: impl Into<String>) -> Self {
        self.remedy.undo.push(command.into());
        self
    }

    /// Writes `value` to a file; the undo writes what the file holds now.
    pub(super) fn write(self, path: &str, value: &str, now: &str) -> Self {
        self.apply(written(value, path)).undo(written(now, path))
    }

    /// A change of the kernel's command line.
    pub(super) fn boot(self, parameter: &str) -> Self {
        self.apply(format!("add `{parameter}` to the kernel's command line and restart"))
            .undo(format!("remove `{parameter}` from the kernel's command line and restart"))
    }

    /// Makes an alteration only where there is reason for it.
    pub(super) fn when(self, reason: bool, alter: impl FnOnce(Self) -> Self) -> Self {
        if reason { alter(self) } else { self }
    }

    /// The finished finding.
    pub(super) fn end(mut self) -> Finding {
        if !self.remedy.apply.is_empty() {
            self.finding.remedy = Some(self.remedy);
        }
        self.finding
    }
}

/// The command that writes a value to one of the kernel's files.
pub(super) fn written(value: &str, path: &str) -> String {
    format!("echo {value} | sudo tee {path}")
}
