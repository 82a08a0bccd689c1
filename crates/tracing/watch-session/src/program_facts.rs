//! What advice for a watched program depends on: how many threads it has and how busy they are, what runs it, and what its control
//! groups allow.

use std::collections::HashMap;

use howlate_model::{GroupQuota, MonotonicTime, ProgramLanguage, Span, ThreadShare, WatchedProgram};
use howlate_procfs::{Cgroup, CpuCgroups, CpuQuota, Root, Schedstat};
use howlate_system::group_without_realtime;
use howlate_watched_program::Threads;

/// Of more threads than this it is not looked how busy they are: that takes a file each, every second.
const MOST: usize = 256;
/// Threads that are told of.
const TOLD: usize = 16;
/// The note that Go's linker writes into a program, by its kind (4) and its owner, and within how much of the file.
///
/// Source: Go's `cmd/internal/buildid/note.go`.
const GO: [&[u8]; 2] = [b"\x04\0\0\0Go\0\0", b"\0\0\0\x04Go\0\0"];
const GO_LOOKS_AT: u64 = 32 * 1024;
/// Less than this of a CPU is not worth telling.
const LEAST: f64 = 0.01;

/// What is known so far.
pub(crate) struct ProgramFacts {
    root: Root,
    program: WatchedProgram,
    /// What it executes, whose language is known.
    executable: Option<String>,
    ran: HashMap<u32, Ran>,
}

/// What a thread had of CPUs when it was first and last looked at.
struct Ran {
    name: String,
    first: (MonotonicTime, Span),
    last: (MonotonicTime, Span),
}

impl ProgramFacts {
    /// Of a process; `started`: that ends with the watching.
    pub(crate) fn begin(root: Root, process: u32, started: bool) -> Self {
        let program = WatchedProgram { process, started, ..WatchedProgram::default() };
        Self { root, program, executable: None, ran: HashMap::new() }
    }

    /// Looks again.
    pub(crate) fn look(&mut self, now: MonotonicTime, threads: &mut Threads) {
        let all = threads.all();
        self.program.ended = self.ran.keys().copied().filter(|tid| !all.contains(tid)).collect();
        self.program.ended.sort_unstable();
        self.program.threads = self.program.threads.max(all.len() as u64);
        self.look_at_groups();
        self.look_at_language();
        for tid in all.into_iter().take(MOST) {
            let Some(got) = Schedstat::read(&self.root, tid) else { continue };
            let now = (now, got.ran);
            let mut name = || threads.name(tid).unwrap_or_default();
            self.ran.entry(tid).or_insert_with(|| Ran { name: name(), first: now, last: now }).last = now;
        }
    }

    /// Its groups may be others by now; those of a process that has ended were what they were.
    fn look_at_groups(&mut self) {
        let process = self.program.process;
        if !self.root.has(&format!("/proc/{process}/comm")) {
            return;
        }
        let refusing = group_without_realtime(&self.root, process);
        self.program.realtime_file = refusing.as_ref().and_then(|one| one.file.clone());
        self.program.without_realtime = refusing.map(|one| one.group);
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

    /// Once for each file that it executes: a launcher becomes what it launches. Which file that is, only those know who may trace it.
    fn look_at_language(&mut self) {
        let of_process = |file: &str| format!("/proc/{}/{file}", self.program.process);
        let by_words = || self.root.read(&of_process("cmdline")).ok().filter(|words| !words.is_empty());
        let executable = self.root.target(&of_process("exe")).or_else(by_words);
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
        by_name.or_else(|| is_of_go(&self.root, process).then_some(ProgramLanguage::Go))
    }

    /// All of it.
    pub(crate) fn told(&self) -> WatchedProgram {
        let share = |(tid, one): (&u32, &Ran)| {
            let (length, ran) = (one.last.0.since(one.first.0), one.last.1.minus(one.first.1));
            let share = ran.as_secs_f64() / length.as_secs_f64().max(f64::MIN_POSITIVE);
            let name = one.name.clone();
            (share >= LEAST).then(|| ThreadShare { tid: *tid, name, share: share.min(1.0), ran })
        };
        let mut busiest: Vec<ThreadShare> = self.ran.iter().filter_map(share).collect();
        busiest.sort_by(|one, other| other.share.total_cmp(&one.share).then(one.tid.cmp(&other.tid)));
        busiest.truncate(TOLD);
        WatchedProgram { busiest, ..self.program.clone() }
    }
}

/// Whether a program was built by Go.
fn is_of_go(root: &Root, process: u32) -> bool {
    let begins = root.beginning(&format!("/proc/{process}/exe"), GO_LOOKS_AT).unwrap_or_default();
    GO.iter().any(|note| begins.windows(note.len()).any(|part| part == *note))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIFIED: &str = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn what_a_program_did_and_may_is_known_after_it_has_ended() {
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
        let mut threads = Threads::new(root(), 7, false);
        drop(threads.look());
        let mut facts = ProgramFacts::begin(root(), 7, true);
        let at = MonotonicTime::from_nanos;
        facts.look(at(0), &mut threads);
        howlate_testing::write_below(tree.path(), "proc/7/schedstat", "100000000 0 1\n");
        howlate_testing::write_below(tree.path(), "proc/9/schedstat", "1990000000 0 1\n");
        facts.look(at(1_000_000_000), &mut threads);
        std::fs::remove_dir_all(tree.path().join("proc/7")).unwrap();
        facts.look(at(9_000_000_000), &mut threads);
        let told = facts.told();
        assert_eq!((told.language, told.threads, told.started), (Some(ProgramLanguage::Python), 2, true));
        let shares: Vec<_> = told.busiest.iter().map(|one| (one.tid, (one.share * 100.0).round())).collect();
        assert_eq!(shares[0].0, 9, "{told:?}");
        let quota = &told.quotas[0];
        assert_eq!((quota.group.as_str(), quota.quota), ("/pod", Span::from_millis(20)));
        assert!(quota.file.ends_with("/pod/cpu.max"), "{}", quota.file);
    }

    #[test]
    fn a_program_of_go_is_known_by_what_its_linker_writes() {
        let mut program = vec![0_u8; 4_000];
        let tree = howlate_testing::tree(&[("proc/7/comm", "tick")]);
        let file = tree.path().join("proc/7/exe");
        std::fs::write(&file, &program).unwrap();
        assert!(!is_of_go(&Root::at(tree.path()), 7));
        program.extend(GO[0]);
        std::fs::write(&file, &program).unwrap();
        assert!(is_of_go(&Root::at(tree.path()), 7));
    }
}
