//! `/proc/sys/kernel/osrelease` and `version`: the running kernel.

use crate::Root;

/// Release and build, as `uname -r` and `uname -v` print them.
pub struct Kernel {
    /// The release: `6.12.48-rt`.
    pub release: String,
    /// The build: `#1 SMP PREEMPT_RT …`.
    pub build: String,
}

impl Kernel {
    /// A field that cannot be read is empty.
    pub fn read(root: &Root) -> Self {
        let read = |path| root.read(path).unwrap_or_default();
        Self { release: read("/proc/sys/kernel/osrelease"), build: read("/proc/sys/kernel/version") }
    }

    /// Architecture, such as `x86_64`; `None` before Linux 6.1.
    pub fn architecture(root: &Root) -> Option<String> {
        root.read("/proc/sys/kernel/arch").ok()
    }

    /// Whether the kernel below `root` is a `PREEMPT_RT` one: from its build string, or from
    /// `/sys/kernel/realtime`, which only out-of-tree patches add.
    pub fn is_realtime(root: &Root) -> bool {
        Self::read(root).names_realtime() || root.read("/sys/kernel/realtime").as_deref() == Ok("1")
    }

    /// Whether its build string names `PREEMPT_RT`, or `PREEMPT RT` as it was written before 5.4.
    fn names_realtime(&self) -> bool {
        let build = self.build.replace("PREEMPT RT", "PREEMPT_RT");
        build.split([' ', ',', '(', ')']).any(|word| word == "PREEMPT_RT")
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
    fn a_realtime_kernel_is_recognised_by_its_build_or_by_its_file() {
        let named = |build: &str| Kernel { release: String::new(), build: build.into() }.names_realtime();
        assert!(
            named("#1 SMP PREEMPT_RT Debian 7.2.13-1 (2026-10-30)") && named("#1 SMP PREEMPT RT Thu Mar 4")
        );
        assert!(!named("#1 SMP PREEMPT_DYNAMIC @0") && !named(""));
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let root = Root::at(folder.path());
        put("proc/sys/kernel/version", "#1 SMP PREEMPT_RT Debian 7.2.13-1\n");
        assert!(Kernel::is_realtime(&root), "without /sys/kernel/realtime, as from 7.x on");
        put("proc/sys/kernel/version", "#1 SMP\n");
        assert!(!Kernel::is_realtime(&root));
        put("sys/kernel/realtime", "1\n");
        assert!(Kernel::is_realtime(&root));
    }

    #[test]
    fn releases_are_compared_as_numbers() {
        assert_eq!(release("6.18.4-arch1").at_least(6, 12), Some(true));
        assert_eq!(release("6.9.0").at_least(6, 12), Some(false));
        assert_eq!(release("7.0-rc1").at_least(6, 12), Some(true));
        assert_eq!(release("").at_least(6, 12), None);
    }
}
