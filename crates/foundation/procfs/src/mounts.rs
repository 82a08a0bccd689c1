//! `/proc/self/mountinfo`: mounted file systems.
//!
//! Not by procfs-core 0.18, which does not decode `\040`, and fails on the whole file where one line is malformed.

use crate::Root;

/// Every mount that this process sees, in the kernel's order.
#[derive(Clone, Debug, Default)]
pub struct Mounts {
    mounts: Vec<Mount>,
}

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// File system type: `tracefs`, `cgroup2`.
    pub kind: String,
    /// Mount point.
    pub point: String,
    /// Root of the mount within the file system: mostly `/`.
    pub top: String,
    /// Options of the file system: `rw,cpu,cpuacct`.
    options: String,
}

impl Mounts {
    /// Empty where the file cannot be read.
    pub fn read(root: &Root) -> Self {
        let text = root.read("/proc/self/mountinfo").unwrap_or_default();
        Self { mounts: text.lines().filter_map(Mount::parse).collect() }
    }

    pub fn find(&self, predicate: impl Fn(&Mount) -> bool) -> Option<&Mount> {
        self.mounts.iter().find(|mount| predicate(mount))
    }
}

impl Mount {
    /// `35 23 0:30 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate`: before the dash any number of
    /// fields, after it three. Source: `proc_pid_mountinfo(5)`.
    fn parse(line: &str) -> Option<Self> {
        let (mount, system) = line.split_once(" - ")?;
        let mut system = system.split_whitespace();
        let (kind, options) = (system.next()?, system.last()?);
        let mut fields = mount.split_whitespace().skip(3);
        let (top, point) = (unescaped(fields.next()?), unescaped(fields.next()?));
        Some(Self { kind: kind.to_owned(), point, top, options: options.to_owned() })
    }

    /// Whether the file system has an option; for cgroup v1, a controller.
    pub fn has_option(&self, name: &str) -> bool {
        self.options.split(',').any(|option| option == name)
    }
}

/// Decodes the octal escapes (`\040`) of space, tab, newline and backslash.
fn unescaped(path: &str) -> String {
    let mut parts = path.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend(&part.as_bytes()[3..]);
            }
            None => bytes.extend([b"\\", part.as_bytes()].concat()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    /// Lines as kernels and container runtimes write them; the last is cut off.
    const MOUNTINFO: &str = r"22 28 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:13 - proc proc rw
1210 1130 0:201 / / rw,relatime master:330 - overlay overlay rw,lowerdir=/l/AB,upperdir=/cd/diff
36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 propagate_from:2 - ext3 /dev/root rw,errors=continue
41 28 8:17 /a\040b\011c /media/My\040Disk\134x\012 rw - vfat /dev/sd\040b1 rw
39 33 0:34 /docker/1f /sys/fs/cgroup/cpu,cpuacct rw shared:16 - cgroup cgroup rw,cpu,cpuacct
50 22 0:12 / /sys/kernel/tracing rw,relatime - tracefs  rw
51 22 0:12 / /cut";

    #[test]
    fn each_mount_has_its_place_and_its_kind() {
        let (_folder, root) = tree(&[("/proc/self/mountinfo", MOUNTINFO)]);
        let mounts = Mounts::read(&root);
        let of_kind = |kind: &str| {
            mounts.find(|mount| mount.kind == kind).map(|mount| (mount.top.as_str(), mount.point.as_str()))
        };
        for (kind, expected) in [
            ("proc", Some(("/", "/proc"))),
            ("overlay", Some(("/", "/"))),
            ("ext3", Some(("/mnt1", "/mnt2"))),
            ("vfat", Some(("/a b\tc", "/media/My Disk\\x\n"))),
            ("cgroup", Some(("/docker/1f", "/sys/fs/cgroup/cpu,cpuacct"))),
            ("tracefs", Some(("/", "/sys/kernel/tracing"))),
            ("btrfs", None),
        ] {
            assert_eq!(of_kind(kind), expected, "{kind}");
        }
        assert_eq!(mounts.mounts.len(), 6, "the truncated line is left out");
        let cpu = |mount: &Mount| mount.has_option("cpu");
        assert_eq!(mounts.find(cpu).map(|mount| mount.kind.as_str()), Some("cgroup"));
        assert!(mounts.find(|mount| mount.has_option("cpua")).is_none());
    }

    #[test]
    fn a_malformed_escape_stays() {
        for (written, expected) in
            [(r"\040", " "), (r"a\b", r"a\b"), (r"\999", r"\999"), (r"\", r"\"), (r"\04µ", r"\04µ")]
        {
            assert_eq!(unescaped(written), expected, "{written}");
        }
        assert_eq!(unescaped(r"\303\244"), "ä", "bytes of one letter");
    }
}
