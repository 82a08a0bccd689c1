//! Files opened without blocking, and file systems that no path leads to.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// `open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)`: a read fails with `WouldBlock` where there is nothing to read.
///
/// Source: <https://man7.org/linux/man-pages/man2/open.2.html>
pub fn open_nonblocking(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(open(path, flags, Mode::empty())?))
}

/// `fsopen(2)`, `fsmount(2)`: mounts a file system that no path leads to; its files are below `/proc/self/fd/N`. Closing the
/// descriptor unmounts it.
///
/// # Errors
///
/// `EPERM` without `CAP_SYS_ADMIN`; `ENODEV` where the kernel lacks the file system; `ENOSYS` before Linux 5.2.
///
/// Source: <https://man7.org/linux/man-pages/man2/fsmount.2.html>
pub fn mount_detached(kind: &str) -> io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    Ok(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_detached_mount_is_in_no_mount_table() {
        let before = fs::read_to_string("/proc/self/mounts").unwrap();
        let Ok(mount) = mount_detached("tmpfs") else {
            return howlate_testing::skip("this user may not mount");
        };
        let folder = format!("/proc/self/fd/{}", mount.as_raw_fd());
        fs::write(format!("{folder}/file"), "here").unwrap();
        assert_eq!(fs::read_to_string(format!("{folder}/file")).unwrap(), "here");
        assert_eq!(fs::read_to_string("/proc/self/mounts").unwrap(), before);
    }

    #[test]
    fn an_unknown_file_system_is_refused() {
        assert!(mount_detached("no-such-file-system").is_err());
    }
}
