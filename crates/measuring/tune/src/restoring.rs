//! Settings that a howlate has left changed that was killed together with its guardian.

use howlate_model::Caveat;

use crate::error::TuneError;

/// What was found of such settings.
#[derive(Clone, Debug)]
pub struct Restored {
    /// What became of each.
    pub caveats: Vec<Caveat>,
}

/// Puts them back.
///
/// # Errors
///
/// When another howlate is at work, or the journal cannot be read.
pub fn restore() -> Result<Restored, TuneError> {
    Ok(Restored { caveats: howlate_guard::restore()? })
}

impl Restored {
    /// Whether none is left changed.
    pub fn is_whole(&self) -> bool {
        !self.caveats.iter().any(is_left)
    }
}

const fn is_left(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::SettingNotRestored { .. } | Caveat::GroupNotRemoved { .. })
}
