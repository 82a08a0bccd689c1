//! A control group of this program's own, in either version.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use howlate_linux::clock;
use howlate_model::Span;
use rustix::process::{Pid, Signal, kill_process};

/// How long what was in it may take to end.
const PATIENCE: Span = Span::from_secs(2);
const EVERY: Span = Span::from_millis(20);

/// The group, until it is dropped.
pub struct ControlGroup {
    folder: PathBuf,
    name: String,
}

impl ControlGroup {
    /// One in the first of these places that has the file beside it; returns the file as well.
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
