//! What the kernel counts of CPUs besides: read before and after, never while threads spin, as reading a CPU's register
//! interrupts it.

use howlate_analyse::gaps::GapAccount;
use howlate_model::{CpuSet, Span};
use howlate_procfs::{CpuTicks, InterruptCounts, Root, SmiCounter, Stat, counts_smis, hypervisor, ticks};

/// One CPU.
struct Before {
    cpu: u32,
    stolen: Option<CpuTicks>,
    nmis: Option<u64>,
    smis: Option<(SmiCounter, u64)>,
}

/// The counts of all measured CPUs when it began.
pub(crate) struct Accounts {
    root: Root,
    before: Vec<Before>,
}

impl Accounts {
    /// Reads them.
    pub(crate) fn begin(root: Root, cpus: &CpuSet) -> Self {
        let (stat, interrupts) = (Stat::read(&root).cpus(), InterruptCounts::read(&root));
        let (is_guest, has_smis) = (hypervisor(&root).is_some(), counts_smis(&root));
        let before = cpus.iter().map(|cpu| Before {
            cpu,
            stolen: is_guest.then(|| of_cpu(&stat, cpu)).flatten(),
            nmis: interrupts.of("NMI", cpu),
            smis: has_smis.then(|| smis(cpu)).flatten(),
        });
        let before = before.collect();
        Self { root, before }
    }

    /// What was added since.
    pub(crate) fn end(&self) -> Vec<(u32, GapAccount)> {
        let (stat, interrupts) = (Stat::read(&self.root).cpus(), InterruptCounts::read(&self.root));
        let of = |one: &Before| GapAccount {
            stolen: stolen(one.stolen, of_cpu(&stat, one.cpu)),
            nmis: grown(one.nmis, interrupts.of("NMI", one.cpu)),
            smis: one.smis.as_ref().and_then(|(counter, before)| {
                Some(counter.read().ok()?.wrapping_sub(*before) & u64::from(u32::MAX))
            }),
        };
        self.before.iter().map(|one| (one.cpu, of(one))).collect()
    }
}

fn of_cpu(stat: &[(u32, CpuTicks)], cpu: u32) -> Option<CpuTicks> {
    stat.iter().find(|(other, _)| *other == cpu).map(|(_, ticks)| *ticks)
}

fn stolen(before: Option<CpuTicks>, now: Option<CpuTicks>) -> Option<Span> {
    now?.since(before?).steal.map(ticks)
}

fn grown(before: Option<u64>, now: Option<u64>) -> Option<u64> {
    now?.checked_sub(before?)
}

fn smis(cpu: u32) -> Option<(SmiCounter, u64)> {
    let counter = SmiCounter::open(cpu).ok()?;
    let count = counter.read().ok()?;
    Some((counter, count))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_the_kernel_counts_meanwhile_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/cpuinfo", "vendor_id\t: AuthenticAMD\nflags\t\t: fpu hypervisor\n");
        write("proc/interrupts", "  CPU0 CPU1\nNMI: 1 2 Non-maskable\n");
        let accounts = Accounts::begin(Root::at(folder.path()), &CpuSet::from_iter([1]));
        write("proc/interrupts", "  CPU0 CPU1\nNMI: 1 7 Non-maskable\n");
        let [(1, account)] = accounts.end()[..] else { panic!("one CPU") };
        assert_eq!((account.nmis, account.stolen, account.smis), (Some(5), None, None));
    }
}
