//! A cell: a control group whose processes are killed when it is dropped, or by a watchdog.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use howlate_linux::clock;
use howlate_model::{CpuSet, Span};
use rustix::process::{Pid, Signal, kill_process};

use super::super::control_group::ControlGroup;
use super::watchdog::Watchdog;

/// Hierarchies in which an empty group changes nothing for its processes, and a file of each; `cgroup.kill` kills all of them.
const PLACES: [(&str, &str); 4] = [
    ("/sys/fs/cgroup/unified", "cgroup.kill"),
    ("/sys/fs/cgroup", "cgroup.kill"),
    ("/sys/fs/cgroup/freezer", "cgroup.procs"),
    ("/sys/fs/cgroup/pids", "cgroup.procs"),
];
/// Limit of CPU time per process, s.
const MOST_CPU_SECONDS: u32 = 60;
/// Period of checking whether a process has ended.
const EVERY: Span = Span::from_millis(20);

pub struct Cell {
    // Dropped before the groups that it kills.
    watchdog: Watchdog,
    group: Arc<ControlGroup>,
    /// A second group for processes, with a quota for instance.
    inner: Option<Arc<ControlGroup>>,
    folder: PathBuf,
    /// The environment variable `PATH`, with the folder's `bin` first.
    path: String,
    files: std::cell::Cell<u32>,
}

impl Cell {
    /// A cell whose processes run in `folder`, and in the group `inner` as well.
    pub fn open(
        folder: &Path,
        inner: Option<Arc<ControlGroup>>,
        bound: Span,
        cpus: &CpuSet,
    ) -> io::Result<Self> {
        let (group, _) = ControlGroup::create("cell", &PLACES)?;
        let group = Arc::new(group);
        let groups: Vec<_> = std::iter::once(&group).chain(&inner).map(Arc::clone).collect();
        let watchdog = Watchdog::start(groups, bound, cpus)?;
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", folder.join("bin").display());
        Ok(Self { watchdog, group, inner, folder: folder.to_owned(), path, files: std::cell::Cell::new(0) })
    }

    pub fn watchdog(&self) -> &Watchdog {
        &self.watchdog
    }

    /// Starts a shell command in the cell; `inner`: also in its second group.
    pub fn start(&self, line: &str, inner: bool, environment: &[(&str, String)]) -> io::Result<CellProcess> {
        let number = self.files.replace(self.files.get() + 1);
        let [out, err] = ["out", "err"].map(|kind| self.folder.join(format!("cell-{number}.{kind}")));
        let enter = |group: &Arc<ControlGroup>| format!("{}\n", group.enter());
        let inner = self.inner.as_ref().filter(|_| inner).map(enter).unwrap_or_default();
        // So the kernel ends a spinning process even if this process is killed.
        let script = format!("ulimit -t {MOST_CPU_SECONDS}\n{}\n{inner}{line}", self.group.enter());
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).current_dir(&self.folder).env("PATH", &self.path).process_group(0);
        shell.envs(environment.iter().map(|(name, value)| (name, value)));
        shell.stdin(Stdio::null()).stdout(fs::File::create(&out)?).stderr(fs::File::create(&err)?);
        Ok(CellProcess { child: shell.spawn()?, out, err })
    }

    /// IDs of the cell's processes with this name, oldest first.
    pub fn processes(&self, name: &str) -> Vec<u32> {
        let all = fs::read_to_string(self.group.file("cgroup.procs")).unwrap_or_default();
        let is_named = |pid: &u32| {
            fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim_end() == name)
        };
        let mut pids: Vec<u32> = all.lines().filter_map(|line| line.parse().ok()).filter(is_named).collect();
        pids.sort_unstable();
        pids
    }

    pub fn ended(&self) -> Option<String> {
        self.watchdog.ended()
    }

    /// Waits until the process ends, for at most `patience`. `None`: it still runs, or was killed.
    pub fn wait(&self, started: &mut CellProcess, patience: Span) -> io::Result<Option<i32>> {
        let until = clock::now().plus(patience);
        loop {
            if let Some(status) = started.child.try_wait()? {
                return Ok(status.code());
            }
            if clock::now() >= until {
                return Ok(None);
            }
            drop(clock::sleep_for(EVERY));
        }
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        self.group.kill();
        self.inner.iter().for_each(|group| group.kill());
    }
}

/// A process in a cell, and the files of its output.
pub struct CellProcess {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl CellProcess {
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn out(&self) -> String {
        fs::read(&self.out).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
    }

    pub fn err(&self) -> String {
        fs::read(&self.err).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
    }

    /// Sends SIGINT.
    pub fn interrupt(&self) {
        if let Ok(Some(pid)) = i32::try_from(self.id()).map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::INT);
        }
    }

    fn kill(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Drop for CellProcess {
    fn drop(&mut self) {
        self.kill();
        drop(fs::remove_file(&self.out));
        drop(fs::remove_file(&self.err));
    }
}

#[cfg(test)]
mod tests {
    use howlate_linux::sched;
    use howlate_testing::skip;

    use super::*;

    /// The bounds are short, as the spinner takes one of this machine's CPUs.
    #[test]
    fn a_spinner_of_the_real_time_class_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let Some(cpu) = sched::bindable_cpus().ok().and_then(|all| all.iter().max()) else {
            return skip("the CPUs are not known");
        };
        let bound = Span::from_millis(1_500);
        let cell = match Cell::open(folder.path(), None, bound, &CpuSet::from_iter([cpu])) {
            Ok(cell) => cell,
            Err(error) => return skip(&format!("no control group can be had: {error}")),
        };
        // `timeout` is a second bound; status 7 shows that the watchdog did not kill the shell.
        let spins =
            format!("taskset -c {cpu} timeout -s KILL 12 chrt --fifo 50 sh -c 'while :; do :; done'; exit 7");
        let mut started = cell.start(&spins, false, &[]).unwrap();
        let status = cell.wait(&mut started, Span::from_secs(30)).unwrap();
        if started.err().contains("failed to set") || started.err().contains("Permission denied") {
            return skip("no real-time class can be had");
        }
        assert_eq!(status, None, "{}", started.err());
        assert!(cell.ended().is_some(), "the watchdog did it");
    }

    #[test]
    fn what_ends_by_itself_is_not_ended() {
        let folder = tempfile::tempdir().unwrap();
        let cell = match Cell::open(folder.path(), None, Span::from_secs(30), &CpuSet::from_iter([0])) {
            Ok(cell) => cell,
            Err(error) => return skip(&format!("no control group can be had: {error}")),
        };
        let mut started =
            cell.start("echo $WORD $(ulimit -t); exit 3", false, &[("WORD", "said".to_owned())]).unwrap();
        let status = cell.wait(&mut started, Span::from_secs(30)).unwrap();
        assert_eq!(
            (status, started.out(), cell.ended()),
            (Some(3), format!("said {MOST_CPU_SECONDS}\n"), None)
        );
    }
}
