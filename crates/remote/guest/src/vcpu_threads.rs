//! The host's side of a guest: settings of the emulator's threads, and what they got.

use howlate_linux::sched;
use howlate_model::{
    AsText, Caveat, CpuSet, HostThread, Policy, PolicyRemedy, SettingRefusal, Span, VcpuTime,
};
use howlate_procfs::{Root, Schedstat, Stat, ticks};

/// Settings of the emulator's threads.
#[derive(Clone, Debug, Default)]
pub struct HostSettings {
    /// For the threads that run the guest's CPUs.
    pub vcpu_policy: Option<Policy>,
    /// For the emulator's main thread.
    pub emulator_policy: Option<Policy>,
    /// The host's CPU for each of the guest's; empty: wherever the scheduler puts them.
    pub vcpu_pin: Vec<u32>,
}

/// The emulator's threads with their settings.
pub(crate) struct VcpuThreads {
    pub(crate) vcpus: Vec<HostThread>,
    pub(crate) emulator: HostThread,
    pub(crate) caveats: Vec<Caveat>,
}

impl HostSettings {
    /// Applies them, and reads back what is in force.
    pub(crate) fn apply(&self, vcpus: &[u32], emulator: u32) -> std::io::Result<VcpuThreads> {
        let mut caveats = Vec::new();
        for (index, tid) in vcpus.iter().enumerate() {
            // One thread for all CPUs may run wherever they may.
            let cpus: CpuSet = self.vcpu_pin.iter().copied().skip(index).step_by(vcpus.len()).collect();
            if !cpus.is_empty() {
                pin(*tid, cpus, &mut caveats)?;
            }
            set(*tid, self.vcpu_policy, &mut caveats)?;
        }
        set(emulator, self.emulator_policy, &mut caveats)?;
        let vcpus = vcpus.iter().map(|tid| in_force(*tid)).collect::<Result<_, _>>()?;
        caveats.dedup();
        Ok(VcpuThreads { vcpus, emulator: in_force(emulator)?, caveats })
    }
}

fn set(tid: u32, policy: Option<Policy>, caveats: &mut Vec<Caveat>) -> std::io::Result<()> {
    let Some(policy) = policy else { return Ok(()) };
    if let Err(error) = sched::set_policy(tid, policy) {
        let in_force = sched::policy(tid)?;
        caveats.push(Caveat::policy_refused(
            policy,
            in_force,
            of_qemu(&error),
            Some(PolicyRemedy::RootOnHost),
        ));
    }
    Ok(())
}

fn pin(tid: u32, cpus: CpuSet, caveats: &mut Vec<Caveat>) -> std::io::Result<()> {
    if let Err(error) = sched::bind_thread(tid, &cpus) {
        let in_force = sched::affinity_of(tid)?;
        caveats.push(Caveat::AffinityDiffers { asked: cpus, in_force, reason: of_qemu(&error) });
    }
    Ok(())
}

fn of_qemu(error: &std::io::Error) -> AsText<SettingRefusal> {
    SettingRefusal::at("QEMU's thread", error)
}

fn in_force(tid: u32) -> std::io::Result<HostThread> {
    Ok(HostThread { tid, policy: sched::policy(tid)?, cpus: sched::affinity_of(tid)? })
}

/// CPU times on the host at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostTimes {
    steal: Option<Span>,
    vcpus: Vec<Schedstat>,
}

impl HostTimes {
    /// Reads it for the threads of the guest's CPUs; `None` when one is gone.
    pub(crate) fn read(vcpus: &[HostThread]) -> Option<Self> {
        let root = Root::live();
        let times = vcpus.iter().map(|thread| Schedstat::read(&root, thread.tid));
        let steal = Stat::read(&root).all().and_then(|all| all.steal);
        Some(Self { steal: steal.map(ticks), vcpus: times.collect::<Option<_>>()? })
    }

    /// CPU time denied to the host since `before`.
    pub(crate) fn steal_since(&self, before: &Self) -> Option<Span> {
        Some(self.steal?.minus(before.steal?))
    }

    /// What the guest's CPUs got since `before`.
    pub(crate) fn vcpus_since(&self, before: &Self) -> Vec<VcpuTime> {
        let pairs = self.vcpus.iter().zip(&before.vcpus);
        let got = pairs.map(|(now, then)| now.since(*then));
        got.map(|got| VcpuTime { ran: got.ran, waited: got.waited }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_got_is_the_difference_of_two_readings() {
        let ledger = |steal, ran, waited| HostTimes {
            steal: Some(Span::from_nanos(steal)),
            vcpus: vec![Schedstat {
                ran: Span::from_nanos(ran),
                waited: Span::from_nanos(waited),
                timeslices: 0,
            }],
        };
        let (before, after) = (ledger(5, 1_000, 200), ledger(9, 4_000, 250));
        assert_eq!(after.steal_since(&before), Some(Span::from_nanos(4)));
        let got = VcpuTime { ran: Span::from_nanos(3_000), waited: Span::from_nanos(50) };
        assert_eq!(after.vcpus_since(&before), [got]);
    }

    #[test]
    fn settings_are_applied_to_another_thread_and_read_back() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            sender.send(howlate_linux::thread::id()).unwrap();
            let _ = ended.recv();
        });
        let tid = receiver.recv().unwrap();
        let cpu = sched::affinity().unwrap().iter().next().unwrap();
        let settings =
            HostSettings { vcpu_policy: Some(Policy::Batch), vcpu_pin: vec![cpu], emulator_policy: None };
        let threads = settings.apply(&[tid], howlate_linux::thread::id()).unwrap();
        assert_eq!(
            (threads.vcpus[0].policy, &threads.vcpus[0].cpus),
            (Policy::Batch, &CpuSet::from_iter([cpu]))
        );
        assert_eq!(threads.caveats, []);
        let nowhere = HostSettings { vcpu_pin: vec![1_000], ..HostSettings::default() };
        let threads = nowhere.apply(&[tid], tid).unwrap();
        assert!(matches!(threads.caveats[0], Caveat::AffinityDiffers { .. }));
        drop(end);
        thread.join().unwrap();
    }
}
