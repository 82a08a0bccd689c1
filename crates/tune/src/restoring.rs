//! `howlate tune --restore`

use howlate_model::Caveat;
use howlate_render as render;

use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;

/// Puts back what a howlate left that was killed together with its guardian, and says what that was.
pub(super) fn restore(is_json: bool) -> Result<Status, Error> {
    let found = howlate_guard::restore()?;
    let is_whole = !found.iter().any(is_left);
    let text =
        if is_json { render::tune_restored_json(&found, is_whole)? } else { render::tune_restored(&found) };
    terminal::print_or_json(&text, is_json)?;
    Ok(if is_whole { Status::Done } else { Status::NotTrustworthy })
}

const fn is_left(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::SettingNotRestored { .. } | Caveat::GroupNotRemoved { .. })
}
