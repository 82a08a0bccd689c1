//! A trace of our own beside the machine's: a directory below tracefs's `instances`, with its own buffers, events and
//! clock, so that nobody else's trace is touched.
//!
//! It is removed when this is dropped. What a killed howlate has left is found by its name and by a lock that nobody
//! holds, and removed by the next; until then it records nothing and its buffers are given back, because the kernel
//! closed `free_buffer` with the process.
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

/// What the names of ours begin with.
const NAME: &str = "howlate-";
/// So many of one process, at most.
const MOST: u32 = 16;

/// Where tracefs is mounted; `None` where it is not.
fn mounted() -> Option<PathBuf> {
    Mounts::read(&Root::live()).find(|mount| mount.kind == "tracefs").map(|mount| PathBuf::from(&mount.point))
}

/// Removes what killed processes have left.
pub(crate) fn clear_up() {
    mounted().iter().for_each(|tracefs| clear_up_below(tracefs));
}

fn clear_up_below(tracefs: &Path) {
    let instances = tracefs.join("instances");
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(NAME) {
            remove_if_left(&entry.path());
        }
    }
}

fn remove_if_left(place: &Path) {
    let is_left = File::open(place).is_ok_and(|directory| directory.try_lock().is_ok());
    if is_left {
        // One that somebody else looks into stays until the next time.
        drop(switch_off(place).and_then(|()| fs::remove_dir(place)));
    }
}

fn switch_off(place: &Path) -> io::Result<()> {
    write(&place.join("tracing_on"), "0")?;
    write(&place.join("events/enable"), "0")
}

fn write(path: &Path, value: &str) -> io::Result<()> {
    File::options().write(true).truncate(true).open(path)?.write_all(value.as_bytes())
}

fn text(path: &Path) -> String {
    Root::live().read(&path.to_string_lossy()).unwrap_or_default()
}

/// A trace of our own.
pub(super) struct Instance {
    place: PathBuf,
    /// The directory, locked as long as this process lives.
    lock: Option<File>,
    /// Closed with the process, however it ends.
    free_buffer: Option<File>,
    /// Where it is, if nobody else has it mounted: a mount that no path leads to, gone with this.
    mount: Option<OwnedFd>,
}

impl Instance {
    /// Makes one, after removing what was left of others.
    pub(super) fn make() -> Result<Self, TracerRefusal> {
        Self::below(&mounted().ok_or(TracerRefusal::NotMounted)?)
    }

    /// The same; where tracefs is not mounted, in a mount that nobody else sees.
    pub(super) fn make_anyhow() -> Result<Self, TracerRefusal> {
        if mounted().is_some() {
            return Self::make();
        }
        let mount = files::mount_detached("tracefs").map_err(|_| TracerRefusal::NotMounted)?;
        let tracefs = PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd()));
        let mut instance = Self::below(&tracefs)?;
        instance.mount = Some(mount);
        Ok(instance)
    }

    fn below(tracefs: &Path) -> Result<Self, TracerRefusal> {
        clear_up_below(tracefs);
        let instances = tracefs.join("instances");
        for number in 0..MOST {
            let more = if number == 0 { String::new() } else { format!("-{number}") };
            let place = instances.join(format!("{NAME}{}{more}", std::process::id()));
            match fs::create_dir(&place).and_then(|()| Self::lock(place)) {
                Ok(instance) => return Ok(instance),
                // Another of this process, or removed by somebody before it was locked.
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

    fn lock(place: PathBuf) -> io::Result<Self> {
        let lock = File::open(&place)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::NotFound.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let mut instance = Self { place, lock: Some(lock), free_buffer: None, mount: None };
        write(&instance.path("options/disable_on_free"), "1")?;
        instance.free_buffer = Some(File::options().write(true).open(instance.path("free_buffer"))?);
        Ok(instance)
    }

    fn path(&self, file: &str) -> PathBuf {
        self.place.join(file)
    }

    /// Writes one of its settings.
    pub(super) fn set(&self, file: &str, value: &str) -> Result<(), TracerRefusal> {
        write(&self.path(file), value).map_err(|error| TracerRefusal::Kernel {
            doing: format!("write `{value}` to {}", self.path(file).display()),
            reason: error.to_string(),
        })
    }

    /// Reads one of its texts; empty where there is none.
    pub(super) fn text(&self, file: &str) -> String {
        text(&self.path(file))
    }

    /// How the pages of all traces are laid out. The kernel tells it in one read or not at all.
    pub(super) fn header_page(&self) -> String {
        let top = self.place.ancestors().nth(2).unwrap_or(&self.place);
        let mut text = vec![0; 4096];
        let read = File::open(top.join("events/header_page")).and_then(|mut file| file.read(&mut text));
        String::from_utf8_lossy(&text[..read.unwrap_or(0)]).into_owned()
    }

    /// Opens one of its streams.
    pub(super) fn stream(&self, file: &str) -> io::Result<File> {
        open_nonblocking(&self.path(file))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        (self.free_buffer, self.lock) = (None, None);
        // What does not go now is removed by the next howlate.
        drop(switch_off(&self.place));
        drop(fs::remove_dir(&self.place));
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

/// Whether the kernel lets nobody look into it.
fn is_locked_down() -> bool {
    let level = Root::live().read("/sys/kernel/security/lockdown").unwrap_or_default();
    level.contains("[confidentiality]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_holds_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("events")).unwrap();
        let switches = ["tracing_on", "events/enable"].map(|name| place.path().join(name));
        switches.iter().for_each(|switch| fs::write(switch, "1").unwrap());
        let holder = File::open(place.path()).unwrap();
        holder.lock().unwrap();
        let all_are =
            |value: &str| switches.iter().all(|switch| fs::read_to_string(switch).unwrap() == value);
        remove_if_left(place.path());
        assert!(all_are("1"));
        drop(holder);
        remove_if_left(place.path());
        assert!(all_are("0"));
    }

    #[test]
    fn why_it_cannot_be_written_is_told() {
        let place = Path::new("/mnt/trace");
        let told = |kind: io::ErrorKind| refusal(place, &kind.into()).to_string();
        assert!(told(io::ErrorKind::ReadOnlyFilesystem).contains("mount -o remount,rw /mnt/trace"));
        assert!(told(io::ErrorKind::PermissionDenied).contains("run as root"));
        assert!(told(io::ErrorKind::OutOfMemory).contains("make a trace below /mnt/trace"));
    }
}
