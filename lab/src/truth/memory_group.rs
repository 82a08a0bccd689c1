//! A process that reads more than its control group may keep in memory: the kernel takes its pages back all the time.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Megabytes that the group may have, and that are read.
const MAY_KEEP: u64 = 8;
const READS: u64 = 64;

/// The process, its file and its group, until they are dropped.
pub struct Squeezed {
    child: Child,
    group: PathBuf,
    _file: tempfile::NamedTempFile,
}

impl Squeezed {
    pub fn start() -> io::Result<Self> {
        let (group, limit) = new_group()?;
        let file = tempfile::NamedTempFile::new_in(".")?;
        file.as_file().set_len(READS << 20)?;
        let limit = group.join(limit);
        fs::write(&limit, (MAY_KEEP << 20).to_string())
            .map_err(|error| io::Error::other(format!("{}: {error}", limit.display())))?;
        let script = "echo $$ > \"$0/cgroup.procs\"; while :; do cat \"$1\" > /dev/null; done";
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", script]).arg(&group).arg(file.path()).stdin(Stdio::null());
        Ok(Self { child: shell.spawn()?, group, _file: file })
    }
}

/// A group whose memory is limited, and the file that limits it: by slowing down, or in the first version by a bound.
fn new_group() -> io::Result<(PathBuf, &'static str)> {
    let name = format!("howlate-truth-memory-{}", std::process::id());
    for (place, limit) in
        [("/sys/fs/cgroup", "memory.high"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")]
    {
        let group = Path::new(place).join(&name);
        if fs::create_dir(&group).is_err() {
            continue;
        }
        if group.join(limit).exists() {
            return Ok((group, limit));
        }
        fs::remove_dir(&group)?;
    }
    Err(io::Error::other("there is no control group whose memory can be limited"))
}

impl Drop for Squeezed {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        // Its `cat` may take a moment longer to end.
        let until = howlate_linux::clock::now().plus(howlate_model::Span::from_secs(2));
        while fs::remove_dir(&self.group).is_err() && howlate_linux::clock::now() < until {
            drop(howlate_linux::clock::pause(howlate_model::Span::from_millis(20)));
        }
    }
}
