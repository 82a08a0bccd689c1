//! The clock source: the hardware counter behind clock reads.

use crate::settings::{
    AVAILABLE_CLOCKSOURCES, CURRENT_CLOCKSOURCE, first_read_in_user_space, is_read_in_user_space,
};
use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::Root;

use super::draft::{FindingDraft, finding};

/// Clock sources in devices: each read crosses a bus.
const SLOW: [&str; 5] = ["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"];

const WHY: &str = "Every reading of the clock reads this counter. One in a device is slow, and \
    cannot be read without entering the kernel.";

pub(super) fn examine(root: &Root) -> Option<Finding> {
    let (current, available) = (root.reading(CURRENT_CLOCKSOURCE), root.reading(AVAILABLE_CLOCKSOURCES));
    let Some(name) = current.text() else {
        let draft = finding(FindingId::Clocksource, Verdict::Unknown, "the clock source could not be read");
        return Some(draft.evidence(&current).why(WHY).finish());
    };
    let verdict = verdict(name);
    let draft = finding(FindingId::Clocksource, verdict, format!("the clock source is {name}"));
    let draft = draft.evidence(&current).evidence(&available).why(WHY);
    let names = available.text().unwrap_or_default();
    let fast = first_read_in_user_space(names);
    Some(draft.when(verdict == Verdict::Costs, |draft| add_remedy(root, draft, fast)).finish())
}

fn add_remedy(root: &Root, draft: FindingDraft, fast: Option<&str>) -> FindingDraft {
    let draft = draft.cost(
        "0.72 µs for a reading from acpi_pm, 0.036 µs from tsc",
        "PostgreSQL documentation, pg_test_timing, on an i7-860",
    );
    match fast {
        Some(_) => draft.setting(root, "clocksource"),
        None => draft
            .apply(
                "find out why the kernel dropped the TSC: `sudo dmesg | grep -iE 'tsc|clocksource'`",
            )
            .apply(
                "where it speaks of `TSC warps`, or of CPUs that are not synchronised, leave it: time would go back; only where \
                 the watchdog found its own clock slow to read, start with `tsc=nowatchdog`",
            )
            .undo("start without `tsc=nowatchdog`"),
    }
}

fn verdict(name: &str) -> Verdict {
    if is_read_in_user_space(name) {
        Verdict::Good
    } else if SLOW.contains(&name) {
        Verdict::Costs
    } else {
        Verdict::Note
    }
}
