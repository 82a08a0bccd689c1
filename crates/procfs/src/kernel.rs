//! `/proc/sys/kernel/osrelease` and `version`: which kernel runs.

use crate::Root;

/// Release and build, as `uname -r` and `uname -v` print them.
pub struct Kernel {
    /// The release: `6.12.48-rt`.
    pub release: String,
    /// The build: `#1 SMP PREEMPT_RT …`.
    pub build: String,
}

impl Kernel {
    /// Reads both; what cannot be read is empty.
    pub fn read(root: &Root) -> Self {
        let read = |path| root.read(path).unwrap_or_default();
        Self { release: read("/proc/sys/kernel/osrelease"), build: read("/proc/sys/kernel/version") }
    }

    /// Whether the release is at least `major.minor`; `None` when it cannot be read.
    pub fn at_least(&self, major: u32, minor: u32) -> Option<bool> {
        let mut numbers = self.release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
        Some((numbers.next()?, numbers.next()?) >= (major, minor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(release: &str) -> Kernel {
        Kernel { release: release.into(), build: String::new() }
    }

    #[test]
    fn releases_are_compared_as_numbers() {
        assert_eq!(release("6.18.4-arch1").at_least(6, 12), Some(true));
        assert_eq!(release("6.9.0").at_least(6, 12), Some(false));
        assert_eq!(release("7.0-rc1").at_least(6, 12), Some(true));
        assert_eq!(release("").at_least(6, 12), None);
    }
}
