//! `howlate snap`: requests a timeline from a running recorder.

use std::path::Path;

use serde_json::json;

use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::terminal;
use howlate_cli::SnapArgs;

pub(crate) fn run(args: &SnapArgs) -> Result<ExitStatus, Error> {
    let file = howlate_blackbox::snap(&args.folder)?;
    let text = if args.json { json(&file)? } else { format!("{}\n", file.display()) };
    terminal::print_or_json(&text, args.json)?;
    Ok(ExitStatus::Done)
}

fn json(file: &Path) -> Result<String, serde_json::Error> {
    let document = json!({"format": 1, "howlate": env!("CARGO_PKG_VERSION"), "command": "snap", "file": file.display().to_string()});
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
