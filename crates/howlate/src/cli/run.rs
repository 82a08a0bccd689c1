//! `howlate run`

use std::mem::take;
use std::path::PathBuf;

use clap::Args;

use super::{Extent, Output, Reasons, Typed, WholeRun};

/// A whole experiment from a file: every condition, interleaved
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate run plans/nanosleep.toml\n  \
howlate run plans/python-sleep.toml --samples 10 --rounds 2   # a short try\n  \
howlate run plans/python-sleep.toml --resume                  # after an interruption\n\n\
What is typed for extent and circumstances holds instead of what the plan says. The recording gets the plan's name with `.jsonl`,
unless --out names another. docs/plans.md describes plan files.")]
pub(crate) struct Run {
    /// The plan
    pub(crate) plan: PathBuf,
    /// Resume the recording of an interrupted run
    #[arg(long)]
    pub(crate) resume: bool,
    /// Only show what would be measured, and how long it would take
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Measure here, even if the plan asks for guests
    #[arg(long)]
    pub(crate) here: bool,

    #[command(flatten)]
    pub(crate) extent: Typed<Extent>,
    #[command(flatten)]
    pub(crate) run: Typed<WholeRun>,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) reasons: Reasons,
}

impl Run {
    /// Takes what was not typed from the plan's own options.
    pub(crate) fn or(&mut self, plan: Self) {
        self.run.options = take(&mut self.run.options).or(plan.run.options);
        self.reasons = self.reasons.or(plan.reasons);
    }

    /// What was typed, for a run of the same plan in a guest.
    pub(crate) fn in_guest(&self) -> Vec<String> {
        let mut words = vec!["run".to_owned(), self.plan.display().to_string(), "--here".to_owned()];
        words.extend(self.extent.words.iter().chain(&self.run.words).cloned());
        if self.reasons.why {
            words.extend(["--why".to_owned(), format!("--tracer={}", self.reasons.tracer)]);
            words.extend(self.reasons.late_above.map(|above| format!("--late-above={above}")));
        }
        words
    }

    /// The recording's path.
    pub(crate) fn recording(&self) -> PathBuf {
        let named_after = || PathBuf::from(self.plan.file_stem().unwrap_or_default()).with_extension("jsonl");
        self.output.out.clone().unwrap_or_else(named_after)
    }
}
