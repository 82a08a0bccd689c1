//! `howlate tune --restore`: what was restored after a killed run.

use howlate_model::Caveat;

use super::json::{FORMAT, PutBackDocument};
use crate::caveats::caveat;

/// One line per restored setting.
pub fn tune_restored(leftovers: &[Caveat]) -> String {
    if leftovers.is_empty() {
        return "No changed settings were left behind.\n".to_owned();
    }
    leftovers.iter().map(|leftover| line(leftover) + "\n").collect()
}

fn line(leftover: &Caveat) -> String {
    match leftover {
        Caveat::SettingLeftBehind { path, left, restored } => {
            format!("{path} was left at `{left}`, and holds `{restored}` again.")
        }
        Caveat::GroupLeftBehind { path } => format!("The control group {path} was left, and is removed."),
        Caveat::SettingChanged { path, found, .. } => {
            format!("{path} is `{found}`, set by another program since: left as it is.")
        }
        other => caveat(other),
    }
}

/// The JSON output of `howlate tune --restore`.
pub fn tune_restored_json(leftovers: &[Caveat], restored: bool) -> serde_json::Result<String> {
    let document = PutBackDocument {
        format: FORMAT,
        howlate: env!("CARGO_PKG_VERSION"),
        command: "tune",
        restored,
        caveats: leftovers.iter().map(line).collect(),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
