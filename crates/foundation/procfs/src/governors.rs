//! `scaling_governor`: who chooses how fast a CPU runs.
//!
//! Source: `Documentation/admin-guide/pm/cpufreq.rst`.

use crate::{Reading, Root};

/// Where the frequency policies are, each in a folder `policyN`: one for the CPUs that run equally fast.
pub const FREQUENCY_POLICIES: &str = "/sys/devices/system/cpu/cpufreq";
/// The file of a policy that names its governor.
pub const GOVERNOR: &str = "scaling_governor";

const CPUS: &str = "/sys/devices/system/cpu";

/// The file that names a CPU's governor.
pub fn governor(root: &Root, cpu: u32) -> Reading {
    root.reading(file(&format!("cpu{cpu}")))
}

/// The file of every CPU that has one.
pub fn governors(root: &Root) -> Vec<String> {
    root.list(CPUS).iter().map(|cpu| file(cpu)).filter(|path| root.has(path)).collect()
}

fn file(cpu: &str) -> String {
    format!("{CPUS}/{cpu}/cpufreq/{GOVERNOR}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    #[test]
    fn each_cpu_has_its_own() {
        let (_folder, root) = tree(&[
            ("/sys/devices/system/cpu/cpu10/cpufreq/scaling_governor", "powersave\n"),
            ("/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "performance\n"),
            ("/sys/devices/system/cpu/cpu3/online", "1"),
            ("/sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "performance\n"),
        ]);
        assert_eq!(governor(&root, 2).text(), Some("performance"));
        assert_eq!(governor(&root, 3).text(), None);
        assert_eq!(governors(&root), ["cpu2", "cpu10"].map(file));
    }
}
