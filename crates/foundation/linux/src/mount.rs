//! File systems that only this process sees.

use std::io;
use std::os::fd::OwnedFd;

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// `fsopen(2)`, `fsmount(2)`: mounts a file system that no path leads to; its files are below `/proc/self/fd/N`. It is gone
/// when the descriptor is closed.
///
/// # Errors
///
/// `EPERM` without `CAP_SYS_ADMIN`; `ENODEV` where the kernel lacks it; `ENOSYS` before Linux 5.2.
///
/// Source: <https://man7.org/linux/man-pages/man2/fsmount.2.html>
pub fn detached(kind: &str) -> io::Result<OwnedFd> {
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
    fn nobody_else_sees_it() {
        let before = fs::read_to_string("/proc/self/mounts").unwrap();
        let Ok(mount) = detached("tmpfs") else {
            return howlate_testing::skip("this user may not mount");
        };
        let folder = format!("/proc/self/fd/{}", mount.as_raw_fd());
        fs::write(format!("{folder}/file"), "here").unwrap();
        assert_eq!(fs::read_to_string(format!("{folder}/file")).unwrap(), "here");
        assert_eq!(fs::read_to_string("/proc/self/mounts").unwrap(), before);
    }

    #[test]
    fn a_kind_that_is_none_is_refused() {
        assert!(detached("no-such-file-system").is_err());
    }
}
