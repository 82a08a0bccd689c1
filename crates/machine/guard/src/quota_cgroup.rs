//! A control group with a quota of CPU time, for a while.

use std::io;

use howlate_model::{Caveat, Span};

use crate::scope::Guard;
use crate::setting::{read, write};

/// A control group that is removed when this is undone or dropped, or when the process is killed.
pub struct Group {
    guard: Guard,
    id: u32,
    path: String,
}

impl Guard {
    /// Makes a group `name` whose members may use `quota` of CPU time in each `period`: below the first of the groups
    /// `above` that lets it have one.
    ///
    /// # Errors
    ///
    /// Why none does.
    pub fn group(&self, above: &[String], name: &str, quota: Span, period: Span) -> Result<Group, String> {
        let mut reason = "no control group with CPU time is to be seen here".to_owned();
        for folder in above {
            let path = format!("{folder}/{name}");
            match self.make(&path).and_then(|group| group.limited(quota, period)) {
                Ok(group) => return Ok(group),
                Err(because) => reason = format!("{path}: {because}"),
            }
        }
        Err(reason)
    }

    fn make(&self, path: &str) -> Result<Group, String> {
        let id = self.keeper().make(path).map_err(|reason| reason.to_string())?;
        Ok(Group { guard: self.clone(), id, path: path.to_owned() })
    }
}

impl Group {
    /// Sets the quota, in the words of whichever of the two hierarchies it is in.
    ///
    /// Source: Documentation/scheduler/sched-bwc.rst; Documentation/admin-guide/cgroup-v2.rst, "cpu.max".
    fn limited(self, quota: Span, period: Span) -> Result<Self, String> {
        let [quota, period] = [quota, period].map(|span| (span.as_nanos() / 1_000).to_string());
        if read(&self.file("cpu.max")).is_ok() {
            self.set("cpu.max", &format!("{quota} {period}"))?;
        } else {
            self.set("cpu.cfs_period_us", &period)?;
            self.set("cpu.cfs_quota_us", &quota)?;
        }
        Ok(self)
    }

    /// Sets a value, and reads it back.
    fn set(&self, name: &str, value: &str) -> Result<(), String> {
        let file = self.file(name);
        let now =
            write(&file, value).and_then(|()| read(&file)).map_err(|error| format!("{name}: {error}"))?;
        if now == value { Ok(()) } else { Err(format!("{name}: the kernel took `{value}` and kept `{now}`")) }
    }

    /// Its folder below `/sys/fs/cgroup`.
    pub fn path(&self) -> &str {
        &self.path
    }

    fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    /// Moves a process into it, with all its threads.
    ///
    /// # Errors
    ///
    /// The kernel's reason.
    pub fn add(&self, process: u32) -> io::Result<()> {
        write(&self.file("cgroup.procs"), &process.to_string())
    }

    /// Removes it; what was in it has to have ended. Tells if that fails.
    pub fn undo(self) -> Vec<Caveat> {
        self.guard.keeper().undo(&[self.id])
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let mut keeper = self.guard.keeper();
        let caveats = keeper.undo(&[self.id]);
        keeper.tell_later(caveats);
    }
}
