//! What doctor says to type on this machine, typed by a shell, and undone.

use std::process::Command;

use howlate_model::{Finding, Verdict};
use howlate_procfs::{Root, Status};
use howlate_system::examine;
use howlate_testing::skip;

/// Findings whose remedies take nothing from anybody for a moment.
const HARMLESS: [&str; 6] = [
    "numa_balancing",
    "pcie_link_power",
    "same_page_merging",
    "transparent_huge_pages",
    "usb_power",
    "watchdogs",
];

fn found(id: &str) -> Option<Finding> {
    examine(&Root::live()).into_iter().find(|one| one.id.name() == id)
}

fn typed(steps: &[String]) {
    for step in steps {
        let output = Command::new("sh").args(["-c", step]).output().expect("a shell");
        assert!(output.status.success(), "{step}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn what_is_typed_mends_what_was_found_and_undone_it_is_as_before() {
    if Status::read_own(&Root::live()).effective_user() != Some(0) {
        return skip("only root may type it");
    }
    let mut tried = 0;
    for id in HARMLESS {
        let Some(before) = found(id).filter(|one| one.verdict != Verdict::Good) else { continue };
        let Some(remedy) = before.remedy.clone() else { continue };
        typed(&remedy.apply);
        let mended = found(id);
        typed(&remedy.undo);
        assert!(mended.as_ref().is_none_or(|one| one.verdict == Verdict::Good), "{id}: {mended:?}");
        assert_eq!(found(id), Some(before), "{id}");
        tried += 1;
    }
    if tried == 0 {
        skip("nothing that was found here can be mended without harm");
    }
}
