//! CPUs that are currently isolated from the scheduler or tickless, by boot parameters or cpusets.

use howlate_model::CpuSet;

use crate::{Reading, Root, Status, parse_cpu_list, read_cpu_list};

const CPUS: &str = "/sys/devices/system/cpu";

/// The isolated CPUs, the tickless CPUs, and the CPUs that this process may use.
#[derive(Clone, Debug)]
pub struct Isolation {
    /// Online CPUs; the other sets are subsets of it.
    pub online: CpuSet,
    /// CPUs that the load balancer leaves alone.
    pub isolated: CpuSet,
    /// CPUs whose tick stops while a single thread runs (`nohz_full`).
    pub tickless: CpuSet,
    /// The affinity of this process.
    pub allowed: CpuSet,
    /// The files of isolation at boot, and by cpusets.
    pub readings: [Reading; 2],
}

impl Isolation {
    /// The file of CPUs isolated at boot.
    pub const AT_BOOT: &str = "/sys/devices/system/cpu/isolated";

    /// CPUs isolated at run time are listed in the root control group.
    ///
    /// Source: Documentation/admin-guide/cgroup-v2.rst, `cpuset.cpus.isolated`; Documentation/ABI/testing/sysfs-devices-system-cpu.
    pub fn read(root: &Root) -> Self {
        let online = read_cpu_list(root, &format!("{CPUS}/online"));
        let readings = [Self::AT_BOOT, "/sys/fs/cgroup/cpuset.cpus.isolated"].map(|path| root.reading(path));
        let online_of =
            |cpus: CpuSet| -> CpuSet { cpus.iter().filter(|cpu| online.contains(*cpu)).collect() };
        let lists = readings.iter().filter_map(parse_cpu_list).map(&online_of);
        let isolated = lists.fold(CpuSet::default(), |all, more| all.iter().chain(more.iter()).collect());
        let tickless = parse_cpu_list(&root.reading(format!("{CPUS}/nohz_full"))).unwrap_or_default();
        let allowed = online_of(Status::read_own(root).cpus_allowed());
        Self { isolated, tickless: online_of(tickless), allowed, online, readings }
    }

    /// CPUs that are isolated, tickless, or both.
    pub fn separated(&self) -> CpuSet {
        self.isolated.iter().chain(self.tickless.iter()).collect()
    }

    /// Text for [`separated`](Self::separated) CPUs: `the isolated CPUs 2-3`.
    pub fn describe_separated(&self) -> String {
        let (cpus, kind) = (
            self.separated(),
            match (self.isolated.is_empty(), self.tickless.without(&self.isolated).is_empty()) {
                (true, _) => "nohz_full",
                (false, true) => "isolated",
                (false, false) => "isolated and nohz_full",
            },
        );
        let noun = if cpus.len() == 1 { "CPU" } else { "CPUs" };
        format!("the {kind} {noun} {cpus}")
    }

    /// The CPUs whose latency matters: the separated CPUs that this process may use; all separated ones if it may use none of them; where
    /// none is separated, all that it may use.
    pub fn relevant_cpus(&self) -> CpuSet {
        let separated = self.separated();
        let within =
            |cpus: &CpuSet| -> CpuSet { cpus.iter().filter(|cpu| self.allowed.contains(*cpu)).collect() };
        match (within(&separated), within(&self.online)) {
            (own, _) if !own.is_empty() => own,
            _ if !separated.is_empty() => separated,
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
    fn isolation_at_boot_and_by_cpusets_are_joined() {
        let all = of("4-7", "3\n", "(null)\n", "0-2");
        assert_eq!((all.isolated.to_string(), all.separated().to_string()), ("3-5".into(), "3-5".into()));
        assert_eq!(all.relevant_cpus().to_string(), "3-5", "6 and 7 are off");
        let tickless = of("", "", "2-3", "0-5");
        assert_eq!((tickless.isolated.len(), tickless.separated().to_string()), (0, "2-3".into()));
    }

    #[test]
    fn in_a_container_its_own_cpus_are_relevant() {
        assert_eq!(of("2-5", "", "", "4").relevant_cpus().to_string(), "4");
        assert_eq!(of("", "", "", "1-2").relevant_cpus().to_string(), "1-2");
        assert_eq!(of("", "", "", "").relevant_cpus().to_string(), "0-5");
    }
}
