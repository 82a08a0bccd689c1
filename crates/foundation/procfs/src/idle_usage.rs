//! `cpuidle/stateN/usage`: how often a CPU has entered each of its idle states.
//!
//! Source: Documentation/admin-guide/pm/cpuidle.rst.

use crate::Root;

/// How often each idle state of `cpu` was entered since it was started, as the kernel numbers them; empty where it has none.
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
