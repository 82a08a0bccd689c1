//! Applies remedies of this machine in a shell, and undoes them.

use std::process::Command;

use howlate_model::{Finding, Verdict};
use howlate_procfs::{Root, Status};
use howlate_system::examine;
use howlate_testing::skip;

/// Findings whose remedies do no harm to the machine when applied for a moment.
const HARMLESS: [&str; 6] = [
    "numa_balancing",
    "pcie_link_power",
    "same_page_merging",
    "transparent_huge_pages",
    "usb_power",
    "watchdogs",
];

fn finding(id: &str) -> Option<Finding> {
    examine(&Root::live()).into_iter().find(|finding| finding.id.name() == id)
}

fn run_steps(steps: &[String]) {
    for step in steps {
        let output = Command::new("sh").args(["-c", step]).output().expect("a shell");
        assert!(output.status.success(), "{step}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_remedy_fixes_its_finding_and_undoing_restores_it() {
    if Status::read_own(&Root::live()).effective_user() != Some(0) {
        return skip("only root may type it");
    }
    let mut tried = 0;
    for id in HARMLESS {
        let Some(before) = finding(id).filter(|finding| finding.verdict != Verdict::Good) else { continue };
        let Some(remedy) = before.remedy.clone() else { continue };
        run_steps(&remedy.apply);
        let mended = finding(id);
        run_steps(&remedy.undo);
        assert!(mended.as_ref().is_none_or(|finding| finding.verdict == Verdict::Good), "{id}: {mended:?}");
        assert_eq!(finding(id), Some(before), "{id}");
        tried += 1;
    }
    if tried == 0 {
        skip("nothing that was found here can be mended without harm");
    }
}
