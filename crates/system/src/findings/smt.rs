//! Whether two CPUs share a core.

use howlate_knobs::smt::CONTROL;
use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::Root;

use super::draft::finding;

pub(super) fn examine(root: &Root) -> Option<Finding> {
    let active = root.reading("/sys/devices/system/cpu/smt/active");
    let control = root.reading(CONTROL);
    let shared = active.text()? == "1";
    // A machine that cannot share its cores has nothing to report.
    if !shared && control.text() != Some("off") {
        return None;
    }
    let found = if shared {
        "every core is shared by two or more CPUs"
    } else {
        "no core is shared: SMT is switched off"
    };
    let verdict = if shared { Verdict::Note } else { Verdict::Good };
    let draft = finding(FindingId::Smt, verdict, found).seen(&active).seen(&control).why(
        "CPUs of one core compete for its caches and execution units. Keep the sibling of a real-time CPU idle, or \
            switch sharing off.",
    );
    let switchable = shared && control.text() == Some("on");
    Some(draft.when(switchable, |draft| draft.turn(root, "smt")).end())
}
