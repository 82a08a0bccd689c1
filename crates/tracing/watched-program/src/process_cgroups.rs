//! The control groups of processes.

use std::collections::HashMap;

use howlate_procfs::{CgroupMembership, Root};

/// Each asked once, as few change theirs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessGroups(HashMap<u32, String>);

impl ProcessGroups {
    /// Asks those of `processes` that have not been, and forgets all others.
    pub fn look(&mut self, processes: &[u32]) {
        self.0.retain(|pid, _| processes.contains(pid));
        for pid in processes {
            if !self.0.contains_key(pid)
                && let Some(path) = CgroupMembership::read(&Root::live(), *pid).path()
            {
                self.0.insert(*pid, path.to_owned());
            }
        }
    }

    /// Their paths, by the id of the process.
    pub const fn paths(&self) -> &HashMap<u32, String> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_gone_is_forgotten() {
        let mut groups = ProcessGroups::default();
        let own = std::process::id();
        groups.look(&[own]);
        assert_eq!(groups.paths().keys().collect::<Vec<_>>(), [&own]);
        groups.look(&[]);
        assert!(groups.paths().is_empty());
    }
}
