//! What was put back after a howlate that was killed.

use howlate_model::Caveat;

use super::json::{FORMAT, PutBack};
use crate::caveats::caveat;

/// What was found, one line each.
pub fn tune_restored(found: &[Caveat]) -> String {
    if found.is_empty() {
        return "No changed settings were left behind.\n".to_owned();
    }
    found.iter().map(|one| line(one) + "\n").collect()
}

fn line(found: &Caveat) -> String {
    match found {
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

/// The same for machines.
pub fn tune_restored_json(found: &[Caveat], restored: bool) -> serde_json::Result<String> {
    let document = PutBack {
        format: FORMAT,
        howlate: env!("CARGO_PKG_VERSION"),
        command: "tune",
        restored,
        caveats: found.iter().map(line).collect(),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
