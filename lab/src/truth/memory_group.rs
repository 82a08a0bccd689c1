//! A process that reads more than its control group may keep in memory, so that the kernel reclaims its pages all the time.

use std::io;
use std::process::{Child, Command, Stdio};

use super::control_group::ControlGroup;

/// Limit of the group, and length of the file, MiB.
const MAY_KEEP: u64 = 8;
const READS: u64 = 64;
/// The limit's file in cgroup v2, which throttles, and in v1, which is a hard limit.
const PLACES: [(&str, &str); 2] =
    [("/sys/fs/cgroup", "memory.high"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")];

pub struct ReclaimedProcess {
    child: Child,
    // After the process has been killed.
    _group: ControlGroup,
    _file: tempfile::NamedTempFile,
}

impl ReclaimedProcess {
    pub fn start() -> io::Result<Self> {
        let (group, limit) = ControlGroup::create("memory", &PLACES)?;
        let file = tempfile::NamedTempFile::new_in(".")?;
        file.as_file().set_len(READS << 20)?;
        group.set(limit, &(MAY_KEEP << 20).to_string())?;
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
