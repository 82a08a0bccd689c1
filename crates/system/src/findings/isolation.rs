//! CPUs that the scheduler and the tick leave alone.

use howlate_model::{CpuSet, Finding, FindingId, Verdict};
use howlate_procfs::{CommandLine, Reading, Root, list_of_cpus};

use super::draft::finding;

pub(super) const ISOLATED: &str = "/sys/devices/system/cpu/isolated";
const TICKLESS: &str = "/sys/devices/system/cpu/nohz_full";
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// A list of CPUs; some kernels write `(null)` for an empty one.
pub(super) fn cpus(list: &Reading) -> Option<CpuSet> {
    list.text()?.trim_matches(['(', ')']).replace("null", "").parse().ok()
}

/// The CPUs that the scheduler leaves alone; none where the kernel does not say.
pub(crate) fn isolated_cpus(root: &Root) -> CpuSet {
    cpus(&root.reading(ISOLATED)).unwrap_or_default()
}

/// CPUs on which nothing runs that was not put there.
pub(super) fn isolated(root: &Root) -> Option<Finding> {
    let reading = root.reading(ISOLATED);
    let online = list_of_cpus(root, ONLINE);
    let isolated = cpus(&reading).filter(|_| online.len() > 1)?;
    let none = isolated.is_empty();
    let found = if none {
        "no CPU is isolated".to_owned()
    } else {
        format!("isolated CPUs: {isolated}; measure there with `--cpus {isolated}`")
    };
    let verdict = if none { Verdict::Note } else { Verdict::Good };
    let draft = finding(FindingId::IsolatedCpus, verdict, found)
        .seen(&reading)
        .seen(&CommandLine::read(root).only(&["isolcpus"]))
        .why(
            "The scheduler does not move threads to an isolated CPU. Threads bound to one have it \
            almost to themselves.",
        );
    Some(draft.when(none, |draft| draft.turn(root, "isolcpus")).end())
}

/// CPUs whose tick stops while a single thread runs.
pub(super) fn tickless(root: &Root) -> Option<Finding> {
    let reading = root.reading(TICKLESS);
    let online = list_of_cpus(root, ONLINE);
    let tickless = cpus(&reading).filter(|_| online.len() > 1)?;
    let line = CommandLine::read(root);
    let none = tickless.is_empty();
    let found = if none {
        "every CPU ticks while it is busy".to_owned()
    } else {
        format!("CPUs without a tick (nohz_full): {tickless}")
    };
    let verdict = if none { Verdict::Note } else { Verdict::Good };
    let draft = finding(FindingId::NohzFull, verdict, found)
        .seen(&reading)
        .seen(&line.only(&["nohz_full", "rcu_nocbs"]))
        .why(
            "The tick interrupts a thread that computes or spins, and each interrupt takes time. \
            Threads that mostly sleep gain little.",
        );
    Some(draft.when(none, |draft| draft.turn(root, "nohz_full")).end())
}
