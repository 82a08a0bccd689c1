//! What is kept away from isolated CPUs by default: interrupts that come later, the kernel's own threads, packets, and callbacks of RCU.

use crate::settings::RECEIVE_STEERING_FOLDER as CARDS;
use crate::settings::{WORKQUEUE_CPUS_FILE, housekeeping};
use howlate_model::{CpuSet, Finding, FindingId, Verdict};
use howlate_procfs::{CommandLine, Isolation, ProcessStat, Reading, Root, Status, children};

use super::draft::{Draft, finding};
use crate::kernel_config::KernelConfig;

const DEFAULT: &str = "/proc/irq/default_smp_affinity";
/// `kthreadd`, from which every other thread of the kernel comes.
const FIRST_THREAD: u32 = 2;

/// Where interrupts go that a driver asks for later on. Of interest where CPUs are isolated.
///
/// Source: `Documentation/admin-guide/kernel-parameters.txt`, `irqaffinity=`.
pub(super) fn new_interrupts(root: &Root) -> Option<Finding> {
    let isolation = Isolation::read(root);
    let apart = isolation.separated();
    let (default, line) = (root.reading(DEFAULT), CommandLine::read(root));
    let text = default.text().filter(|_| !apart.is_empty())?;
    let meets = apart.iter().any(|cpu| is_in_mask(text, cpu));
    let (kept, _) = housekeeping(root);
    let words = isolation.describe_separated();
    let found = if meets {
        format!("interrupts that a driver asks for later may go to {words} as well")
    } else {
        format!("interrupts that a driver asks for later stay away from {words}")
    };
    let verdict = if meets { Verdict::Costs } else { Verdict::Good };
    let draft = finding(FindingId::DefaultInterruptAffinity, verdict, found)
        .seen(&default)
        .seen(&line.only(&["irqaffinity"]))
        .why(
            "Moving the interrupts that there are does not hold for those of a device that is plugged in, or of a driver that is \
             loaded again.",
        );
    Some(draft.when(meets, |draft| draft.boot(root, &format!("irqaffinity={kept}"))).end())
}

/// A thread of the kernel that may be moved, and the CPUs that it may use.
struct KernelThread {
    id: u32,
    name: String,
    cpus: CpuSet,
}

/// Those that may run on one of these CPUs and would not have to. Each is judged by itself: a new one does not have what `kthreadd` may
/// use, but what is not set apart by `nohz_full=` (Linux commit 9cc5b8656892). `None` where they are not to be seen, as in a container.
fn on(root: &Root, apart: &CpuSet) -> Option<Vec<KernelThread>> {
    let is_seen = root.read(&format!("/proc/{FIRST_THREAD}/comm")).as_deref() == Ok("kthreadd");
    let all = is_seen.then(|| children(root, FIRST_THREAD)).filter(|all| !all.is_empty())?;
    let read = |id: u32| {
        ProcessStat::read(root, id).filter(ProcessStat::is_movable_kernel_thread)?;
        let status = Status::read(root, id);
        let name = status.field("Name").unwrap_or_default().to_owned();
        // The thread of an interrupt is where its interrupt is.
        (!name.starts_with("irq/")).then_some(())?;
        Some(KernelThread { id, name, cpus: status.cpus_allowed() })
    };
    let meets = |thread: &KernelThread| apart.iter().any(|cpu| thread.cpus.contains(cpu));
    Some(all.into_iter().filter_map(read).filter(meets).collect())
}

/// Whether threads of the kernel may run on isolated CPUs.
///
/// Source: `Documentation/core-api/workqueue.rst`; `Documentation/admin-guide/cpu-isolation.rst`.
pub(super) fn threads(root: &Root) -> Option<Finding> {
    let isolation = Isolation::read(root);
    let apart = isolation.separated();
    if apart.is_empty() {
        return None;
    }
    let workqueues = root.reading(WORKQUEUE_CPUS_FILE);
    let threads = on(root, &apart);
    let (is_known, threads) = (threads.is_some(), threads.unwrap_or_default());
    let by_work = workqueues.text().is_some_and(|mask| apart.iter().any(|cpu| is_in_mask(mask, cpu)));
    if !is_known && workqueues.text().is_none() {
        return None;
    }
    let words = isolation.describe_separated();
    let which = names(&threads);
    let found = match (threads.is_empty(), by_work) {
        (true, false) if is_known => {
            format!("the kernel's own threads and its deferred work stay away from {words}")
        }
        (true, false) => format!("the kernel's deferred work stays away from {words}"),
        (false, false) => format!("{which} may run on {words}"),
        (true, true) => format!("the kernel's deferred work may run on {words}"),
        (false, true) => format!("{which} and the kernel's deferred work may run on {words}"),
    };
    let verdict = if threads.is_empty() && !by_work { Verdict::Good } else { Verdict::Costs };
    let draft = finding(FindingId::KernelThreads, verdict, found);
    let draft = threads
        .first()
        .iter()
        .fold(draft, |draft, one| draft.seen(&Status::read(root, one.id).evidence("Cpus_allowed_list")));
    let draft = draft
        .seen(&workqueues)
        .seen(&CommandLine::read(root).only(&["kthread_cpus", "nohz_full", "isolcpus"]))
        .why(
            "`isolcpus=` keeps programs away, not the kernel's own threads and deferred work that are bound to no CPU; `nohz_full=` keeps \
             those away as well. An ordinary thread waits for them, a real-time one for those that are real-time as well.",
        );
    let draft = draft.when(!threads.is_empty(), |draft| move_away(root, draft, &threads));
    Some(draft.when(by_work, |draft| draft.turn(root, "workqueue_cpus")).end())
}

/// `3 threads of the kernel (kauditd, kswapd0, oom_reaper)`.
fn names(threads: &[KernelThread]) -> String {
    let first: Vec<&str> = threads.iter().take(3).map(|one| one.name.as_str()).collect();
    let more = if threads.len() > first.len() { ", …" } else { "" };
    let what = if threads.len() == 1 { "thread" } else { "threads" };
    format!("{} {what} of the kernel ({}{more})", threads.len(), first.join(", "))
}

/// To the CPUs that keep house, and each back to where it was.
fn move_away(root: &Root, draft: Draft, threads: &[KernelThread]) -> Draft {
    let (kept, freed) = housekeeping(root);
    let typed = |cpus: &str, ids: &[u32]| {
        if let [one] = ids {
            return format!("sudo taskset -pc {cpus} {one}");
        }
        let ids = ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        format!("for p in {ids}; do sudo taskset -pc {cpus} $p; done")
    };
    let all: Vec<u32> = threads.iter().map(|one| one.id).collect();
    let mut before: Vec<(String, Vec<u32>)> = Vec::new();
    for one in threads {
        let cpus = one.cpus.to_string();
        match before.iter_mut().find(|(known, _)| *known == cpus) {
            Some((_, ids)) => ids.push(one.id),
            None => before.push((cpus, vec![one.id])),
        }
    }
    let draft = draft.apply(typed(&kept.to_string(), &all));
    let draft = before.iter().fold(draft, |draft, (cpus, ids)| draft.undo(typed(cpus, ids)));
    if KernelConfig::read(root).is_off("CONFIG_NO_HZ_FULL") {
        return draft;
    }
    let lasting = crate::settings::boot_remedy(root, &format!("nohz_full={freed}")).apply;
    lasting.into_iter().fold(draft, Draft::lasting)
}

/// Whether packets that came in are handled on isolated CPUs, wherever their interrupt was.
///
/// Source: Documentation/networking/scaling.rst, "RPS".
pub(super) fn packets(root: &Root) -> Option<Finding> {
    let isolation = Isolation::read(root);
    let apart = isolation.separated();
    let queues = |card: String| {
        let names =
            root.list(&format!("{CARDS}/{card}/queues")).into_iter().filter(|name| name.starts_with("rx-"));
        names.map(|name| root.reading(format!("{CARDS}/{card}/queues/{name}/rps_cpus"))).collect::<Vec<_>>()
    };
    let meets =
        |reading: &Reading| reading.text().is_some_and(|mask| apart.iter().any(|cpu| is_in_mask(mask, cpu)));
    let steered = root.list(CARDS).into_iter().flat_map(queues).filter(meets).collect::<Vec<_>>();
    let first = steered.first()?;
    let found = format!(
        "packets of {} are handled on {} as well",
        count(steered.len()),
        isolation.describe_separated()
    );
    let draft = finding(FindingId::ReceiveSteering, Verdict::Costs, found).seen(first).why(
        "A CPU that got a packet's interrupt hands the packet on to those of this mask, which handle it in a softirq, ahead of their threads.",
    );
    Some(draft.turn(root, "receive_steering").end())
}

fn count(queues: usize) -> String {
    if queues == 1 {
        "one queue of a network card".to_owned()
    } else {
        format!("{queues} queues of network cards")
    }
}

/// Whether callbacks of RCU run on isolated CPUs: those of `rcu_nocbs=` and `nohz_full=` have theirs run elsewhere.
///
/// Source: Documentation/admin-guide/kernel-per-CPU-kthreads.rst; Documentation/admin-guide/kernel-parameters.txt, `rcu_nocbs`.
pub(super) fn callbacks(root: &Root) -> Option<Finding> {
    let isolation = Isolation::read(root);
    let (line, config) = (CommandLine::read(root), KernelConfig::read(root));
    let all_by_default = config.has("CONFIG_RCU_NOCB_CPU_DEFAULT_ALL") == Some(true);
    let elsewhere: CpuSet = match line.value("rcu_nocbs") {
        Some("all") => isolation.online.clone(),
        Some(list) => list.parse().unwrap_or_else(|_| isolation.online.clone()),
        None => CpuSet::default(),
    };
    let here = isolation.isolated.without(&elsewhere).without(&isolation.tickless);
    if here.is_empty()
        || line.has("rcu_nocbs") && elsewhere.is_empty()
        || all_by_default
        || config.is_off("CONFIG_RCU_NOCB_CPU")
    {
        return None;
    }
    let cpus = if here.len() == 1 { "CPU" } else { "CPUs" };
    let found = format!("callbacks of RCU run on the isolated {cpus} {here}");
    let draft = finding(FindingId::RcuCallbacks, Verdict::Note, found).seen(&line.only(&["rcu_nocbs", "nohz_full"])).why(
        "What the kernel has put off with RCU is done in a softirq on the CPU that has put it off, ahead of its threads, unless it is named \
         in `rcu_nocbs=`: then a thread does it elsewhere.",
    );
    Some(draft.boot(root, &format!("rcu_nocbs={here}")).end())
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
