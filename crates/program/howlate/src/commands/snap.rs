//! `howlate snap`

use std::path::Path;

use serde_json::json;

use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;
use howlate_cli::SnapArgs;

pub(crate) fn run(asked: &SnapArgs) -> Result<Status, Error> {
    let file = howlate_blackbox::snap(&asked.folder)?;
    let text = if asked.json { json(&file)? } else { format!("{}\n", file.display()) };
    terminal::print_or_json(&text, asked.json)?;
    Ok(Status::Done)
}

fn json(file: &Path) -> Result<String, serde_json::Error> {
    let document = json!({"format": 1, "howlate": env!("CARGO_PKG_VERSION"), "command": "snap", "file": file.display().to_string()});
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
