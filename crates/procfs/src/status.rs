//! `/proc/self/status`: what this process is and may do.

use crate::{Reading, Root};

/// The file with the outcome of reading it.
#[derive(Clone, Debug)]
pub struct Status {
    /// What was read.
    pub reading: Reading,
}

impl Status {
    /// Of this process.
    pub fn read(root: &Root) -> Self {
        Self { reading: root.reading("/proc/self/status") }
    }

    /// One field: `CapEff`, `Cpus_allowed_list`.
    pub fn field(&self, name: &str) -> Option<&str> {
        let value = |line: &'_ str| line.strip_prefix(name)?.strip_prefix(':').map(str::len);
        let line = self.reading.text()?.lines().find(|line| value(line).is_some())?;
        Some(line[name.len() + 1..].trim())
    }

    /// Whether the bit is set in a field that is a mask: `CapEff`, `SigIgn`.
    pub fn has_bit(&self, name: &str, bit: u32) -> Option<bool> {
        let mask = u64::from_str_radix(self.field(name)?, 16).ok()?;
        mask.checked_shr(bit).map(|mask| mask & 1 == 1)
    }

    /// Whether the signal is ignored, as `nohup` has it.
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
    fn a_field_is_known_by_its_whole_name() {
        let status = status("Cpus_allowed_list:\t0-1\nCpus_allowed:\t3");
        assert_eq!(status.field("Cpus_allowed"), Some("3"));
        assert_eq!(status.field("Cpus"), None);
        assert_eq!(status.evidence("Cpus_allowed").text(), Some("Cpus_allowed:\t3"));
    }
}
