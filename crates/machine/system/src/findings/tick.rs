//! How often the kernel's tick comes.

use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::Root;

use super::draft::finding;
use crate::kernel_config::KernelConfig;

const WHY: &str = "Sleeps do not wait for the tick where timers have a high resolution. Scheduling \
    slices and the kernel's own timeouts do, and each tick interrupts a busy CPU.";

pub(super) fn examine(root: &Root) -> Option<Finding> {
    let config = KernelConfig::read(root);
    let seen = config.only(&["CONFIG_HZ"]);
    let Some(hz) = config.value("CONFIG_HZ").and_then(|hz| hz.parse::<u32>().ok()).filter(|hz| *hz > 0)
    else {
        let draft = finding(FindingId::Tick, Verdict::Unknown, "how often the tick comes could not be read");
        return Some(draft.seen(&seen).why(WHY).end());
    };
    let found = format!("the tick comes {hz} times a second, every {:.2} ms", 1000.0 / f64::from(hz));
    Some(finding(FindingId::Tick, Verdict::Note, found).seen(&seen).why(WHY).end())
}
