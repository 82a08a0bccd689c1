//! The counter behind every reading of the clock.

use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::Root;

use super::draft::{Draft, finding};

const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const AVAILABLE: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

/// Counters that user space reads without entering the kernel.
///
/// Source: `vdso(7)` and each architecture's `asm/vdso/clocksource.h`.
const QUICK: [&str; 6] =
    ["tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "riscv_clocksource", "timebase"];

/// Counters in a device, each read of which crosses a bus.
const SLOW: [&str; 5] = ["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"];

const WHY: &str = "Every reading of the clock reads this counter. One in a device is slow, and \
    cannot be read without entering the kernel.";

pub(super) fn examine(root: &Root) -> Option<Finding> {
    let (current, available) = (root.reading(CURRENT), root.reading(AVAILABLE));
    let Some(name) = current.text() else {
        let draft = finding(FindingId::Clocksource, Verdict::Unknown, "the clock source could not be read");
        return Some(draft.seen(&current).why(WHY).end());
    };
    let verdict = verdict(name);
    let draft = finding(FindingId::Clocksource, verdict, format!("the clock source is {name}"));
    let draft = draft.seen(&current).seen(&available).why(WHY);
    let names = available.text().unwrap_or_default();
    let quick = names.split_whitespace().find(|name| QUICK.contains(name));
    Some(draft.when(verdict == Verdict::Costs, |draft| mend(root, draft, quick)).end())
}

fn mend(root: &Root, draft: Draft, quick: Option<&str>) -> Draft {
    let draft = draft.typically(
        "0.72 µs for a reading from acpi_pm, 0.036 µs from tsc",
        "PostgreSQL documentation, pg_test_timing, on an i7-860",
    );
    match quick {
        Some(_) => draft.turn(root, "clocksource"),
        None => draft
            .apply(
                "find out with `sudo dmesg | grep -iE 'tsc|clocksource'` why the kernel dropped the \
                TSC; if it is reliable, add `tsc=reliable` to the kernel's command line and restart",
            )
            .undo("remove `tsc=reliable` from the kernel's command line and restart"),
    }
}

fn verdict(name: &str) -> Verdict {
    if QUICK.contains(&name) {
        Verdict::Good
    } else if SLOW.contains(&name) {
        Verdict::Costs
    } else {
        Verdict::Note
    }
}
