//! Which kernel runs, and how it preempts itself.

use howlate_procfs::Root;

use crate::kernel_config::KernelConfig;

/// Release and build, as `uname -r` and `uname -v` print them.
pub(crate) struct Kernel {
    pub(crate) release: String,
    pub(crate) build: String,
}

impl Kernel {
    pub(crate) fn of(root: &Root) -> Self {
        let read = |path| root.read(path).unwrap_or_default();
        Self { release: read("/proc/sys/kernel/osrelease"), build: read("/proc/sys/kernel/version") }
    }

    /// Whether the release is at least `major.minor`; `None` when it cannot be read.
    pub(crate) fn at_least(&self, major: u32, minor: u32) -> Option<bool> {
        let mut numbers = self.release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
        Some((numbers.next()?, numbers.next()?) >= (major, minor))
    }

    /// The preemption model that the build string names. Kernels built without
    /// preemption name none.
    fn named_preemption(&self) -> Option<&'static str> {
        let build = self.build.replace("PREEMPT RT", "PREEMPT_RT");
        let named = |model: &&str| build.split([' ', ',', '(', ')']).any(|word| word == *model);
        ["PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT_LAZY", "PREEMPT"].into_iter().find(named)
    }
}

/// Whether this is a `PREEMPT_RT` kernel. `/sys/kernel/realtime` holds `1` on those that
/// offer it; the build string says so on all.
pub(crate) fn is_realtime(root: &Root) -> bool {
    root.read("/sys/kernel/realtime").as_deref() == Ok("1")
        || Kernel::of(root).named_preemption() == Some("PREEMPT_RT")
}

/// The preemption model of the build.
pub(crate) fn preemption(root: &Root) -> Option<String> {
    let built = || {
        let config = KernelConfig::of(root);
        let options = ["PREEMPT_RT", "PREEMPT_VOLUNTARY", "PREEMPT_NONE", "PREEMPT_LAZY", "PREEMPT"];
        options.into_iter().find(|model| config.value(&format!("CONFIG_{model}")) == Some("y"))
    };
    let named = Kernel::of(root).named_preemption();
    let model = if is_realtime(root) { Some("PREEMPT_RT") } else { named };
    model.or_else(built).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(release: &str, build: &str) -> Kernel {
        Kernel { release: release.into(), build: build.into() }
    }

    #[test]
    fn releases_are_compared_as_numbers() {
        assert_eq!(kernel("6.18.4-arch1", "").at_least(6, 12), Some(true));
        assert_eq!(kernel("6.9.0", "").at_least(6, 12), Some(false));
        assert_eq!(kernel("7.0-rc1", "").at_least(6, 12), Some(true));
        assert_eq!(kernel("", "").at_least(6, 12), None);
    }

    #[test]
    fn the_build_string_names_the_model() {
        for (build, model) in [
            ("#1 SMP PREEMPT_RT Debian 6.12.48-1 (2025-09-20)", Some("PREEMPT_RT")),
            ("#1 SMP PREEMPT RT Thu Mar 4", Some("PREEMPT_RT")),
            ("#1 SMP PREEMPT_DYNAMIC @0", Some("PREEMPT_DYNAMIC")),
            ("#57-Ubuntu SMP", None),
        ] {
            assert_eq!(kernel("6.1", build).named_preemption(), model, "{build}");
        }
    }
}
