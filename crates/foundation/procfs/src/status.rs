//! `/proc/PID/status`: identity, state, memory, capabilities and signals of a process.
//!
//! Not by procfs-core 0.18, which cuts a name at its colon, and fails on the whole file where one of twenty fields is missing.

use std::fmt::Display;

use howlate_model::CpuSet;

use crate::{Reading, Root, SELF};

/// The file of one process or thread. Each field is parsed on request.
///
/// Source: `proc_pid_status(5)`.
#[derive(Clone, Debug)]
pub struct Status {
    pub reading: Reading,
}

impl Status {
    /// Status of this process.
    pub fn read_own(root: &Root) -> Self {
        Self::read(root, SELF)
    }

    pub fn read(root: &Root, process: impl Display) -> Self {
        Self { reading: root.reading(format!("/proc/{process}/status")) }
    }

    /// One field: `CapEff`, `Cpus_allowed_list`.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut lines = self.reading.text()?.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    }

    /// The first number of a field: `Tgid`, `VmRSS` in KiB.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.field(name)?.split_whitespace().next()?.parse().ok()
    }

    /// Thread group id: the process that a thread belongs to.
    pub fn process(&self) -> Option<u32> {
        self.number("Tgid")?.try_into().ok()
    }

    /// Parent process id.
    pub fn parent(&self) -> Option<u32> {
        self.number("PPid")?.try_into().ok()
    }

    /// Affinity; empty where unknown.
    pub fn cpus_allowed(&self) -> CpuSet {
        self.field("Cpus_allowed_list").and_then(|list| list.parse().ok()).unwrap_or_default()
    }

    /// Effective user id.
    pub fn effective_user(&self) -> Option<u32> {
        self.field("Uid")?.split_whitespace().nth(1)?.parse().ok()
    }

    /// Whether it is sleeping, stopped, or an idle kernel thread.
    pub fn is_asleep(&self) -> bool {
        self.is_in_state(&['S', 'D', 'T', 't', 'I'])
    }

    /// Whether it is a zombie or dead.
    pub fn has_ended(&self) -> bool {
        self.is_in_state(&['Z', 'X'])
    }

    fn is_in_state(&self, states: &[char]) -> bool {
        self.field("State").is_some_and(|state| state.starts_with(states))
    }

    /// Whether it has an address space; kernel threads and zombies have none.
    pub fn has_memory(&self) -> bool {
        self.field("VmSize").is_some()
    }

    /// Whether all resident memory is locked.
    pub fn is_memory_locked(&self) -> bool {
        let (locked, resident) = (self.number("VmLck"), self.number("VmRSS"));
        locked.zip(resident).is_some_and(|(locked, resident)| locked >= resident && locked > 0)
    }

    /// Whether a bit is set in a mask field: `CapEff`, `SigIgn`.
    pub fn has_bit(&self, name: &str, bit: u32) -> Option<bool> {
        let mask = u64::from_str_radix(self.field(name)?, 16).ok()?;
        mask.checked_shr(bit).map(|mask| mask & 1 == 1)
    }

    /// Whether the signal is ignored, as under `nohup`.
    pub fn ignores(&self, signal: i32) -> bool {
        let bit = u32::try_from(signal).ok().and_then(|signal| signal.checked_sub(1));
        bit.and_then(|bit| self.has_bit("SigIgn", bit)).unwrap_or(false)
    }

    /// The line of one field as evidence.
    pub fn evidence(&self, name: &str) -> Reading {
        self.reading.lines(|line| line.split(':').next() == Some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> Status {
        Status { reading: Reading { path: "/proc/self/status".into(), content: Ok(text.into()) } }
    }

    #[test]
    fn signals_are_counted_from_one() {
        // Bit 0 is SIGHUP, bit 12 SIGPIPE.
        let status = status("Name:\tx\nSigIgn:\t0000000000001001");
        assert!(status.ignores(1) && status.ignores(13));
        assert!(!status.ignores(2) && !status.ignores(0) && !status.ignores(65));
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let status = status("Cpus_allowed_list:\t0-1\nCpus_allowed:\t3");
        assert_eq!(status.field("Cpus_allowed"), Some("3"));
        assert_eq!(status.field("Cpus"), None);
        assert_eq!(status.evidence("Cpus_allowed").text(), Some("Cpus_allowed:\t3"));
        assert_eq!(status.cpus_allowed().to_string(), "0-1");
    }

    #[test]
    fn a_name_may_contain_separators() {
        for name in ["a b", "loop) S 1 (x", "kworker/0:1-events", "State: Z"] {
            let status = status(&format!("Name:\t{name}\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t7"));
            assert_eq!(status.field("Name"), Some(name));
            assert!(status.is_asleep() && !status.has_ended(), "{name}");
            assert_eq!(status.process(), Some(7));
        }
    }

    /// The status of a zombie on Linux 6.18.
    #[test]
    fn a_zombie_has_no_memory() {
        let zombie = status(
            "Name:\ttrue\nState:\tZ (zombie)\nTgid:\t4711\nNgid:\t0\nPid:\t4711\nPPid:\t4709\nTracerPid:\t0\n\
             Uid:\t1000\t0\t0\t0\nGid:\t0\t0\t0\t0\nFDSize:\t0\nGroups:\t\nThreads:\t1\nSigQ:\t0/192512",
        );
        assert!(zombie.has_ended() && !zombie.is_asleep() && !zombie.has_memory());
        assert!(!zombie.is_memory_locked());
        assert_eq!((zombie.process(), zombie.parent()), (Some(4711), Some(4709)));
        assert_eq!((zombie.effective_user(), zombie.number("VmRSS")), (Some(0), None));
        assert_eq!(zombie.field("Groups"), Some(""));
    }

    #[test]
    fn memory_is_locked_where_all_of_it_is() {
        for (locked, resident, expected) in [(8, 8, true), (9, 8, true), (7, 8, false), (0, 0, false)] {
            let status =
                status(&format!("VmSize:\t99 kB\nVmLck:\t       {locked} kB\nVmRSS:\t    {resident} kB"));
            assert_eq!(status.is_memory_locked(), expected, "{locked} of {resident}");
            assert!(status.has_memory());
        }
    }
}
