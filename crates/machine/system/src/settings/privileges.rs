//! Capabilities and limits of this process: what it may change.

use howlate_model::Policy;
use howlate_procfs::{Limits, Root, Status, UNLIMITED};

/// Bits of `CAP_IPC_LOCK` and `CAP_SYS_NICE`. Source: `include/uapi/linux/capability.h`.
const IPC_LOCK: u32 = 14;
const SYS_NICE: u32 = 23;

/// `/proc/self/status` and `/proc/self/limits`.
pub(crate) struct Privileges {
    /// Whether it is root or has any capability; unknown counts as yes.
    is_privileged: bool,
    sys_nice: bool,
    /// The soft limits of `RLIMIT_NICE` and `RLIMIT_RTPRIO`.
    nice: u64,
    priority: u64,
    /// Whether any amount of memory can be locked; unknown counts as yes.
    locks_memory: bool,
}

impl Privileges {
    pub(crate) fn read(root: &Root) -> Self {
        let status = Status::read_own(root);
        let limits = Limits::read(root);
        let soft = |name: &str| limits.soft(name).unwrap_or(0);
        let capable = status.field("CapEff").is_none_or(|mask| !mask.trim_matches('0').is_empty());
        Self {
            is_privileged: capable || status.effective_user() == Some(0),
            sys_nice: status.has_bit("CapEff", SYS_NICE).unwrap_or(false),
            nice: soft("Max nice priority"),
            priority: soft("Max realtime priority"),
            locks_memory: status.has_bit("CapEff", IPC_LOCK) != Some(false)
                || soft("Max locked memory") == UNLIMITED,
        }
    }

    /// What is missing to set `policy`; `None` if nothing. Source: `sched(7)`; `RLIMIT_NICE` counts from 20 downwards.
    pub(crate) fn missing_for_policy(&self, policy: Policy) -> Option<String> {
        if self.sys_nice {
            return None;
        }
        match policy {
            Policy::Other { nice: Some(nice) } => {
                let needed = u64::try_from(20 - nice.get()).unwrap_or(0);
                (self.nice < needed).then(|| format!("needs root, or a higher limit (`ulimit -e {needed}`)"))
            }
            Policy::Fifo { priority } | Policy::Rr { priority } => {
                let needed = u64::from(priority.get());
                (self.priority < needed)
                    .then(|| format!("needs root, or a higher limit (`ulimit -r {needed}`)"))
            }
            _ => None,
        }
    }

    /// What is missing to lock all memory; `None` if nothing. A finite limit may be exceeded later. Source: `mlock(2)`.
    pub(crate) fn missing_for_lock(&self) -> Option<String> {
        (!self.locks_memory).then(|| "needs root, or a higher limit (`ulimit -l unlimited`)".to_owned())
    }

    /// What is missing to write to a file; `None` if nothing. Does not write.
    pub(crate) fn missing_for_write(&self, root: &Root, path: &str) -> Option<String> {
        if !self.is_privileged {
            return Some("needs root".to_owned());
        }
        root.writable(path).err().map(|error| format!("{path}: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::testing::tree;

    fn privileges(capabilities: &str, limits: &str) -> Privileges {
        let status = format!("Uid:\t1000\t1000\t1000\t1000\nCapEff:\t{capabilities}\n");
        Privileges::read(&tree(&[("/proc/self/status", &status), ("/proc/self/limits", limits)]).1)
    }

    #[test]
    fn a_limit_or_a_capability_is_enough() {
        let fifo: Policy = "fifo:80".parse().unwrap();
        let nice: Policy = "nice:-20".parse().unwrap();
        let unprivileged =
            privileges("0000000000000000", "Max nice priority  0  0\nMax realtime priority  79  99");
        assert_eq!(
            unprivileged.missing_for_policy(fifo),
            Some("needs root, or a higher limit (`ulimit -r 80`)".to_owned())
        );
        assert_eq!(
            unprivileged.missing_for_policy(nice),
            Some("needs root, or a higher limit (`ulimit -e 40`)".to_owned())
        );
        assert!(unprivileged.missing_for_lock().is_some());
        assert_eq!(privileges("0000000000004000", "").missing_for_lock(), None);
        assert_eq!(
            privileges("0", "Max locked memory  unlimited  unlimited  bytes").missing_for_lock(),
            None
        );
        let limited =
            privileges("0000000000000000", "Max nice priority  40  40\nMax realtime priority  80  80");
        assert_eq!((limited.missing_for_policy(fifo), limited.missing_for_policy(nice)), (None, None));
        let capable = privileges("0000000000800000", "");
        assert_eq!((capable.missing_for_policy(fifo), capable.missing_for_policy(nice)), (None, None));
    }

    #[test]
    fn an_ordinary_user_writes_none_of_the_kernels_files() {
        let (_folder, root) = tree(&[("/sys/a", "1")]);
        assert_eq!(
            privileges("0000000000000000", "").missing_for_write(&root, "/sys/a"),
            Some("needs root".into())
        );
        assert_eq!(privileges("000001ffffffffff", "").missing_for_write(&root, "/sys/a"), None);
        let missing = privileges("000001ffffffffff", "").missing_for_write(&root, "/sys/b");
        assert_eq!(missing, Some("/sys/b: no such file".into()));
    }
}
