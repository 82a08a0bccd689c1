//! `howlate doctor`: checks settings that affect latency.

use howlate_model::Finding;
use howlate_procfs::Root;
use howlate_recording::most_recent;
use howlate_render::{Detail, LastRun, findings, legible_value, machine, wrapped};
use howlate_system::{describe, examine};

use super::reading::{TextMode, analysis};
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::terminal;
use howlate_cli::DoctorArgs;

pub(crate) fn run(args: &DoctorArgs) -> Result<ExitStatus, Error> {
    if let Some(folder) = args.root.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Error::NoFolder(folder.clone()));
    }
    let root = args.root.as_ref().map_or_else(Root::live, Root::at);
    let mut found = examine(&root);
    if args.root.is_none() {
        found.splice(0..0, howlate_guard::leftover_finding(&howlate_guard::leftovers()));
    }
    let last = if args.root.is_none() { measured_last(&found) } else { None };
    let text = if args.json {
        json(&root, &found, last.as_ref())?
    } else {
        let (system, found) = (legible_value(describe(&root))?, legible_value(found)?);
        let detail = if args.details { Detail::Full } else { Detail::Brief };
        let width = terminal::width();
        let last =
            last.map_or_else(String::new, |last| format!("\n{}\n", wrapped(&last.in_words(), width, 0)));
        format!("{}\n\n{}{last}", wrapped(&machine(&system), width, 0), findings(&found, width, detail))
    };
    terminal::print_or_json(&text, args.json)?;
    Ok(ExitStatus::Done)
}

fn json(root: &Root, found: &[Finding], last: Option<&LastRun>) -> Result<String, Error> {
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

/// The findings that bear on the latest run; `None` where there is no run, or it cannot be read.
fn measured_last(findings: &[Finding]) -> Option<LastRun> {
    let analysis = analysis(&most_recent()?, TextMode::Legible).ok()?;
    Some(LastRun::new(&analysis, findings))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use howlate_analyse::Analysis;
    use howlate_model::{FindingId, Remedy, Verdict};

    use super::*;

    fn watch_recording() -> Analysis {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/recordings/v1/watch.jsonl");
        analysis(&path, TextMode::Legible).unwrap()
    }

    fn finding(id: FindingId, verdict: Verdict) -> Finding {
        let remedy = Some(Remedy { apply: vec!["do it".to_owned()], undo: vec![], ..Remedy::default() });
        let (found, why) = ("found".to_owned(), String::new());
        Finding { id, verdict, found, evidence: vec![], why, cost: None, remedy }
    }

    #[test]
    fn findings_that_bear_on_a_watched_program_are_named_with_their_share() {
        let priority = finding(FindingId::RealtimePermission, Verdict::Good);
        let swap = finding(FindingId::Swap, Verdict::Costs);
        let last = LastRun::new(&watch_recording(), &[swap, priority]);
        let json = last.json();
        assert_eq!(json["traced"], true);
        let bears_on = json["bears_on"].as_array().unwrap();
        assert!(bears_on.iter().all(|cause| cause["finding"] == "realtime_permission"), "{json}");
        let share = bears_on[0]["share"].as_f64().unwrap();
        assert!(share > 0.0 && share <= 1.0, "{json}");
        assert!(last.in_words().contains("realtime_permission"), "{}", last.in_words());
        let none = LastRun::new(&watch_recording(), &[]);
        assert!(
            none.in_words().ends_with("none of these findings had to do with what made its wake-ups late.")
        );
    }
}
