//! A temporary control group with a CPU quota.

use std::io;

use howlate_model::{Caveat, Span};

use crate::scope::Guard;
use crate::setting::{read, write};

/// A control group that is removed when this is undone or dropped, or when the process is killed.
pub struct QuotaCgroup {
    guard: Guard,
    id: u32,
    path: String,
}

impl Guard {
    /// Creates a group `name` whose members may use `quota` of CPU time in each `period`, below the first of `parents`
    /// where that works.
    ///
    /// # Errors
    ///
    /// Why it works below none.
    pub fn create_quota_cgroup(
        &self,
        parents: &[String],
        name: &str,
        quota: Span,
        period: Span,
    ) -> Result<QuotaCgroup, String> {
        let mut reason = "no control group with CPU time is to be seen here".to_owned();
        for folder in parents {
            let path = format!("{folder}/{name}");
            match self.create_cgroup(&path).and_then(|group| group.with_quota(quota, period)) {
                Ok(group) => return Ok(group),
                Err(error) => reason = format!("{path}: {error}"),
            }
        }
        Err(reason)
    }

    fn create_cgroup(&self, path: &str) -> Result<QuotaCgroup, String> {
        let id = self.registry().create_cgroup(path).map_err(|reason| reason.to_string())?;
        Ok(QuotaCgroup { guard: self.clone(), id, path: path.to_owned() })
    }
}

impl QuotaCgroup {
    /// Sets the quota in the format of cgroup v2 or v1.
    ///
    /// Source: Documentation/scheduler/sched-bwc.rst; Documentation/admin-guide/cgroup-v2.rst, "cpu.max".
    fn with_quota(self, quota: Span, period: Span) -> Result<Self, String> {
        let [quota, period] = [quota, period].map(|span| (span.as_nanos() / 1_000).to_string());
        if read(&self.file("cpu.max")).is_ok() {
            self.set("cpu.max", &format!("{quota} {period}"))?;
        } else {
            self.set("cpu.cfs_period_us", &period)?;
            self.set("cpu.cfs_quota_us", &quota)?;
        }
        Ok(self)
    }

    /// Fails if another value is read back.
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

    /// Moves a process with all its threads into the group.
    ///
    /// # Errors
    ///
    /// Those of the kernel.
    pub fn add(&self, process: u32) -> io::Result<()> {
        write(&self.file("cgroup.procs"), &process.to_string())
    }

    /// Removes the group, whose processes must have ended. Returns caveats if that fails.
    pub fn undo(self) -> Vec<Caveat> {
        self.guard.registry().undo(&[self.id])
    }
}

impl Drop for QuotaCgroup {
    fn drop(&mut self) {
        let mut registry = self.guard.registry();
        let caveats = registry.undo(&[self.id]);
        registry.defer_caveats(caveats);
    }
}
