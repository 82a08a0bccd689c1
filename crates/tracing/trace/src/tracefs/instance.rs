//! A trace instance: a directory below tracefs's `instances` with its own buffers, events and clock, independent of other traces.
//!
//! It is removed on drop. Instances of a killed howlate are recognised by their name and by a lock that is not held, and removed by the next
//! howlate; until then they record nothing and their buffers are freed, because the kernel closed `free_buffer` with the process.
//!
//! Source: `Documentation/trace/ftrace.rst`.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use howlate_linux::files;
use howlate_linux::files::open_nonblocking;
use howlate_model::TracerRefusal;
use howlate_procfs::{Mounts, Root};

/// Prefix of the names of howlate's instances.
const PREFIX: &str = "howlate-";
/// Instances of one process.
const MAX_INSTANCES: u32 = 16;

/// Mount point of tracefs.
fn mount_point() -> Option<PathBuf> {
    Mounts::read(&Root::live()).find(|mount| mount.kind == "tracefs").map(|mount| PathBuf::from(&mount.point))
}

/// Removes instances that killed processes left behind.
pub(crate) fn remove_leftovers() {
    mount_point().iter().for_each(|tracefs| remove_leftovers_below(tracefs));
}

fn remove_leftovers_below(tracefs: &Path) {
    let instances = tracefs.join("instances");
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            remove_if_unlocked(&entry.path());
        }
    }
}

fn remove_if_unlocked(directory: &Path) {
    let is_unlocked = File::open(directory).is_ok_and(|file| file.try_lock().is_ok());
    if is_unlocked {
        // An instance that is in use elsewhere stays until the next time.
        drop(switch_off(directory).and_then(|()| fs::remove_dir(directory)));
    }
}

fn switch_off(directory: &Path) -> io::Result<()> {
    write(&directory.join("tracing_on"), "0")?;
    write(&directory.join("events/enable"), "0")
}

fn write(path: &Path, value: &str) -> io::Result<()> {
    File::options().write(true).truncate(true).open(path)?.write_all(value.as_bytes())
}

fn text(path: &Path) -> String {
    Root::live().read(&path.to_string_lossy()).unwrap_or_default()
}

pub(super) struct TraceInstance {
    directory: PathBuf,
    /// The directory, locked as long as this process lives.
    lock: Option<File>,
    /// Closed with the process, however it ends.
    free_buffer: Option<File>,
    /// A detached mount, if tracefs is not mounted.
    mount: Option<OwnedFd>,
}

impl TraceInstance {
    /// Creates an instance, after removing leftovers.
    pub(super) fn create() -> Result<Self, TracerRefusal> {
        Self::below(&mount_point().ok_or(TracerRefusal::NotMounted)?)
    }

    /// As [`TraceInstance::create`]; if tracefs is not mounted, in a detached mount.
    pub(super) fn create_anywhere() -> Result<Self, TracerRefusal> {
        if mount_point().is_some() {
            return Self::create();
        }
        let mount = files::mount_detached("tracefs").map_err(|_| TracerRefusal::NotMounted)?;
        let tracefs = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
        let mut instance = Self::below(&tracefs)?;
        instance.mount = Some(mount);
        Ok(instance)
    }

    fn below(tracefs: &Path) -> Result<Self, TracerRefusal> {
        remove_leftovers_below(tracefs);
        let instances = tracefs.join("instances");
        for number in 0..MAX_INSTANCES {
            let suffix = if number == 0 { String::new() } else { format!("-{number}") };
            let directory = instances.join(format!("{PREFIX}{}{suffix}", std::process::id()));
            match fs::create_dir(&directory).and_then(|()| Self::lock(directory)) {
                Ok(instance) => return Ok(instance),
                // Another one of this process, or removed by another howlate before it was locked.
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => {}
                Err(error) => return Err(refusal(tracefs, &error)),
            }
        }
        Err(TracerRefusal::Kernel {
            doing: "make a trace".to_owned(),
            reason: "too many are there".to_owned(),
        })
    }

    fn lock(directory: PathBuf) -> io::Result<Self> {
        let lock = File::open(&directory)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::NotFound.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let mut instance = Self { directory, lock: Some(lock), free_buffer: None, mount: None };
        write(&instance.path("options/disable_on_free"), "1")?;
        instance.free_buffer = Some(File::options().write(true).open(instance.path("free_buffer"))?);
        Ok(instance)
    }

    fn path(&self, file: &str) -> PathBuf {
        self.directory.join(file)
    }

    /// Writes a setting.
    pub(super) fn set(&self, file: &str, value: &str) -> Result<(), TracerRefusal> {
        write(&self.path(file), value).map_err(|error| TracerRefusal::Kernel {
            doing: format!("write `{value}` to {}", self.path(file).display()),
            reason: error.to_string(),
        })
    }

    /// Reads a file; empty if there is none.
    pub(super) fn text(&self, file: &str) -> String {
        text(&self.path(file))
    }

    /// Layout of the pages of all traces. The kernel returns it in one read or not at all.
    pub(super) fn header_page(&self) -> String {
        let top = self.directory.ancestors().nth(2).unwrap_or(&self.directory);
        let mut text = vec![0; 4096];
        let read = File::open(top.join("events/header_page")).and_then(|mut file| file.read(&mut text));
        String::from_utf8_lossy(&text[..read.unwrap_or(0)]).into_owned()
    }

    /// Opens a stream.
    pub(super) fn stream(&self, file: &str) -> io::Result<File> {
        open_nonblocking(&self.path(file))
    }
}

impl Drop for TraceInstance {
    fn drop(&mut self) {
        (self.free_buffer, self.lock) = (None, None);
        // What cannot be removed now is removed by the next howlate.
        drop(switch_off(&self.directory));
        drop(fs::remove_dir(&self.directory));
        self.mount = None;
    }
}

fn refusal(tracefs: &Path, error: &io::Error) -> TracerRefusal {
    let place = tracefs.display().to_string();
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => TracerRefusal::ReadOnly { place },
        io::ErrorKind::PermissionDenied if is_locked_down() => TracerRefusal::LockedDown,
        io::ErrorKind::PermissionDenied => TracerRefusal::NotRoot { place },
        _ => {
            TracerRefusal::Kernel { doing: format!("make a trace below {place}"), reason: error.to_string() }
        }
    }
}

/// Whether kernel lockdown forbids tracing.
fn is_locked_down() -> bool {
    let level = Root::live().read("/sys/kernel/security/lockdown").unwrap_or_default();
    level.contains("[confidentiality]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locked_instance_is_not_removed() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("events")).unwrap();
        let switches = ["tracing_on", "events/enable"].map(|name| directory.path().join(name));
        switches.iter().for_each(|switch| fs::write(switch, "1").unwrap());
        let holder = File::open(directory.path()).unwrap();
        holder.lock().unwrap();
        let all_are =
            |value: &str| switches.iter().all(|switch| fs::read_to_string(switch).unwrap() == value);
        remove_if_unlocked(directory.path());
        assert!(all_are("1"));
        drop(holder);
        remove_if_unlocked(directory.path());
        assert!(all_are("0"));
    }

    #[test]
    fn refusals_say_what_to_do() {
        let directory = Path::new("/mnt/trace");
        let message = |kind: io::ErrorKind| refusal(directory, &kind.into()).to_string();
        assert!(message(io::ErrorKind::ReadOnlyFilesystem).contains("mount -o remount,rw /mnt/trace"));
        assert!(message(io::ErrorKind::PermissionDenied).contains("run as root"));
        assert!(message(io::ErrorKind::OutOfMemory).contains("make a trace below /mnt/trace"));
    }
}
