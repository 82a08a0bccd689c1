//! `howlate doctor`

mod measured_last;

use howlate_model::Finding;
use howlate_procfs::Root;
use howlate_render::{Detail, MeasuredLast, findings, legible_value, machine, wrapped};
use howlate_system::{describe, examine};

use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;
use howlate_cli::DoctorArgs;

pub(crate) fn run(asked: &DoctorArgs) -> Result<Status, Error> {
    if let Some(folder) = asked.root.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Error::NoFolder(folder.clone()));
    }
    let root = asked.root.as_ref().map_or_else(Root::live, Root::at);
    let mut found = examine(&root);
    if asked.root.is_none() {
        found.splice(0..0, howlate_guard::leftover_finding(&howlate_guard::leftovers()));
    }
    let last = if asked.root.is_none() { measured_last::find(&found) } else { None };
    let text = if asked.json {
        json(&root, &found, last.as_ref())?
    } else {
        let (system, found) = (legible_value(describe(&root))?, legible_value(found)?);
        let detail = if asked.verbose { Detail::Full } else { Detail::Brief };
        let width = terminal::width();
        let last =
            last.map_or_else(String::new, |last| format!("\n{}\n", wrapped(&last.in_words(), width, 0)));
        format!("{}\n\n{}{last}", wrapped(&machine(&system), width, 0), findings(&found, width, detail))
    };
    terminal::print_or_json(&text, asked.json)?;
    Ok(Status::Done)
}

fn json(root: &Root, found: &[Finding], last: Option<&MeasuredLast>) -> Result<String, Error> {
    let mut document = serde_json::json!({
        "format": 1,
        "howlate": env!("CARGO_PKG_VERSION"),
        "command": "doctor",
        "system": describe(root),
        "findings": found,
    });
    if let Some(last) = last {
        document["measured_last"] = last.json();
    }
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
