//! What is kept away from isolated CPUs by default: interrupts that come later, and the kernel's own threads.

use howlate_knobs::workqueue_cpus;
use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{CommandLine, Root, Status, list_of_cpus};

use super::draft::finding;
use super::isolation::isolated_cpus;

const DEFAULT: &str = "/proc/irq/default_smp_affinity";
/// `kthreadd`, from which every other thread of the kernel comes.
const FIRST_THREAD: u32 = 2;

/// Where interrupts go that a driver asks for later on. Of interest where CPUs are isolated.
///
/// Source: `Documentation/admin-guide/kernel-parameters.txt`, `irqaffinity=`.
pub(super) fn new_interrupts(root: &Root) -> Option<Finding> {
    let isolated = isolated_cpus(root);
    let (default, line) = (root.reading(DEFAULT), CommandLine::read(root));
    let text = default.text().filter(|_| !isolated.is_empty())?;
    let meets = isolated.iter().any(|cpu| is_in_mask(text, cpu));
    let others = list_of_cpus(root, "/sys/devices/system/cpu/online").without(&isolated);
    let found = if meets {
        format!("interrupts that a driver asks for later may go to the isolated CPUs {isolated} as well")
    } else {
        format!("interrupts that a driver asks for later stay away from the isolated CPUs {isolated}")
    };
    let verdict = if meets { Verdict::Costs } else { Verdict::Good };
    let draft = finding(FindingId::DefaultInterruptAffinity, verdict, found)
        .seen(&default)
        .seen(&line.only(&["irqaffinity"]))
        .why(
            "Moving the interrupts that there are does not hold for those of a device that is plugged in, or of a driver that is \
             loaded again.",
        );
    Some(draft.when(meets, |draft| draft.boot(&format!("irqaffinity={others}"))).end())
}

/// Whether threads of the kernel may run on isolated CPUs.
///
/// Source: `Documentation/core-api/workqueue.rst`; `kthread_cpus=` is a parameter of some distributions' kernels, such as
/// StarlingX's.
pub(super) fn threads(root: &Root) -> Option<Finding> {
    let isolated = isolated_cpus(root);
    if isolated.is_empty() {
        return None;
    }
    let status = Status::read(root, FIRST_THREAD);
    let allowed = status.evidence("Cpus_allowed_list");
    let cpus: howlate_model::CpuSet = allowed.text()?.rsplit([':', '\t', ' ']).next()?.parse().ok()?;
    let workqueues = root.reading(workqueue_cpus::FILE);
    let by_threads = isolated.iter().any(|cpu| cpus.contains(cpu));
    let by_work = workqueues.text().is_some_and(|mask| isolated.iter().any(|cpu| is_in_mask(mask, cpu)));
    let found = match (by_threads, by_work) {
        (false, false) => format!("the kernel's own threads stay away from the isolated CPUs {isolated}"),
        (true, false) => format!("the kernel's own threads may run on the isolated CPUs {isolated}"),
        (false, true) => format!("the kernel's deferred work may run on the isolated CPUs {isolated}"),
        (true, true) => {
            format!("the kernel's own threads and its deferred work may run on the isolated CPUs {isolated}")
        }
    };
    let verdict = if by_threads || by_work { Verdict::Costs } else { Verdict::Good };
    let draft = finding(FindingId::KernelThreads, verdict, found)
        .seen(&allowed)
        .seen(&workqueues)
        .seen(&CommandLine::read(root).only(&["kthread_cpus", "nohz_full", "isolcpus"]))
        .why(
            "`isolcpus=` keeps programs away, not the kernel's own threads and deferred work that are bound to no CPU; an ordinary \
             thread waits for them, a real-time one for those that are real-time as well.",
        );
    let others = list_of_cpus(root, "/sys/devices/system/cpu/online").without(&isolated);
    let draft = draft.when(by_threads, |draft| {
        draft.apply(format!(
            "for p in $(pgrep -P {FIRST_THREAD}); do sudo taskset -acp {others} $p; done   # those bound to a CPU refuse"
        ))
        .undo("restart the machine")
    });
    Some(draft.when(by_work, |draft| draft.turn(root, "workqueue_cpus")).end())
}

/// Whether a mask of the kernel, `ffffffff,0000000c`, has this CPU.
fn is_in_mask(mask: &str, cpu: u32) -> bool {
    let word = mask.trim().rsplit(',').nth((cpu / 32) as usize);
    word.and_then(|word| u32::from_str_radix(word, 16).ok()).is_some_and(|word| word >> (cpu % 32) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_read_from_their_end() {
        assert!(is_in_mask("c", 2) && is_in_mask("1,00000000", 32) && is_in_mask("ff\n", 7));
        assert!(!is_in_mask("c", 0) && !is_in_mask("c", 40) && !is_in_mask("", 0));
    }
}
