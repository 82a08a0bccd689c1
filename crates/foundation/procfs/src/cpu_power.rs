//! CPU power management: the cpufreq governor, and how often each cpuidle state was entered.
//!
//! Source: `Documentation/admin-guide/pm/cpufreq.rst`, `Documentation/admin-guide/pm/cpuidle.rst`.

use crate::{Reading, Root};

/// Folder of the frequency policies `policyN`; a policy covers the CPUs that share a frequency.
pub const FREQUENCY_POLICIES: &str = "/sys/devices/system/cpu/cpufreq";
/// File name of the governor within a policy.
pub const GOVERNOR: &str = "scaling_governor";

const CPUS: &str = "/sys/devices/system/cpu";

/// The governor of a CPU.
pub fn governor(root: &Root, cpu: u32) -> Reading {
    root.reading(file(&format!("cpu{cpu}")))
}

/// The governor files of all CPUs that have one.
pub fn governors(root: &Root) -> Vec<String> {
    root.list(CPUS).iter().map(|cpu| file(cpu)).filter(|path| root.has(path)).collect()
}

fn file(cpu: &str) -> String {
    format!("{CPUS}/{cpu}/cpufreq/{GOVERNOR}")
}

/// Entries into each idle state of `cpu` since boot, in the kernel's order of states; empty where there is none.
pub fn idle_usage(root: &Root, cpu: u32) -> Vec<u64> {
    let usage = |number: usize| -> Option<u64> {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{number}/usage");
        root.read(&path).ok()?.parse().ok()
    };
    (0..).map_while(usage).collect()
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

    #[test]
    fn states_are_counted_in_the_order_of_their_numbers() {
        let tree = tempfile::tempdir().unwrap();
        for (state, usage) in [(0, "7"), (1, "104179"), (2, "3")] {
            let folder = tree.path().join(format!("sys/devices/system/cpu/cpu1/cpuidle/state{state}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("usage"), format!("{usage}\n")).unwrap();
        }
        let root = Root::at(tree.path());
        assert_eq!(idle_usage(&root, 1), [7, 104_179, 3]);
        assert!(idle_usage(&root, 0).is_empty());
    }
}
