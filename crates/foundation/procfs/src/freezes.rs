//! `cgroup.stat.local`: for how long a control group was frozen.

use howlate_model::Span;

use crate::{Cgroup, CgroupVersion, Root};

/// For how long all threads of a group stood still since it was made, because it or one above it was frozen. `None` where the
/// kernel does not count it: before Linux 6.18, for the top group, and in cgroup v1.
///
/// Source: `frozen_usec` in `Documentation/admin-guide/cgroup-v2.rst`.
pub fn frozen_time(root: &Root, group: &Cgroup) -> Option<Span> {
    if group.version == CgroupVersion::One {
        return None;
    }
    let text = root.read(&group.file("cgroup.stat.local")).ok()?;
    let micros: u64 = text.lines().find_map(|line| line.strip_prefix("frozen_usec ")?.trim().parse().ok())?;
    Some(Span::from_nanos(micros.saturating_mul(1_000)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuCgroups;
    use crate::testing::tree;

    #[test]
    fn it_is_read_where_the_kernel_counts_it() {
        let mounts = "1 1 0:1 / /v1 rw - cgroup cgroup rw,cpu\n2 1 0:2 / /v2 rw - cgroup2 cgroup2 rw";
        let (_folder, root) = tree(&[
            ("/proc/self/mountinfo", mounts),
            ("/proc/7/cgroup", "1:cpu:/a\n0::/a"),
            ("/proc/8/cgroup", "0::/older"),
            ("/v1/a/cgroup.stat.local", "frozen_usec 9\n"),
            ("/v2/a/cgroup.stat.local", "frozen_usec 70\n"),
        ]);
        let groups = CpuCgroups::read(&root, 7);
        assert_eq!(groups.v2.and_then(|group| frozen_time(&root, &group)), Some(Span::from_micros(70)));
        assert_eq!(groups.v1.and_then(|group| frozen_time(&root, &group)), None);
        assert_eq!(CpuCgroups::read(&root, 8).v2.and_then(|group| frozen_time(&root, &group)), None);
    }
}
