//! Which settings helped, for people and for machines.

mod json;
mod listing;
mod text;
mod words;

use howlate_analyse::Analysis;
use howlate_analyse::compare::{Arm, Level, Statistic, Tested, Verdict};
use howlate_model::{Condition, Span};
use serde::Serialize;

pub use json::tune_json;
pub use listing::{Listed, tune_listing, tune_listing_json};
pub use text::tune_text;

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
}

/// A setting.
#[derive(Clone, Debug)]
pub struct TuneRow {
    /// Its name.
    pub knob: &'static str,
    /// `thread`, `machine` or `boot`.
    pub scope: &'static str,
    /// What it does.
    pub what: &'static str,
    /// What it was.
    pub from: String,
    /// What was tried.
    pub to: String,
    /// What became of it.
    pub fate: Fate,
    /// What was found.
    pub tested: Vec<Tested>,
    /// Whether it is in the set that helped.
    pub recommended: bool,
    /// What it costs others.
    pub cost: &'static str,
    /// How it is had for good.
    pub permanent: Vec<PermanentWay>,
}

/// What became of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was tried.
    Tried,
    /// It was not asked for.
    NotAsked,
    /// It is so already.
    InForce,
    /// There is no such thing here.
    Absent(String),
    /// This process may not.
    NotPermitted(String),
    /// It takes a restart.
    BootOnly,
    /// It is never tried.
    NotTried(String),
    /// It was tried in vain, or not to the end.
    Failed(String),
}

impl Fate {
    /// Its name in JSON.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Tried => "tried",
            Self::NotAsked => "not_asked",
            Self::InForce => "in_force",
            Self::Absent(_) => "absent",
            Self::NotPermitted(_) => "not_permitted",
            Self::BootOnly => "boot_only",
            Self::NotTried(_) => "not_tried",
            Self::Failed(_) => "failed",
        }
    }

    /// Why it was not tried.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Tried => None,
            Self::NotAsked => Some("it was not asked for"),
            Self::InForce => Some("it is so already"),
            Self::BootOnly => Some("it takes a restart"),
            Self::Absent(reason)
            | Self::NotPermitted(reason)
            | Self::NotTried(reason)
            | Self::Failed(reason) => Some(reason),
        }
    }
}

/// One way to have a setting for good.
#[derive(Clone, Debug, Serialize)]
pub struct PermanentWay {
    /// `systemd`, `sysctl.d`, `tmpfiles.d`, `boot`, `C`, `Rust`, `Python`, `shell`.
    pub by: &'static str,
    /// What to type or to write.
    pub apply: String,
    /// What takes it back.
    pub undo: String,
}

/// What a set of settings came to on turns of its own.
#[derive(Clone, Debug)]
pub struct Confirmed {
    /// The settings.
    pub knobs: Vec<String>,
    /// Each number of a turn.
    pub numbers: Vec<ConfirmedNumber>,
}

/// One number before and after.
#[derive(Clone, Debug, Serialize)]
pub struct ConfirmedNumber {
    /// Which.
    #[serde(skip)]
    pub statistic: Statistic,
    /// Of the baseline.
    pub before: Level,
    /// Of the set.
    pub after: Level,
    /// The difference, and what is said of it.
    #[serde(flatten)]
    pub tested: Tested,
}

impl TuneReport<'_> {
    /// The rows that were tried.
    fn tried(&self) -> impl Iterator<Item = &TuneRow> {
        self.rows.iter().filter(|row| row.fate == Fate::Tried)
    }

    /// The names of those that are recommended: of a set that was confirmed.
    fn recommended(&self) -> Vec<&str> {
        self.rows.iter().filter(|row| row.recommended).map(|row| row.knob).collect()
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
