//! The kernel's own counters of each CPU. They are read before and after the measurement, never while threads spin:
//! reading a CPU's register interrupts that CPU.

use howlate_analyse::gaps::GapAccount;
use howlate_model::{CpuSet, Span};
use howlate_procfs::{CpuTicks, InterruptCounts, Root, SmiCounter, Stat, counts_smis, hypervisor, ticks};

/// Counters of one CPU before the measurement.
struct CpuBaseline {
    cpu: u32,
    stolen: Option<CpuTicks>,
    nmis: Option<u64>,
    smis: Option<(SmiCounter, u64)>,
}

/// Counters of all measured CPUs.
pub(crate) struct CpuCounters {
    root: Root,
    baselines: Vec<CpuBaseline>,
}

impl CpuCounters {
    /// Reads the baseline.
    pub(crate) fn begin(root: Root, cpus: &CpuSet) -> Self {
        let (stat, interrupts) = (Stat::read(&root).cpus(), InterruptCounts::read(&root));
        let (is_guest, has_smis) = (hypervisor(&root).is_some(), counts_smis(&root));
        let baselines = cpus.iter().map(|cpu| CpuBaseline {
            cpu,
            stolen: is_guest.then(|| ticks_of(&stat, cpu)).flatten(),
            nmis: interrupts.of("NMI", cpu),
            smis: has_smis.then(|| open_smi_counter(cpu)).flatten(),
        });
        let baselines = baselines.collect();
        Self { root, baselines }
    }

    /// How much each counter has grown since.
    pub(crate) fn end(&self) -> Vec<(u32, GapAccount)> {
        let (stat, interrupts) = (Stat::read(&self.root).cpus(), InterruptCounts::read(&self.root));
        let account = |baseline: &CpuBaseline| GapAccount {
            stolen: stolen_since(baseline.stolen, ticks_of(&stat, baseline.cpu)),
            nmis: growth(baseline.nmis, interrupts.of("NMI", baseline.cpu)),
            smis: baseline.smis.as_ref().and_then(|(counter, before)| {
                Some(counter.read().ok()?.wrapping_sub(*before) & u64::from(u32::MAX))
            }),
        };
        self.baselines.iter().map(|baseline| (baseline.cpu, account(baseline))).collect()
    }
}

fn ticks_of(stat: &[(u32, CpuTicks)], cpu: u32) -> Option<CpuTicks> {
    stat.iter().find(|(other, _)| *other == cpu).map(|(_, ticks)| *ticks)
}

fn stolen_since(before: Option<CpuTicks>, now: Option<CpuTicks>) -> Option<Span> {
    now?.since(before?).steal.map(ticks)
}

fn growth(before: Option<u64>, now: Option<u64>) -> Option<u64> {
    now?.checked_sub(before?)
}

fn open_smi_counter(cpu: u32) -> Option<(SmiCounter, u64)> {
    let counter = SmiCounter::open(cpu).ok()?;
    let count = counter.read().ok()?;
    Some((counter, count))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn growth_of_the_counters_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/cpuinfo", "vendor_id\t: AuthenticAMD\nflags\t\t: fpu hypervisor\n");
        write("proc/interrupts", "  CPU0 CPU1\nNMI: 1 2 Non-maskable\n");
        let counters = CpuCounters::begin(Root::at(folder.path()), &CpuSet::from_iter([1]));
        write("proc/interrupts", "  CPU0 CPU1\nNMI: 1 7 Non-maskable\n");
        let [(1, account)] = counters.end()[..] else { panic!("one CPU") };
        assert_eq!((account.nmis, account.stolen, account.smis), (Some(5), None, None));
    }
}
