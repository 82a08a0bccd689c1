//! Results of `howlate tune`, as text and JSON.

mod forest;
mod json;
mod listing;
mod restored;
mod setting;
mod text;
mod wording;

use howlate_analyse::Analysis;
use howlate_analyse::compare::{Arm, Statistic, StatisticLevel, Tested, Verdict};
use howlate_model::{Activation, Condition, Span};
use schemars::JsonSchema;
use serde::Serialize;

pub use json::{tune_json, tune_schema};
pub use listing::{tune_announcement, tune_listing, tune_listing_json};
pub use restored::{tune_restored, tune_restored_json};
pub use setting::{SettingTrial, TrialStatus};
pub use text::tune_text;
pub use wording::tune_takes;

/// Result of trying settings.
#[derive(Clone, Debug)]
pub struct TuneReport<'a> {
    /// The condition that settings were tried on, of the first thread.
    pub baseline: &'a Condition,
    /// The analysis of the run.
    pub analysis: &'a Analysis,
    /// The statistic by which settings are judged first.
    pub goal: Statistic,
    /// Confidence of all statements about single settings together.
    pub confidence: f64,
    /// The comparison of the baseline with itself; `None` where it was not finished.
    pub self_test: Option<&'a Arm>,
    /// All settings, in the order of the list.
    pub rows: Vec<TuneRow>,
    /// The set that helped, measured on turns of its own.
    pub confirmed: Option<ConfirmedSettings>,
    /// The budget that would be needed, where it was too short.
    pub needs: Option<Span>,
    /// Files that do not hold their previous value; `None` where none was written.
    pub left: Option<Vec<Unrestored>>,
    /// The program whose threads were changed; `None` for howlate's own threads.
    pub program: Option<TunedProgram>,
}

/// A program that settings were tried on from outside.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TunedProgram {
    /// What it is called.
    pub name: String,
    /// Its process id when it was tuned.
    pub pid: u32,
    /// How many of its threads were measured when it began.
    pub threads: usize,
    /// The names of threads that it was limited to: others of the program were neither measured nor changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chosen: Vec<String>,
    /// What made them run: wake-ups of these kinds are compared.
    pub compared: Vec<Activation>,
    /// How long a turn lasts, in nanoseconds.
    pub turn_ns: Span,
    /// About how many of those wake-ups come in a turn, as the first look has shown.
    pub wakeups_per_turn: u64,
}

/// A file that was written to, and does not hold what it held before.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Left")]
pub struct Unrestored {
    /// Path of the file that was written.
    pub path: String,
    /// What it held.
    pub before: String,
    /// What it holds, or why that cannot be read.
    pub now: String,
}

/// A setting with its result.
#[derive(Clone, Debug)]
pub struct TuneRow {
    /// The setting and its status.
    pub setting: SettingTrial,
    /// Comparison with and without the setting, per statistic.
    pub tested: Vec<Tested>,
    /// Whether it is in the set that helped.
    pub recommended: bool,
    /// Files that could not be written, each with the reason; the setting was tried without them.
    pub without: Vec<String>,
}

/// Result of a set of settings on turns of its own.
#[derive(Clone, Debug)]
pub struct ConfirmedSettings {
    /// The settings that were changed together.
    pub knobs: Vec<String>,
    /// One entry per statistic.
    pub numbers: Vec<ConfirmedNumber>,
}

/// One number before and after.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ConfirmedNumber {
    /// The figure, which the document names by its key.
    #[serde(skip)]
    pub statistic: Statistic,
    /// Of the baseline.
    pub before: StatisticLevel,
    /// Of the set.
    pub after: StatisticLevel,
    /// The difference, and what is said of it.
    #[serde(flatten)]
    pub tested: Tested,
}

impl TuneReport<'_> {
    /// The rows of settings that were tried.
    fn tried(&self) -> impl Iterator<Item = &TuneRow> {
        self.rows.iter().filter(|row| row.setting.status == TrialStatus::Tried)
    }

    /// Names of the recommended settings, which were confirmed as a set.
    fn recommended(&self) -> Vec<&str> {
        self.rows.iter().filter(|row| row.recommended).map(|row| row.setting.knob).collect()
    }

    /// The number in the answer: the goal, if it improved, otherwise another that did.
    fn promised(&self) -> Option<&ConfirmedNumber> {
        let numbers = &self.confirmed.as_ref()?.numbers;
        let better = |number: &&ConfirmedNumber| number.tested.verdict == Verdict::Better;
        numbers
            .iter()
            .filter(better)
            .find(|number| number.statistic == self.goal)
            .or_else(|| numbers.iter().find(better))
    }
}
