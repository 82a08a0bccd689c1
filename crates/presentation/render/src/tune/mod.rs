//! Which settings helped, for people and for machines.

mod forest;
mod json;
mod listing;
mod restored;
mod setting;
mod text;
mod words;

use howlate_analyse::Analysis;
use howlate_analyse::compare::{Arm, Statistic, StatisticLevel, Tested, Verdict};
use howlate_model::{Activation, Condition, Span};
use schemars::JsonSchema;
use serde::Serialize;

pub use json::{tune_json, tune_schema};
pub use listing::{tune_announcement, tune_listing, tune_listing_json};
pub use restored::{tune_restored, tune_restored_json};
pub use setting::{Fate, Listed};
pub use text::tune_text;
pub use words::tune_takes;

/// What trying settings came to.
#[derive(Clone, Debug)]
pub struct TuneReport<'a> {
    /// The condition that they were tried on, of the first thread.
    pub baseline: &'a Condition,
    /// Everything else that is known of the run.
    pub analysis: &'a Analysis,
    /// The number by which settings were judged first.
    pub goal: Statistic,
    /// Confidence of all statements about single settings together.
    pub confidence: f64,
    /// The baseline against itself; `None` where that was not done to the end.
    pub self_test: Option<&'a Arm>,
    /// Every setting that there is, in the order in which they are listed.
    pub rows: Vec<TuneRow>,
    /// The set that helped, on turns of its own.
    pub confirmed: Option<Confirmed>,
    /// The budget that it would take, where there was too little.
    pub needs: Option<Span>,
    /// What the files of the machine hold that were written for settings; `None` where none was.
    pub left: Option<Vec<Unrestored>>,
    /// The program that they were tried on from outside; `None` where it was howlate's own threads.
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

/// A setting, and what was found.
#[derive(Clone, Debug)]
pub struct TuneRow {
    /// The setting, and what became of it.
    pub setting: Listed,
    /// What was found.
    pub tested: Vec<Tested>,
    /// Whether it is in the set that helped.
    pub recommended: bool,
    /// Files that it was tried without, because they could not be had, each with the reason.
    pub without: Vec<String>,
}

/// What a set of settings came to on turns of its own.
#[derive(Clone, Debug)]
pub struct Confirmed {
    /// The settings that were changed together.
    pub knobs: Vec<String>,
    /// Each number of a turn.
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
    /// The rows that were tried.
    fn tried(&self) -> impl Iterator<Item = &TuneRow> {
        self.rows.iter().filter(|row| row.setting.fate == Fate::Tried)
    }

    /// The names of those that are recommended: of a set that was confirmed.
    fn recommended(&self) -> Vec<&str> {
        self.rows.iter().filter(|row| row.recommended).map(|row| row.setting.knob).collect()
    }

    /// The number that is promised: the one that mattered, if it is better, or else another that is.
    fn promised(&self) -> Option<&ConfirmedNumber> {
        let numbers = &self.confirmed.as_ref()?.numbers;
        let better = |one: &&ConfirmedNumber| one.tested.verdict == Verdict::Better;
        numbers
            .iter()
            .filter(better)
            .find(|one| one.statistic == self.goal)
            .or_else(|| numbers.iter().find(better))
    }
}
