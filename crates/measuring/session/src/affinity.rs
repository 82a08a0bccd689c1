//! CPUs of the observer, and contention for those of the measured threads.

use howlate_model::{Caveat, CpuSet, Policy, System, Turn};
use howlate_procfs::{LoadAverage, Root};

/// Caveats about contention for CPUs, and about the scheduler of `ext` threads.
pub(crate) fn contention(turns: &[Turn], system: &System) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let measured = turns.iter().map(measured_cpus).max_by_key(CpuSet::len).unwrap_or_default();
    let threads = turns.iter().map(|turn| turn.tasks.len()).max().unwrap_or(0);
    if !measured.is_empty() && housekeeping(&measured, system).is_none() {
        caveats.push(Caveat::ObserverShares { measured });
    }
    let cpus = system.allowed.len();
    // The load average is that of the whole machine, whatever part of it howlate may use.
    caveats.extend(busy(system.cpus.len().max(cpus)));
    if threads > cpus {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        caveats.push(Caveat::ThreadsShareCpus { threads: count(threads), cpus: count(cpus) });
    }
    let is_ext = |turn: &Turn| turn.tasks.iter().any(|task| task.policy == Policy::Ext);
    if system.scheduler.is_none() && turns.iter().any(is_ext) {
        caveats.push(Caveat::NoBpfScheduler);
    }
    caveats
}

/// A caveat if the machine was already busy before the run.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a load average is no negative number"
)]
pub fn busy(cpus: usize) -> Option<Caveat> {
    let load = LoadAverage::read(&Root::live()).last_minute()?;
    let load_average_percent = (load * 100.0).round() as u64;
    let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
    (load_average_percent > 100 * u64::from(cpus))
        .then_some(Caveat::MachineBusy { load_average_percent, cpus })
}

pub(crate) fn measured_cpus(turn: &Turn) -> CpuSet {
    turn.tasks.iter().flat_map(|task| [task.cpu, task.work.sender_cpu()]).flatten().collect()
}

/// CPUs for the observer: not measured, and if possible not on the core of a measured CPU; `None` if every CPU is
/// measured.
fn housekeeping(measured: &CpuSet, system: &System) -> Option<CpuSet> {
    let with_siblings: CpuSet = system
        .cpus
        .iter()
        .filter(|cpu| measured.contains(cpu.number))
        .flat_map(|cpu| cpu.siblings.iter())
        .chain(measured.iter())
        .collect();
    let free = |taken: &CpuSet| Some(system.allowed.without(taken)).filter(|cpus| !cpus.is_empty());
    free(&with_siblings).or_else(|| free(measured))
}

/// CPUs of the observer during `turn`; `None`: any. If it must share a CPU, it shares that of the sender, not that of the
/// measured receiver.
pub(crate) fn observer_cpus(turn: &Turn, system: &System) -> Option<CpuSet> {
    let measured = measured_cpus(turn);
    let receivers: CpuSet = turn.tasks.iter().filter_map(|task| task.cpu).collect();
    let senders = || turn.tasks.iter().filter_map(|task| task.work.sender_cpu()).collect::<CpuSet>();
    let beside_sender = || Some(senders().without(&receivers)).filter(|cpus| !cpus.is_empty());
    if measured.is_empty() { None } else { housekeeping(&measured, system).or_else(beside_sender) }
}

#[cfg(test)]
mod tests {
    use howlate_model::{Load, Span, Task, Wait, Work};

    use super::*;

    #[test]
    fn ext_is_the_kernels_own_scheduler_where_none_of_bpf_is_loaded() {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let turn = |policy| Turn {
            tasks: vec![Task { policy, ..Task::new(work) }],
            load: Load::IDLE,
            duration: None,
            cut_after: None,
            estimate: Span::ZERO,
        };
        let is_warned = |policy, scheduler: Option<&str>| {
            let system = System { scheduler: scheduler.map(str::to_owned), ..System::default() };
            contention(&[turn(policy)], &system).contains(&Caveat::NoBpfScheduler)
        };
        assert!(is_warned(Policy::Ext, None));
        assert!(!is_warned(Policy::Ext, Some("rusty")) && !is_warned(Policy::OTHER, None));
    }
}
