//! Which CPUs are set apart from the rest of the machine now, however that came about.

use howlate_model::CpuSet;

use crate::{Reading, Root, Status, cpus_of, list_of_cpus};

const CPUS: &str = "/sys/devices/system/cpu";

/// The CPUs to which the scheduler moves nothing, those without a tick, and those that this process may be on.
#[derive(Clone, Debug)]
pub struct Isolation {
    /// CPUs that are there and switched on.
    pub online: CpuSet,
    /// Those of them to which the scheduler moves nothing by itself.
    pub untouched: CpuSet,
    /// Those of them whose tick stops while one thread runs.
    pub tickless: CpuSet,
    /// Those of them that this process may use now.
    pub allowed: CpuSet,
    /// The files that say so: at boot, and in control groups.
    pub readings: [Reading; 2],
}

impl Isolation {
    /// The file for what was isolated at boot.
    pub const AT_BOOT: &str = "/sys/devices/system/cpu/isolated";

    /// Reads it. What was isolated while the machine runs stands in the topmost control group.
    ///
    /// Source: Documentation/admin-guide/cgroup-v2.rst, `cpuset.cpus.isolated`; Documentation/ABI/testing/sysfs-devices-system-cpu.
    pub fn read(root: &Root) -> Self {
        let online = list_of_cpus(root, &format!("{CPUS}/online"));
        let readings = [Self::AT_BOOT, "/sys/fs/cgroup/cpuset.cpus.isolated"].map(|path| root.reading(path));
        let there = |cpus: CpuSet| -> CpuSet { cpus.iter().filter(|cpu| online.contains(*cpu)).collect() };
        let isolated = readings.iter().filter_map(cpus_of).map(&there);
        let untouched = isolated.fold(CpuSet::default(), |all, more| all.iter().chain(more.iter()).collect());
        let tickless = cpus_of(&root.reading(format!("{CPUS}/nohz_full"))).unwrap_or_default();
        let allowed = there(Status::read_own(root).cpus_allowed());
        Self { untouched, tickless: there(tickless), allowed, online, readings }
    }

    /// All that is set apart in either way.
    pub fn apart(&self) -> CpuSet {
        self.untouched.iter().chain(self.tickless.iter()).collect()
    }

    /// Those in words: `the isolated CPUs 2-3`.
    pub fn apart_in_words(&self) -> String {
        let (apart, kind) = (
            self.apart(),
            match (self.untouched.is_empty(), self.tickless.without(&self.untouched).is_empty()) {
                (true, _) => "nohz_full",
                (false, true) => "isolated",
                (false, false) => "isolated and nohz_full",
            },
        );
        let cpus = if apart.len() == 1 { "CPU" } else { "CPUs" };
        format!("the {kind} {cpus} {apart}")
    }

    /// The CPUs on which it matters how late threads run: those that are set apart, of these the ones that this process may use, if it
    /// may use any; all that it may use where none is.
    pub fn that_matter(&self) -> CpuSet {
        let apart = self.apart();
        let within =
            |cpus: &CpuSet| -> CpuSet { cpus.iter().filter(|cpu| self.allowed.contains(*cpu)).collect() };
        match (within(&apart), within(&self.online)) {
            (own, _) if !own.is_empty() => own,
            _ if !apart.is_empty() => apart,
            (_, own) if !own.is_empty() => own,
            _ => self.online.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    fn of(boot: &str, groups: &str, tickless: &str, allowed: &str) -> Isolation {
        let status = format!("Cpus_allowed_list:\t{allowed}\n");
        let files = [
            ("/sys/devices/system/cpu/online", "0-5\n"),
            (Isolation::AT_BOOT, boot),
            ("/sys/fs/cgroup/cpuset.cpus.isolated", groups),
            ("/sys/devices/system/cpu/nohz_full", tickless),
            ("/proc/self/status", &status),
        ];
        Isolation::read(&tree(&files).1)
    }

    #[test]
    fn whatever_way_a_cpu_is_set_apart_it_is() {
        let all = of("4-7", "3\n", "(null)\n", "0-2");
        assert_eq!((all.untouched.to_string(), all.apart().to_string()), ("3-5".into(), "3-5".into()));
        assert_eq!(all.that_matter().to_string(), "3-5", "6 and 7 are off");
        let tickless = of("", "", "2-3", "0-5");
        assert_eq!((tickless.untouched.len(), tickless.apart().to_string()), (0, "2-3".into()));
    }

    #[test]
    fn of_a_container_its_own_cpus_matter() {
        assert_eq!(of("2-5", "", "", "4").that_matter().to_string(), "4");
        assert_eq!(of("", "", "", "1-2").that_matter().to_string(), "1-2");
        assert_eq!(of("", "", "", "").that_matter().to_string(), "0-5");
    }
}
