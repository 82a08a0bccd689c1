//! Counts waits from `/proc`, readable without privilege: run and wait times of each thread, and how often it went to sleep. The kernel
//! function in which it sleeps is sampled, and only readable for own programs.

use std::collections::HashMap;

use howlate_linux::clock;
use howlate_model::{
    KernelStack, MonotonicTime, NOT_SAMPLED, OngoingWait, ReasonWaits, Span, ThreadWaits, TracerRefusal,
    Waits, WaitsReport,
};
use howlate_procfs::{Root, Schedstat, Status, threads};

use super::{WaitReader, WaitSource};

/// How often new threads are looked for.
const LIST_EVERY: Span = Span::from_secs(1);

/// The last readings of all threads.
#[derive(Debug)]
pub(super) struct ProcWaitReader {
    root: Root,
    threads: HashMap<u32, LastReading>,
    listed: Option<MonotonicTime>,
    /// Id of each function, as a stack of one frame; `new` ones are not passed on yet.
    functions: HashMap<String, u64>,
    new: Vec<KernelStack>,
}

/// A thread at its last change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LastReading {
    pid: u32,
    process: String,
    name: String,
    of_kernel: bool,
    schedstat: Schedstat,
    sleeps: u64,
    /// Id of the function in which it sleeps; `None`: it does not sleep.
    asleep: Option<u64>,
    changed: MonotonicTime,
    read: MonotonicTime,
}

/// The current state of a thread.
struct ThreadActivity {
    name: String,
    /// Whether it has memory of its own, as no kernel thread has.
    is_program: bool,
    sleeps: u64,
    /// Id of the function in which it sleeps; `None`: it does not sleep.
    asleep: Option<u64>,
}

impl ProcWaitReader {
    /// On this machine, or a captured one.
    pub(super) fn begin(root: Root) -> Result<Self, TracerRefusal> {
        let (threads, functions) = (HashMap::new(), HashMap::new());
        let mut reader = Self { root, threads, listed: None, functions, new: Vec::new() };
        reader.sample(clock::now());
        match reader.threads.is_empty() {
            true if !reader.root.has_processes() => Err(TracerRefusal::NoProc),
            true => Err(TracerRefusal::NoAccounts),
            false => Ok(reader),
        }
    }

    /// New waits of each thread.
    fn sample(&mut self, now: MonotonicTime) -> Vec<ThreadWaits> {
        if self.listed.is_none_or(|listed| now.since(listed) >= LIST_EVERY) {
            self.listed = Some(now);
            self.list(now);
        }
        let mut tids: Vec<u32> = self.threads.keys().copied().collect();
        tids.sort_unstable();
        tids.into_iter().filter_map(|tid| self.update(tid, now)).collect()
    }

    /// Adds new threads.
    fn list(&mut self, now: MonotonicTime) {
        let pids: Vec<u32> =
            self.root.list("/proc").into_iter().filter_map(|name| name.parse().ok()).collect();
        for pid in pids {
            let new: Vec<u32> =
                threads(&self.root, pid).into_iter().filter(|tid| !self.threads.contains_key(tid)).collect();
            if new.is_empty() {
                continue;
            }
            let process = self.root.read(&format!("/proc/{pid}/comm")).unwrap_or_default();
            for tid in new {
                if let Some(thread) = self.first_reading(pid, tid, &process, now) {
                    self.threads.insert(tid, thread);
                }
            }
        }
    }

    fn first_reading(
        &mut self,
        pid: u32,
        tid: u32,
        process: &str,
        now: MonotonicTime,
    ) -> Option<LastReading> {
        let schedstat = Schedstat::read(&self.root, tid)?;
        let activity = self.activity(tid)?;
        Some(LastReading {
            pid,
            process: process.to_owned(),
            of_kernel: !activity.is_program,
            name: activity.name,
            schedstat,
            sleeps: activity.sleeps,
            asleep: activity.asleep,
            changed: now,
            read: now,
        })
    }

    /// New waits of one thread; `None` once it has ended.
    fn update(&mut self, tid: u32, now: MonotonicTime) -> Option<ThreadWaits> {
        let (schedstat, last) = (Schedstat::read(&self.root, tid), self.threads.remove(&tid)?);
        let (schedstat, mut last) = (schedstat?, last);
        let seen = now.since(std::mem::replace(&mut last.read, now));
        let new = match schedstat == last.schedstat {
            true => last.unchanged(tid, seen, now),
            false => {
                let activity = self.activity(tid)?;
                last.changed(tid, seen, now, (schedstat, activity))
            }
        };
        self.threads.insert(tid, last);
        Some(new)
    }

    /// `None` once it has ended.
    fn activity(&mut self, tid: u32) -> Option<ThreadActivity> {
        let status = Status::read(&self.root, tid);
        status.reading.text().filter(|_| !status.has_ended())?;
        let asleep = status.is_asleep().then(|| {
            let function = self.root.read(&format!("/proc/{tid}/wchan")).unwrap_or_default();
            self.function_id(&function)
        });
        let name = status.field("Name").unwrap_or_default().to_owned();
        let sleeps = status.number("voluntary_ctxt_switches").unwrap_or(0);
        Some(ThreadActivity { name, is_program: status.has_memory(), sleeps, asleep })
    }

    /// Id of a function; `0` is read for programs of other users.
    fn function_id(&mut self, function: &str) -> u64 {
        if function.is_empty() || function == "0" {
            return NOT_SAMPLED;
        }
        if let Some(id) = self.functions.get(function) {
            return *id;
        }
        let id = self.functions.len() as u64 + 1;
        self.functions.insert(function.to_owned(), id);
        self.new.push(KernelStack { id, functions: vec![function.to_owned()] });
        id
    }
}

impl WaitReader for ProcWaitReader {
    fn source(&self) -> WaitSource {
        WaitSource::Proc
    }

    fn every(&self) -> Span {
        Span::from_millis(100)
    }

    fn read(&mut self) -> Result<WaitsReport, TracerRefusal> {
        let threads = self.sample(clock::now());
        let stacks = std::mem::take(&mut self.new);
        Ok(WaitsReport { threads, stacks, ..WaitsReport::default() })
    }
}

impl LastReading {
    fn waits(&self, tid: u32, seen: Span) -> ThreadWaits {
        let (pid, name, process) = (self.pid, self.name.clone(), self.process.clone());
        ThreadWaits { tid, pid, name, process, of_kernel: self.of_kernel, seen, ..ThreadWaits::default() }
    }

    /// It did not run since: it still sleeps, or waits for a CPU.
    fn unchanged(&self, tid: u32, seen: Span, now: MonotonicTime) -> ThreadWaits {
        let lasts = now.since(self.changed);
        ThreadWaits { ongoing: Some(OngoingWait { stack: self.asleep, lasts }), ..self.waits(tid, seen) }
    }

    /// It ran meanwhile; the time that it neither ran nor waited for a CPU it slept.
    fn changed(
        &mut self,
        tid: u32,
        seen: Span,
        now: MonotonicTime,
        (schedstat, activity): (Schedstat, ThreadActivity),
    ) -> ThreadWaits {
        let Schedstat { ran, waited, timeslices: turns } = schedstat.since(self.schedstat);
        let slept = now.since(self.changed).minus(ran).minus(waited);
        let sleeps = activity.sleeps.saturating_sub(self.sleeps) + u64::from(self.asleep.is_some());
        let stack = self.asleep.or(activity.asleep).unwrap_or(NOT_SAMPLED);
        let looked_at = u64::from(stack != NOT_SAMPLED);
        let reason = ReasonWaits { stack, waits: waits_of(slept, sleeps.max(1)), sampled: looked_at };
        self.name = activity.name;
        // Read between fork and execve, it was the parent's.
        if tid == self.pid {
            self.process.clone_from(&self.name);
        }
        (self.schedstat, self.sleeps, self.asleep, self.changed) =
            (schedstat, activity.sleeps, activity.asleep, now);
        ThreadWaits {
            cpu: if waited.is_zero() { Waits::default() } else { waits_of(waited, turns.max(1)) },
            reasons: if slept.is_zero() || sleeps == 0 { Vec::new() } else { vec![reason] },
            ..self.waits(tid, seen)
        }
    }
}

/// `count` waits of this total time: the longest one is at least their mean.
const fn waits_of(time: Span, count: u64) -> Waits {
    Waits { time, count, longest: Span::from_nanos(time.as_nanos() / count) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A machine with one thread: state, function, schedstat, sleeps.
    fn write(folder: &std::path::Path, state: &str, wchan: &str, schedstat: (u64, u64, u64), sleeps: u64) {
        let write = |name: &str, text: String| {
            howlate_testing::write_below(&folder.join("proc/7"), name, &text);
        };
        let (ran, waited, turns) = schedstat;
        let status = format!(
            "Name:\tloop\nVmSize:\t1 kB\nState:\t{state}\nTgid:\t7\nvoluntary_ctxt_switches:\t{sleeps}\n"
        );
        write("task/7/x", String::new());
        write("comm", "loop\n".to_owned());
        write("status", status);
        write("wchan", wchan.to_owned());
        write("schedstat", format!("{} {} {turns}\n", ran * MS, waited * MS));
    }

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime::from_nanos(0).plus(Span::from_millis(ms))
    }

    #[test]
    fn time_neither_running_nor_waiting_for_a_cpu_is_sleep() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "S (sleeping)", "pipe_read", (10, 0, 1), 1);
        let mut reader = ProcWaitReader::begin(Root::at(folder.path())).unwrap();
        reader.threads.clear();
        reader.list(at(0));
        let asleep = reader.update(7, at(100)).unwrap();
        assert_eq!(asleep.ongoing, Some(OngoingWait { stack: Some(1), lasts: Span::from_millis(100) }));
        assert_eq!(reader.new, [KernelStack { id: 1, functions: vec!["pipe_read".into()] }]);
        // It woke, and slept three more times.
        write(folder.path(), "S (sleeping)", "pipe_read", (30, 40, 5), 4);
        let new = reader.update(7, at(300)).unwrap();
        assert_eq!((new.seen, new.ongoing), (Span::from_millis(200), None));
        assert_eq!((new.cpu.time, new.cpu.count), (Span::from_millis(40), 4));
        assert_eq!(new.reasons[0].stack, 1);
        let Waits { time, count, longest } = new.reasons[0].waits;
        assert_eq!((time, count, longest), (Span::from_millis(240), 4, Span::from_millis(60)));
    }

    #[test]
    fn a_process_has_the_name_of_the_program_that_it_became() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "R (running)", "0", (10, 0, 1), 1);
        howlate_testing::write_below(folder.path(), "proc/7/comm", "sh\n");
        let mut reader = ProcWaitReader::begin(Root::at(folder.path())).unwrap();
        write(folder.path(), "R (running)", "0", (30, 0, 1), 1);
        let waits = reader.update(7, clock::now()).unwrap();
        assert_eq!((waits.name.as_str(), waits.process.as_str()), ("loop", "loop"));
    }

    #[test]
    fn a_hidden_function_has_no_id() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "S (sleeping)", "0", (10, 0, 1), 1);
        let mut reader = ProcWaitReader::begin(Root::at(folder.path())).unwrap();
        assert_eq!(reader.threads[&7].asleep, Some(NOT_SAMPLED));
        write(folder.path(), "Z (zombie)", "0", (11, 0, 2), 1);
        assert!(reader.update(7, clock::now()).is_none() && reader.threads.is_empty());
    }

    #[test]
    fn a_runnable_thread_without_cpu_waits_for_it() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "R (running)", "0", (10, 0, 1), 1);
        let mut reader = ProcWaitReader::begin(Root::at(folder.path())).unwrap();
        let waits = reader.update(7, clock::now()).unwrap();
        assert_eq!(waits.ongoing.unwrap().stack, None);
    }

    #[test]
    fn a_machine_without_schedstat_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(ProcWaitReader::begin(Root::at(folder.path())).unwrap_err(), TracerRefusal::NoProc);
        std::fs::create_dir_all(folder.path().join("proc/7")).unwrap();
        assert_eq!(ProcWaitReader::begin(Root::at(folder.path())).unwrap_err(), TracerRefusal::NoAccounts);
    }
}
