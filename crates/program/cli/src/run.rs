//! `howlate run`

use std::mem::take;
use std::path::{Path, PathBuf};

use clap::Args;

use super::{ExtentArgs, OutputArgs, StartAt, TracingArgs, WholeRunArgs, WithArguments, completion_values};

/// Run an experiment from a file: every condition, interleaved
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate run --list\n  \
howlate run python-sleep --samples 10 --rounds 2   # a short try\n  \
howlate run python-sleep --resume                  # after an interruption\n  \
howlate run my-plan.toml --dry-run")]
#[command(after_long_help = "Examples:\n  \
howlate run --list\n  \
howlate run python-sleep --samples 10 --rounds 2   # a short try\n  \
howlate run python-sleep --resume                  # after an interruption\n  \
howlate run my-plan.toml --dry-run\n\n\
Options for extent and circumstances override the plan. The recording gets the plan's name with `.jsonl`, \
unless --out names another.\n\n\
A plan is a TOML file. Each table is a measuring command, its keys are the command's options, and lists multiply:\n\n  \
about = \"Does a busy machine delay short sleeps?\"\n\n  \
[system]                    # in force for the run, then put back\n  \
governor = \"performance\"\n\n  \
[[sleep]]\n  \
for = [\"100us\", \"1ms\"]\n  \
policy = [\"other\", \"fifo:50\"]\n  \
load = [\"idle\", \"cpu\"]\n\n\
A plan that tries settings has one table `[[tune.cyclic]]`, `[[tune.sleep]]` or `[[tune.notify]]`, and no other.")]
pub struct RunArgs {
    /// The plan: a file, or the name of one that comes with howlate
    #[arg(required_unless_present = "list", value_parser = completion_values::plan(), hide_possible_values = true)]
    plan: Option<PathBuf>,
    /// List the plans that come with howlate
    #[arg(long, conflicts_with = "plan")]
    pub list: bool,
    /// Continue an interrupted run, in the same recording
    #[arg(long)]
    pub resume: bool,
    /// Only show what would be measured, and how long it would take
    #[arg(long)]
    pub dry_run: bool,
    /// Begin at the next whole multiple of this length by the wall clock, such as /10s: several machines at the same time
    #[arg(long, value_name = "BOUNDARY", hide_short_help = true)]
    pub start_at: Option<StartAt>,
    /// Measure here, even if the plan asks for guests
    #[arg(long)]
    pub here: bool,

    /// How much is measured.
    #[command(flatten)]
    pub extent: WithArguments<ExtentArgs>,
    /// What is of the whole run.
    #[command(flatten)]
    pub run: WithArguments<WholeRunArgs>,
    /// Where results go, and as what.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Do not keep the run for `howlate show`
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    pub no_save: bool,
    /// Whether and how it is asked why.
    #[command(flatten)]
    pub reasons: TracingArgs,
}

impl RunArgs {
    /// The plan; empty with `--list`.
    pub fn plan(&self) -> &Path {
        self.plan.as_deref().unwrap_or(Path::new(""))
    }

    /// Fills in options from the plan that are not given on the command line.
    pub fn or(&mut self, plan: Self) {
        self.run.options = take(&mut self.run.options).or(plan.run.options);
        self.reasons = take(&mut self.reasons).or(plan.reasons);
    }

    /// Arguments for running the same plan in a guest.
    pub fn in_guest(&self) -> Vec<String> {
        let mut arguments = vec!["run".to_owned(), self.plan().display().to_string(), "--here".to_owned()];
        arguments.extend(self.extent.arguments.iter().chain(&self.run.arguments).cloned());
        if self.reasons.why {
            arguments.extend(["--why".to_owned(), format!("--tracer={}", self.reasons.tracer)]);
            arguments.extend(self.reasons.late_above.map(|above| format!("--late-above={above}")));
        }
        arguments
    }

    /// The recording's path.
    pub fn recording(&self) -> PathBuf {
        let by_plan = || PathBuf::from(self.plan().file_stem().unwrap_or_default()).with_extension("jsonl");
        self.output.out.clone().unwrap_or_else(by_plan)
    }
}
