//! What the measuring process and the guardian say to each other: a line of JSON each.

use howlate_model::Caveat;
use serde::{Deserialize, Serialize};

use crate::saved_setting::SavedSetting;

/// What a guardian is told.
#[derive(Serialize, Deserialize)]
pub(crate) enum Order {
    /// About to be changed.
    Remember(SavedSetting),
    /// It was changed, and holds this: whoever changes it from now on keeps what he has set.
    Lend(u32, String),
    /// To be taken back now.
    Undo(Vec<u32>),
}

/// What a guardian answers.
#[derive(Serialize, Deserialize)]
pub(crate) enum Answer {
    Remembered,
    /// It cannot be written down, so it must not be changed.
    NotRemembered(String),
    /// All that was to be taken back is, but these.
    Undone(Vec<Caveat>),
}
