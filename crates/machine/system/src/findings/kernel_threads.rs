//! What the kernel itself runs on isolated CPUs: new interrupts, its own threads and workqueues, received packets (RPS), RCU callbacks.

use crate::settings::RECEIVE_STEERING_FOLDER;
use crate::settings::{WORKQUEUE_CPUS_FILE, housekeeping};
use howlate_model::{CpuSet, Finding, FindingId, Verdict};
use howlate_procfs::{CommandLine, Isolation, ProcessStat, Reading, Root, Status, children};

use super::draft::{FindingDraft, finding};
use crate::kernel_config::KernelConfig;

const DEFAULT_AFFINITY_FILE: &str = "/proc/irq/default_smp_affinity";
/// The process id of `kthreadd`, the parent of every other kernel thread.
const KTHREADD: u32 = 2;

/// The CPUs of interrupts that a driver requests later; `None` without isolated CPUs.
///
/// Source: `Documentation/admin-guide/kernel-parameters.txt`, `irqaffinity=`.
pub(super) fn new_interrupts(root: &Root) -> Option<Finding> {
    let isolation = Isolation::read(root);
    let separated = isolation.separated();
    let (default, line) = (root.reading(DEFAULT_AFFINITY_FILE), CommandLine::read(root));
    let text = default.text().filter(|_| !separated.is_empty())?;
    let includes_separated = separated.iter().any(|cpu| is_in_mask(text, cpu));
    let (housekeeping_cpus, _) = housekeeping(root);
    let description = isolation.describe_separated();
    let found = if includes_separated {
        format!("interrupts that a driver asks for later may go to {description} as well")
    } else {
        format!("interrupts that a driver asks for later stay away from {description}")
    };
    let verdict = if includes_separated { Verdict::Costs } else { Verdict::Good };
    let draft = finding(FindingId::DefaultInterruptAffinity, verdict, found)
        .evidence(&default)
        .evidence(&line.only(&["irqaffinity"]))
        .why(
            "Moving the interrupts that there are does not hold for those of a device that is plugged in, or of a driver that is \
             loaded again.",
        );
    Some(
        draft
            .when(includes_separated, |draft| {
                draft.kernel_parameter(root, &format!("irqaffinity={housekeeping_cpus}"))
            })
            .finish(),
    )
}

/// A kernel thread whose affinity can be changed.
struct KernelThread {
    id: u32,
    name: String,
    cpus: CpuSet,
}

/// The movable kernel threads that may run on one of `separated`; `None` where kernel threads are not visible, as in a
/// container. The affinity of each is read: a new thread does not inherit that of `kthreadd`, but gets the CPUs outside of
/// `nohz_full=` (Linux commit 9cc5b8656892).
fn threads_on(root: &Root, separated: &CpuSet) -> Option<Vec<KernelThread>> {
    let is_visible = root.read(&format!("/proc/{KTHREADD}/comm")).as_deref() == Ok("kthreadd");
    let all = is_visible.then(|| children(root, KTHREADD)).filter(|all| !all.is_empty())?;
    let read = |id: u32| {
        ProcessStat::read(root, id).filter(ProcessStat::is_movable_kernel_thread)?;
        let status = Status::read(root, id);
        let name = status.field("Name").unwrap_or_default().to_owned();
        // The thread of an interrupt follows the affinity of the interrupt.
        (!name.starts_with("irq/")).then_some(())?;
        Some(KernelThread { id, name, cpus: status.cpus_allowed() })
    };
    let meets = |thread: &KernelThread| separated.iter().any(|cpu| thread.cpus.contains(cpu));
    Some(all.into_iter().filter_map(read).filter(meets).collect())
}

/// Whether threads of the kernel may run on isolated CPUs.
///
/// Source: `Documentation/core-api/workqueue.rst`; `Documentation/admin-guide/cpu-isolation.rst`.
pub(super) fn threads(root: &Root) -> Option<Finding> {
    let isolation = Isolation::read(root);
    let separated = isolation.separated();
    if separated.is_empty() {
        return None;
    }
    let workqueues = root.reading(WORKQUEUE_CPUS_FILE);
    let threads = threads_on(root, &separated);
    let (is_readable, threads) = (threads.is_some(), threads.unwrap_or_default());
    let deferred_work =
        workqueues.text().is_some_and(|mask| separated.iter().any(|cpu| is_in_mask(mask, cpu)));
    if !is_readable && workqueues.text().is_none() {
        return None;
    }
    let description = isolation.describe_separated();
    let which = describe(&threads);
    let found = match (threads.is_empty(), deferred_work) {
        (true, false) if is_readable => {
            format!("the kernel's own threads and its deferred work stay away from {description}")
        }
        (true, false) => format!("the kernel's deferred work stays away from {description}"),
        (false, false) => format!("{which} may run on {description}"),
        (true, true) => format!("the kernel's deferred work may run on {description}"),
        (false, true) => format!("{which} and the kernel's deferred work may run on {description}"),
    };
    let verdict = if threads.is_empty() && !deferred_work { Verdict::Good } else { Verdict::Costs };
    let draft = finding(FindingId::KernelThreads, verdict, found);
    let draft = threads.first().iter().fold(draft, |draft, thread| {
        draft.evidence(&Status::read(root, thread.id).evidence("Cpus_allowed_list"))
    });
    let draft = draft
        .evidence(&workqueues)
        .evidence(&CommandLine::read(root).only(&["kthread_cpus", "nohz_full", "isolcpus"]))
        .why(
            "`isolcpus=` keeps programs away, not the kernel's own threads and deferred work that are bound to no CPU; `nohz_full=` keeps \
             those away as well. A normal thread waits for them, a real-time one for those that are real-time as well.",
        );
    let draft = draft.when(!threads.is_empty(), |draft| move_away(root, draft, &threads));
    Some(draft.when(deferred_work, |draft| draft.setting(root, "workqueue_cpus")).finish())
}

/// `3 threads of the kernel (kauditd, kswapd0, oom_reaper)`.
fn describe(threads: &[KernelThread]) -> String {
    let first: Vec<&str> = threads.iter().take(3).map(|thread| thread.name.as_str()).collect();
    let more = if threads.len() > first.len() { ", …" } else { "" };
    let what = if threads.len() == 1 { "thread" } else { "threads" };
    format!("{} {what} of the kernel ({}{more})", threads.len(), first.join(", "))
}

/// Moves the threads to the house-keeping CPUs, and each back to its present CPUs.
fn move_away(root: &Root, draft: FindingDraft, threads: &[KernelThread]) -> FindingDraft {
    let (housekeeping_cpus, isolatable) = housekeeping(root);
    let taskset = |cpus: &str, ids: &[u32]| {
        if let [id] = ids {
            return format!("sudo taskset -pc {cpus} {id}");
        }
        let ids = ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        format!("for p in {ids}; do sudo taskset -pc {cpus} $p; done")
    };
    let all: Vec<u32> = threads.iter().map(|thread| thread.id).collect();
    let mut before: Vec<(String, Vec<u32>)> = Vec::new();
    for thread in threads {
        let cpus = thread.cpus.to_string();
        match before.iter_mut().find(|(before_cpus, _)| *before_cpus == cpus) {
            Some((_, ids)) => ids.push(thread.id),
            None => before.push((cpus, vec![thread.id])),
        }
    }
    let draft = draft.apply(taskset(&housekeeping_cpus.to_string(), &all));
    let draft = before.iter().fold(draft, |draft, (cpus, ids)| draft.undo(taskset(cpus, ids)));
    if KernelConfig::read(root).is_off("CONFIG_NO_HZ_FULL") {
        return draft;
    }
    let boot_commands = crate::settings::boot_remedy(root, &format!("nohz_full={isolatable}")).apply;
    boot_commands.into_iter().fold(draft, FindingDraft::lasting)
}

/// Whether receive packet steering sends packets to isolated CPUs.
///
/// Source: Documentation/networking/scaling.rst, "RPS".
pub(super) fn packets(root: &Root) -> Option<Finding> {
    let isolation = Isolation::read(root);
    let separated = isolation.separated();
    let queues = |card: String| {
        let queues = root
            .list(&format!("{RECEIVE_STEERING_FOLDER}/{card}/queues"))
            .into_iter()
            .filter(|name| name.starts_with("rx-"));
        queues
            .map(|queue| root.reading(format!("{RECEIVE_STEERING_FOLDER}/{card}/queues/{queue}/rps_cpus")))
            .collect::<Vec<_>>()
    };
    let meets = |reading: &Reading| {
        reading.text().is_some_and(|mask| separated.iter().any(|cpu| is_in_mask(mask, cpu)))
    };
    let steered =
        root.list(RECEIVE_STEERING_FOLDER).into_iter().flat_map(queues).filter(meets).collect::<Vec<_>>();
    let first = steered.first()?;
    let found = format!(
        "packets of {} are handled on {} as well",
        describe_queues(steered.len()),
        isolation.describe_separated()
    );
    let draft = finding(FindingId::ReceiveSteering, Verdict::Costs, found).evidence(first).why(
        "A CPU that got a packet's interrupt hands the packet on to those of this mask, which handle it in a softirq, ahead of their threads.",
    );
    Some(draft.setting(root, "receive_steering").finish())
}

fn describe_queues(queues: usize) -> String {
    if queues == 1 {
        "one queue of a network card".to_owned()
    } else {
        format!("{queues} queues of network cards")
    }
}

/// Whether RCU callbacks run on isolated CPUs. Those of CPUs in `rcu_nocbs=` and `nohz_full=` are offloaded to threads.
///
/// Source: Documentation/admin-guide/kernel-per-CPU-kthreads.rst; Documentation/admin-guide/kernel-parameters.txt, `rcu_nocbs`.
pub(super) fn callbacks(root: &Root) -> Option<Finding> {
    let isolation = Isolation::read(root);
    let (line, config) = (CommandLine::read(root), KernelConfig::read(root));
    let offloads_all_by_default = config.has("CONFIG_RCU_NOCB_CPU_DEFAULT_ALL") == Some(true);
    let offloaded: CpuSet = match line.value("rcu_nocbs") {
        Some("all") => isolation.online.clone(),
        Some(list) => list.parse().unwrap_or_else(|_| isolation.online.clone()),
        None => CpuSet::default(),
    };
    let not_offloaded = isolation.isolated.without(&offloaded).without(&isolation.tickless);
    if not_offloaded.is_empty()
        || line.has("rcu_nocbs") && offloaded.is_empty()
        || offloads_all_by_default
        || config.is_off("CONFIG_RCU_NOCB_CPU")
    {
        return None;
    }
    let cpus = if not_offloaded.len() == 1 { "CPU" } else { "CPUs" };
    let found = format!("callbacks of RCU run on the isolated {cpus} {not_offloaded}");
    let draft = finding(FindingId::RcuCallbacks, Verdict::Note, found).evidence(&line.only(&["rcu_nocbs", "nohz_full"])).why(
        "What the kernel has put off with RCU is done in a softirq on the CPU that has put it off, ahead of its threads, unless it is named \
         in `rcu_nocbs=`: then a thread does it elsewhere.",
    );
    Some(draft.kernel_parameter(root, &format!("rcu_nocbs={not_offloaded}")).finish())
}

/// Whether a CPU mask of the kernel, such as `ffffffff,0000000c`, contains `cpu`.
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
