//! Builder of a finding.

use crate::settings::{NumberedFiles, boot_remedy};
use howlate_model::{Cost, Finding, FindingId, Remedy, Verdict};
use howlate_procfs::{Reading, Root};

/// The parts of a finding, in the order in which they are shown.
pub(super) struct FindingDraft {
    finding: Finding,
    remedy: Remedy,
}

/// Starts a finding. `found` is one sentence without a line break.
pub(super) fn finding(id: FindingId, verdict: Verdict, found: impl Into<String>) -> FindingDraft {
    let finding = Finding {
        id,
        verdict,
        found: found.into(),
        evidence: Vec::new(),
        why: String::new(),
        cost: None,
        remedy: None,
    };
    FindingDraft { finding, remedy: Remedy::default() }
}

impl FindingDraft {
    /// Adds a file as evidence.
    pub(super) fn evidence(mut self, reading: &Reading) -> Self {
        self.finding.evidence.push(reading.evidence());
        self
    }

    /// Sets the explanation of the effect on latency.
    pub(super) fn why(mut self, why: impl Into<String>) -> Self {
        self.finding.why = why.into();
        self
    }

    /// The typical added latency, and its source.
    pub(super) fn cost(mut self, cost: impl Into<String>, source: impl Into<String>) -> Self {
        self.finding.cost = Some(Cost { typical: cost.into(), source: source.into() });
        self
    }

    /// Adds a command or sentence that fixes it.
    pub(super) fn apply(mut self, command: impl Into<String>) -> Self {
        self.remedy.apply.push(command.into());
        self
    }

    /// Adds a command or sentence that restores the present value.
    pub(super) fn undo(mut self, command: impl Into<String>) -> Self {
        self.remedy.undo.push(command.into());
        self
    }

    /// Adds all commands of a remedy.
    pub(super) fn remedy(mut self, remedy: Remedy) -> Self {
        self.remedy.apply.extend(remedy.apply);
        self.remedy.undo.extend(remedy.undo);
        self.remedy.lasting.extend(remedy.lasting);
        self.remedy.price = match (self.remedy.price, remedy.price) {
            (Some(price), Some(more)) => Some(format!("{price}; {more}")),
            (price, more) => price.or(more),
        };
        self
    }

    /// Changes the tunable `tunable` from its present value on this machine.
    pub(super) fn setting(self, root: &Root, tunable: &str) -> Self {
        self.remedy(crate::settings::remedy(root, tunable))
    }

    /// Like [`setting`](Self::setting), without commands that outlast a restart: for settings that protect the machine.
    pub(super) fn temporary_setting(self, root: &Root, tunable: &str) -> Self {
        self.remedy(Remedy { lasting: Vec::new(), ..crate::settings::remedy(root, tunable) })
    }

    /// Appends a shell comment to the last command.
    pub(super) fn remark(mut self, remark: &str) -> Self {
        if let Some(last) = self.remedy.apply.last_mut() {
            last.push_str(&format!("   # {remark}"));
        }
        self
    }

    /// Adds parameters to the kernel's command line.
    pub(super) fn kernel_parameter(self, root: &Root, parameters: &str) -> Self {
        self.remedy(boot_remedy(root, parameters))
    }

    /// Adds a command whose effect outlasts a restart.
    pub(super) fn lasting(mut self, command: impl Into<String>) -> Self {
        self.remedy.lasting.push(command.into());
        self
    }

    /// Adds one file of each distinct value as evidence.
    pub(super) fn examples(self, files: &NumberedFiles) -> Self {
        files.examples().into_iter().fold(self, |draft, reading| draft.evidence(reading))
    }

    /// Applies `change` if `condition` holds.
    pub(super) fn when(self, condition: bool, change: impl FnOnce(Self) -> Self) -> Self {
        if condition { change(self) } else { self }
    }

    /// The finding, with a remedy if there is a command to apply.
    pub(super) fn finish(mut self) -> Finding {
        if !self.remedy.apply.is_empty() {
            self.finding.remedy = Some(self.remedy);
        }
        self.finding
    }
}
