//! A finding being written.

use crate::settings::{NumberedFiles, boot_remedy};
use howlate_model::{Cost, Finding, FindingId, Remedy, Verdict};
use howlate_procfs::{Reading, Root};

/// Collects the parts of a finding in the order in which they are read.
pub(super) struct Draft {
    finding: Finding,
    remedy: Remedy,
}

/// Starts a finding: its stable name, what it means, and what was found.
pub(super) fn finding(id: FindingId, verdict: Verdict, found: impl Into<String>) -> Draft {
    let finding = Finding {
        id,
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

    /// Commands that mend it, and those that put it back.
    pub(super) fn mend(mut self, remedy: Remedy) -> Self {
        self.remedy.apply.extend(remedy.apply);
        self.remedy.undo.extend(remedy.undo);
        self.remedy.lasting.extend(remedy.lasting);
        self.remedy.price = match (self.remedy.price, remedy.price) {
            (Some(known), Some(more)) => Some(format!("{known}; {more}")),
            (known, more) => known.or(more),
        };
        self
    }

    /// Turns the knob of this name, as it is on this machine.
    pub(super) fn turn(self, root: &Root, knob: &str) -> Self {
        self.mend(crate::settings::remedy(root, knob))
    }

    /// Turns it for a while: what it takes away is there for a reason.
    pub(super) fn turn_for_now(self, root: &Root, knob: &str) -> Self {
        self.mend(Remedy { lasting: Vec::new(), ..crate::settings::remedy(root, knob) })
    }

    /// A remark beside the last command that mends it.
    pub(super) fn remarked(mut self, remark: &str) -> Self {
        if let Some(last) = self.remedy.apply.last_mut() {
            last.push_str(&format!("   # {remark}"));
        }
        self
    }

    /// A change of the kernel's command line.
    pub(super) fn boot(self, root: &Root, words: &str) -> Self {
        self.mend(boot_remedy(root, words))
    }

    /// One command that has it for good.
    pub(super) fn lasting(mut self, command: impl Into<String>) -> Self {
        self.remedy.lasting.push(command.into());
        self
    }

    /// One file of each distinct value as evidence.
    pub(super) fn examples(self, files: &NumberedFiles) -> Self {
        files.examples().into_iter().fold(self, |draft, reading| draft.seen(reading))
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
