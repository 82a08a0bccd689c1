//! `/proc/self/mountinfo`: which file systems are mounted, and where.
//!
//! By our own: procfs-core 0.18 leaves `\040` as it is, and one line that it does not know loses all.

use crate::Root;

/// Every mount that this process sees, in the kernel's order.
#[derive(Clone, Debug, Default)]
pub struct Mounts {
    mounts: Vec<Mount>,
}

/// One line of the mounts: what is mounted where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The kind of file system: `tracefs`, `cgroup2`.
    pub kind: String,
    /// Where it is mounted.
    pub point: String,
    /// The part of the file system that is mounted there: `/`, mostly.
    pub top: String,
    /// What holds for the whole file system: `rw,cpu,cpuacct`.
    options: String,
}

impl Mounts {
    /// Reads them; none where they cannot be read.
    pub fn read(root: &Root) -> Self {
        let text = root.read("/proc/self/mountinfo").unwrap_or_default();
        Self { mounts: text.lines().filter_map(Mount::parse).collect() }
    }

    /// The first that is `wanted`.
    pub fn find(&self, wanted: impl Fn(&Mount) -> bool) -> Option<&Mount> {
        self.mounts.iter().find(|mount| wanted(mount))
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

    /// Whether an option holds for the whole file system; of cgroup v1, whether it has a controller.
    pub fn has_option(&self, name: &str) -> bool {
        self.options.split(',').any(|option| option == name)
    }
}

/// The kernel writes a space, a tab, a line's end and a backslash as three octal digits: `\040`.
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
        assert_eq!(mounts.mounts.len(), 6, "what is cut off is none");
        let cpu = |mount: &Mount| mount.has_option("cpu");
        assert_eq!(mounts.find(cpu).map(|mount| mount.kind.as_str()), Some("cgroup"));
        assert!(mounts.find(|mount| mount.has_option("cpua")).is_none());
    }

    #[test]
    fn what_is_no_octal_number_stays() {
        for (written, expected) in
            [(r"\040", " "), (r"a\b", r"a\b"), (r"\999", r"\999"), (r"\", r"\"), (r"\04µ", r"\04µ")]
        {
            assert_eq!(unescaped(written), expected, "{written}");
        }
        assert_eq!(unescaped(r"\303\244"), "ä", "bytes of one letter");
    }
}
