//! The host's side of a guest: settings of the emulator's threads, and what they got.

use howlate_linux::sched;
use howlate_model::{Caveat, CpuSet, HostThread, Policy, Span, VcpuTime};

/// What is asked for the emulator's threads.
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
pub(crate) struct Threads {
    pub(crate) vcpus: Vec<HostThread>,
    pub(crate) emulator: HostThread,
    pub(crate) caveats: Vec<Caveat>,
}

impl HostSettings {
    /// Applies them, and reads back what is in force.
    pub(crate) fn apply(&self, vcpus: &[u32], emulator: u32) -> std::io::Result<Threads> {
        let mut caveats = Vec::new();
        for (index, tid) in vcpus.iter().enumerate() {
            if let Some(cpu) = self.vcpu_pin.get(index) {
                pin(*tid, *cpu, &mut caveats)?;
            }
            set(*tid, self.vcpu_policy, &mut caveats)?;
        }
        set(emulator, self.emulator_policy, &mut caveats)?;
        let vcpus = vcpus.iter().map(|tid| in_force(*tid)).collect::<Result<_, _>>()?;
        caveats.dedup();
        Ok(Threads { vcpus, emulator: in_force(emulator)?, caveats })
    }
}

fn set(tid: u32, asked: Option<Policy>, caveats: &mut Vec<Caveat>) -> std::io::Result<()> {
    let Some(asked) = asked else { return Ok(()) };
    if let Err(error) = sched::set_policy(tid, asked) {
        let remedy = "Run howlate guest as root on the host.".to_owned();
        let in_force = sched::policy(tid)?;
        caveats.push(Caveat::policy_refused(asked, in_force, format!("QEMU's thread: {error}"), remedy));
    }
    Ok(())
}

fn pin(tid: u32, cpu: u32, caveats: &mut Vec<Caveat>) -> std::io::Result<()> {
    let asked = CpuSet::from_iter([cpu]);
    if let Err(error) = sched::bind_thread(tid, &asked) {
        let in_force = sched::affinity_of(tid)?;
        caveats.push(Caveat::AffinityDiffers { asked, in_force, reason: format!("QEMU's thread: {error}") });
    }
    Ok(())
}

fn in_force(tid: u32) -> std::io::Result<HostThread> {
    Ok(HostThread { tid, policy: sched::policy(tid)?, cpus: sched::affinity_of(tid)? })
}

/// What the host had given and taken at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    steal: Option<Span>,
    vcpus: Vec<VcpuTime>,
}

impl Ledger {
    /// Reads it for the threads of the guest's CPUs; `None` when one is gone.
    pub(crate) fn read(vcpus: &[HostThread]) -> Option<Self> {
        let time = |thread: &HostThread| {
            vcpu_time(&std::fs::read_to_string(format!("/proc/{}/schedstat", thread.tid)).ok()?)
        };
        let steal = std::fs::read_to_string("/proc/stat").ok().and_then(|stat| steal(&stat));
        Some(Self { steal, vcpus: vcpus.iter().map(time).collect::<Option<_>>()? })
    }

    /// CPU time denied to the host since `before`.
    pub(crate) fn steal_since(&self, before: &Self) -> Option<Span> {
        Some(minus(self.steal?, before.steal?))
    }

    /// What the guest's CPUs got since `before`.
    pub(crate) fn vcpus_since(&self, before: &Self) -> Vec<VcpuTime> {
        let pairs = self.vcpus.iter().zip(&before.vcpus);
        pairs
            .map(|(now, then)| VcpuTime {
                ran_ns: minus(now.ran_ns, then.ran_ns),
                waited_ns: minus(now.waited_ns, then.waited_ns),
            })
            .collect()
    }
}

fn minus(later: Span, earlier: Span) -> Span {
    Span::from_nanos(later.as_nanos().saturating_sub(earlier.as_nanos()))
}

/// Nanoseconds run, nanoseconds waited for a CPU, turns.
///
/// Source: `Documentation/scheduler/sched-stats.rst`.
fn vcpu_time(schedstat: &str) -> Option<VcpuTime> {
    let mut numbers = schedstat.split_whitespace().map(|number| number.parse().ok().map(Span::from_nanos));
    Some(VcpuTime { ran_ns: numbers.next()??, waited_ns: numbers.next()?? })
}

/// The eighth number of the first line, in ticks of `USER_HZ`: `proc_stat(5)`.
fn steal(stat: &str) -> Option<Span> {
    let ticks: u64 = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().nth(7)?.parse().ok()?;
    let nanos = 1_000_000_000_u64.checked_div(rustix::param::clock_ticks_per_second())?;
    Some(Span::from_nanos(ticks.saturating_mul(nanos)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_got_is_the_difference_of_two_readings() {
        let ledger = |steal, text| Ledger {
            steal: Some(Span::from_nanos(steal)),
            vcpus: vec![vcpu_time(text).unwrap()],
        };
        let (before, after) = (ledger(5, "1000 200 7\n"), ledger(9, "4000 250 9\n"));
        assert_eq!(after.steal_since(&before), Some(Span::from_nanos(4)));
        let got = VcpuTime { ran_ns: Span::from_nanos(3_000), waited_ns: Span::from_nanos(50) };
        assert_eq!(after.vcpus_since(&before), [got]);
        assert_eq!(vcpu_time("1000"), None);
    }

    #[test]
    fn steal_is_the_eighth_number() {
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        assert_eq!(steal("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1\n"), Some(Span::from_nanos(8 * tick)));
        assert_eq!(steal("intr 5"), None);
    }

    #[test]
    fn settings_are_applied_to_another_thread_and_read_back() {
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(howlate_linux::thread::id()).unwrap();
            let _ = ended.recv();
        });
        let tid = told.recv().unwrap();
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
