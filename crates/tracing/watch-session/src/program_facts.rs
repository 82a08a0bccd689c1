//! Properties of a watched program on which advice depends: number and CPU share of its threads, its language, and the limits of its
//! control groups.

use std::collections::HashMap;

use howlate_model::{GroupQuota, MonotonicTime, ProgramLanguage, Span, ThreadShare, WatchedProgram};
use howlate_procfs::{Cgroup, CpuCgroups, CpuQuota, Root, Schedstat};
use howlate_system::group_without_realtime;
use howlate_watched_program::WatchedThreads;

/// Threads whose CPU time is read: each takes a file per second.
const MAX_THREADS: usize = 256;
/// Threads in the result.
const MAX_REPORTED: usize = 16;
/// Go's linker writes a note of kind 4 and owner `Go` within the first 32 kB of an executable.
///
/// Source: Go's `cmd/internal/buildid/note.go`.
const GO_NOTES: [&[u8]; 2] = [b"\x04\0\0\0Go\0\0", b"\0\0\0\x04Go\0\0"];
const GO_NOTE_WITHIN: u64 = 32 * 1024;
/// Smallest share of a CPU that is reported.
const MIN_SHARE: f64 = 0.01;

pub(crate) struct ProgramFacts {
    root: Root,
    program: WatchedProgram,
    /// The executable whose language is in `program`.
    executable: Option<String>,
    cpu_times: HashMap<u32, ThreadCpuTime>,
}

/// CPU time of a thread at its first and last reading.
struct ThreadCpuTime {
    name: String,
    first: (MonotonicTime, Span),
    last: (MonotonicTime, Span),
}

impl ProgramFacts {
    /// `started`: howlate started the process, and ends it.
    pub(crate) fn new(root: Root, process: u32, started: bool) -> Self {
        let program = WatchedProgram { process, started, ..WatchedProgram::default() };
        Self { root, program, executable: None, cpu_times: HashMap::new() }
    }

    pub(crate) fn update(&mut self, now: MonotonicTime, threads: &mut WatchedThreads) {
        let all = threads.all();
        self.program.ended = self.cpu_times.keys().copied().filter(|tid| !all.contains(tid)).collect();
        self.program.ended.sort_unstable();
        self.program.threads = self.program.threads.max(all.len() as u64);
        self.update_cgroups();
        self.update_language();
        for tid in all.into_iter().take(MAX_THREADS) {
            let Some(schedstat) = Schedstat::read(&self.root, tid) else { continue };
            let now = (now, schedstat.ran);
            let mut name = || threads.name(tid).unwrap_or_default();
            self.cpu_times
                .entry(tid)
                .or_insert_with(|| ThreadCpuTime { name: name(), first: now, last: now })
                .last = now;
        }
    }

    /// The process may have been moved; the groups of an ended process stay as they were.
    fn update_cgroups(&mut self) {
        let process = self.program.process;
        if !self.root.has(&format!("/proc/{process}/comm")) {
            return;
        }
        let refusing = group_without_realtime(&self.root, process);
        self.program.realtime_file = refusing.as_ref().and_then(|group| group.file.clone());
        self.program.without_realtime = refusing.map(|group| group.group);
        let groups = CpuCgroups::read(&self.root, process).upwards();
        self.program.quotas = groups.iter().filter_map(|group| self.quota(group)).collect();
    }

    fn quota(&self, group: &Cgroup) -> Option<GroupQuota> {
        let quota = CpuQuota::read(&self.root, group)?;
        Some(GroupQuota {
            group: group.name().to_owned(),
            file: CpuQuota::file(group),
            quota: Span::from_micros(quota.quota_us?),
            period: Span::from_micros(quota.period_us),
        })
    }

    /// Once per executable, since a launcher may `execve` another program. Only users who may trace the process can read `exe`: others
    /// compare its command line.
    fn update_language(&mut self) {
        let path_of = |file: &str| format!("/proc/{}/{file}", self.program.process);
        let command_line = || self.root.read(&path_of("cmdline")).ok().filter(|line| !line.is_empty());
        let executable = self.root.target(&path_of("exe")).or_else(command_line);
        if executable.is_some() && executable != self.executable {
            self.executable = executable;
            self.program.language = self.language();
        }
    }

    fn language(&self) -> Option<ProgramLanguage> {
        let process = self.program.process;
        let line = self.root.read(&format!("/proc/{process}/cmdline")).ok()?;
        let program = line.split('\0').next()?;
        let by_name = ProgramLanguage::from_program(program.rsplit('/').next()?);
        by_name.or_else(|| is_go_program(&self.root, process).then_some(ProgramLanguage::Go))
    }

    pub(crate) fn program(&self) -> WatchedProgram {
        let share = |(tid, times): (&u32, &ThreadCpuTime)| {
            let (length, ran) = (times.last.0.since(times.first.0), times.last.1.minus(times.first.1));
            let share = ran.as_secs_f64() / length.as_secs_f64().max(f64::MIN_POSITIVE);
            let name = times.name.clone();
            (share >= MIN_SHARE).then(|| ThreadShare { tid: *tid, name, share: share.min(1.0), ran })
        };
        let mut busiest: Vec<ThreadShare> = self.cpu_times.iter().filter_map(share).collect();
        busiest.sort_by(|left, right| right.share.total_cmp(&left.share).then(left.tid.cmp(&right.tid)));
        busiest.truncate(MAX_REPORTED);
        WatchedProgram { busiest, ..self.program.clone() }
    }
}

/// Whether a program was built by Go.
fn is_go_program(root: &Root, process: u32) -> bool {
    let start = root.read_prefix(&format!("/proc/{process}/exe"), GO_NOTE_WITHIN).unwrap_or_default();
    GO_NOTES.iter().any(|note| start.windows(note.len()).any(|part| part == *note))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIFIED: &str = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn facts_are_known_after_the_program_has_ended() {
        let tree = howlate_testing::tree(&[
            ("proc/7/stat", "7 (python3) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 90 0 0"),
            ("proc/7/task/7/comm", "python3\n"),
            ("proc/7/task/9/comm", "burn\n"),
            ("proc/7/cmdline", "/usr/bin/python3.11\0loop.py\0"),
            ("proc/7/schedstat", "0 0 0\n"),
            ("proc/9/schedstat", "1000000000 0 1\n"),
            ("proc/7/comm", "python3\n"),
            ("proc/7/cgroup", "0::/pod\n"),
            ("proc/self/mountinfo", UNIFIED),
            ("proc/7/mountinfo", UNIFIED),
            ("sys/fs/cgroup/pod/cpu.max", "20000 100000\n"),
        ]);
        let root = || Root::at(tree.path());
        let mut threads = WatchedThreads::new(root(), 7, false);
        drop(threads.update());
        let mut facts = ProgramFacts::new(root(), 7, true);
        let at = MonotonicTime::from_nanos;
        facts.update(at(0), &mut threads);
        howlate_testing::write_below(tree.path(), "proc/7/schedstat", "100000000 0 1\n");
        howlate_testing::write_below(tree.path(), "proc/9/schedstat", "1990000000 0 1\n");
        facts.update(at(1_000_000_000), &mut threads);
        std::fs::remove_dir_all(tree.path().join("proc/7")).unwrap();
        facts.update(at(9_000_000_000), &mut threads);
        let program = facts.program();
        assert_eq!(
            (program.language, program.threads, program.started),
            (Some(ProgramLanguage::Python), 2, true)
        );
        let shares: Vec<_> =
            program.busiest.iter().map(|thread| (thread.tid, (thread.share * 100.0).round())).collect();
        assert_eq!(shares[0].0, 9, "{program:?}");
        let quota = &program.quotas[0];
        assert_eq!((quota.group.as_str(), quota.quota), ("/pod", Span::from_millis(20)));
        assert!(quota.file.ends_with("/pod/cpu.max"), "{}", quota.file);
    }

    #[test]
    fn a_go_program_is_known_by_its_note() {
        let mut program = vec![0_u8; 4_000];
        let tree = howlate_testing::tree(&[("proc/7/comm", "tick")]);
        let file = tree.path().join("proc/7/exe");
        std::fs::write(&file, &program).unwrap();
        assert!(!is_go_program(&Root::at(tree.path()), 7));
        program.extend(GO_NOTES[0]);
        std::fs::write(&file, &program).unwrap();
        assert!(is_go_program(&Root::at(tree.path()), 7));
    }
}
