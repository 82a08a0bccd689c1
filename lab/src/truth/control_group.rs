//! A control group of this program, in either version; and a process whose group is short of memory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use howlate_linux::clock;
use howlate_model::Span;
use rustix::process::{Pid, Signal, kill_process};

/// Time for its processes to end.
const PATIENCE: Span = Span::from_secs(2);
const EVERY: Span = Span::from_millis(20);

/// The group, removed on drop.
pub struct ControlGroup {
    folder: PathBuf,
    name: String,
}

impl ControlGroup {
    /// Creates it in the first of `places` (hierarchy, file) that has the file; returns the file as well.
    pub fn create(name: &str, places: &[(&str, &'static str)]) -> io::Result<(Self, &'static str)> {
        let name = format!("howlate-truth-{name}-{}", std::process::id());
        for (place, file) in places {
            let folder = Path::new(place).join(&name);
            if fs::create_dir(&folder).is_err() {
                continue;
            }
            let group = Self { folder, name: name.clone() };
            if group.file(file).exists() {
                return Ok((group, file));
            }
        }
        let files: Vec<&str> = places.iter().map(|(_, file)| *file).collect();
        Err(io::Error::other(format!("there is no control group that has {}", files.join(" or "))))
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn set(&self, name: &str, value: &str) -> io::Result<()> {
        let file = self.file(name);
        fs::write(&file, value).map_err(|error| io::Error::other(format!("{}: {error}", file.display())))
    }

    /// The path as in `/proc/PID/cgroup`.
    pub fn path(&self) -> String {
        format!("/{}", self.name)
    }

    /// Kills all processes; atomically if the kernel has `cgroup.kill`, else without those that are forked meanwhile.
    pub fn kill(&self) {
        if fs::write(self.file("cgroup.kill"), "1").is_ok() {
            return;
        }
        let inside = fs::read_to_string(self.file("cgroup.procs")).unwrap_or_default();
        for pid in inside.lines().filter_map(|line| line.parse().ok().and_then(Pid::from_raw)) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    /// Shell command that moves the shell into the group.
    pub fn enter(&self) -> String {
        format!("echo $$ > {}", self.file("cgroup.procs").display())
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let until = clock::now().plus(PATIENCE);
        while fs::remove_dir(&self.folder).is_err() && clock::now() < until {
            drop(clock::sleep_for(EVERY));
        }
    }
}

/// Limit of the group, and length of the file, MiB.
const MEMORY_LIMIT: u64 = 8;
const FILE_LENGTH: u64 = 64;
/// The limit's file in cgroup v2, which throttles, and in v1, which is a hard limit.
const MEMORY_PLACES: [(&str, &str); 2] =
    [("/sys/fs/cgroup", "memory.high"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")];

/// A process that reads more than its control group may keep in memory, so that the kernel reclaims its pages all the time.
pub struct ReclaimedProcess {
    child: Child,
    // Dropped after the process has been killed.
    _group: ControlGroup,
    _file: tempfile::NamedTempFile,
}

impl ReclaimedProcess {
    pub fn start() -> io::Result<Self> {
        let (group, limit) = ControlGroup::create("memory", &MEMORY_PLACES)?;
        let file = tempfile::NamedTempFile::new_in(".")?;
        file.as_file().set_len(FILE_LENGTH << 20)?;
        group.set(limit, &(MEMORY_LIMIT << 20).to_string())?;
        let script = format!("{}; while :; do cat \"$0\" > /dev/null; done", group.enter());
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &script]).arg(file.path()).stdin(Stdio::null());
        Ok(Self { child: shell.spawn()?, _group: group, _file: file })
    }
}

impl Drop for ReclaimedProcess {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
