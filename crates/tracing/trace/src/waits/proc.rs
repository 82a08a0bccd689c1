//! The kernel's accounts in `/proc`, which everybody may read: each thread's times on and off its CPU, and how often it
//! went to sleep. In what function it sleeps is looked at now and then, and told only of one's own programs.

use std::collections::HashMap;

use howlate_linux::clock;
use howlate_model::{
    KernelStack, MonotonicTime, NOT_SAMPLED, OngoingWait, ReasonWaits, Span, ThreadWaits, TracerRefusal,
    Waits, WaitsReport,
};
use howlate_procfs::{Root, Schedstat, Status, threads};

use super::{WaitReader, WaitSource};

/// Threads that have come are looked for this often.
const LIST_EVERY: Span = Span::from_secs(1);

/// What `/proc` tells of all threads, sampled.
#[derive(Debug)]
pub(super) struct Sampling {
    root: Root,
    threads: HashMap<u32, LastReading>,
    listed: Option<MonotonicTime>,
    /// Functions by the number that they are told by; `new` of them are to be told yet.
    functions: HashMap<String, u64>,
    new: Vec<KernelStack>,
}

/// A thread as it was when it last had changed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LastReading {
    pid: u32,
    process: String,
    name: String,
    of_kernel: bool,
    account: Schedstat,
    sleeps: u64,
    /// Where; `None` if it did not.
    asleep: Option<u64>,
    changed: MonotonicTime,
    read: MonotonicTime,
}

/// What a thread is at.
struct Doing {
    name: String,
    /// It has memory of its own, as no thread of the kernel has.
    is_program: bool,
    sleeps: u64,
    /// Where; `None` if it does not.
    asleep: Option<u64>,
}

impl Sampling {
    /// Of this machine, or a captured one.
    pub(super) fn begin(root: Root) -> Result<Self, TracerRefusal> {
        let (threads, functions) = (HashMap::new(), HashMap::new());
        let mut sampling = Self { root, threads, listed: None, functions, new: Vec::new() };
        sampling.sample(clock::now());
        match sampling.threads.is_empty() {
            true if !sampling.root.has_processes() => Err(TracerRefusal::NoProc),
            true => Err(TracerRefusal::NoAccounts),
            false => Ok(sampling),
        }
    }

    /// What is new of each thread.
    fn sample(&mut self, now: MonotonicTime) -> Vec<ThreadWaits> {
        if self.listed.is_none_or(|listed| now.since(listed) >= LIST_EVERY) {
            self.listed = Some(now);
            self.list(now);
        }
        let mut tids: Vec<u32> = self.threads.keys().copied().collect();
        tids.sort_unstable();
        tids.into_iter().filter_map(|tid| self.look(tid, now)).collect()
    }

    /// Finds threads that have come.
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
                if let Some(thread) = self.first_look(pid, tid, &process, now) {
                    self.threads.insert(tid, thread);
                }
            }
        }
    }

    fn first_look(&mut self, pid: u32, tid: u32, process: &str, now: MonotonicTime) -> Option<LastReading> {
        let account = Schedstat::read(&self.root, tid)?;
        let doing = self.doing(tid)?;
        Some(LastReading {
            pid,
            process: process.to_owned(),
            of_kernel: !doing.is_program,
            name: doing.name,
            account,
            sleeps: doing.sleeps,
            asleep: doing.asleep,
            changed: now,
            read: now,
        })
    }

    /// One thread; `None` once it has ended.
    fn look(&mut self, tid: u32, now: MonotonicTime) -> Option<ThreadWaits> {
        let (account, known) = (Schedstat::read(&self.root, tid), self.threads.remove(&tid)?);
        let (account, mut known) = (account?, known);
        let seen = now.since(std::mem::replace(&mut known.read, now));
        let new = match account == known.account {
            true => known.unchanged(tid, seen, now),
            false => {
                let doing = self.doing(tid)?;
                known.changed(tid, seen, now, (account, doing))
            }
        };
        self.threads.insert(tid, known);
        Some(new)
    }

    /// What it is at, and where it sleeps if it does; `None` once it has ended.
    fn doing(&mut self, tid: u32) -> Option<Doing> {
        let status = Status::read(&self.root, tid);
        status.reading.text().filter(|_| !status.has_ended())?;
        let asleep = status.is_asleep().then(|| {
            let function = self.root.read(&format!("/proc/{tid}/wchan")).unwrap_or_default();
            self.number(&function)
        });
        let name = status.field("Name").unwrap_or_default().to_owned();
        let sleeps = status.number("voluntary_ctxt_switches").unwrap_or(0);
        Some(Doing { name, is_program: status.has_memory(), sleeps, asleep })
    }

    /// The number of a function; whose programs are not one's own sleep in `0`.
    fn number(&mut self, function: &str) -> u64 {
        if function.is_empty() || function == "0" {
            return NOT_SAMPLED;
        }
        if let Some(known) = self.functions.get(function) {
            return *known;
        }
        let id = self.functions.len() as u64 + 1;
        self.functions.insert(function.to_owned(), id);
        self.new.push(KernelStack { id, functions: vec![function.to_owned()] });
        id
    }
}

impl WaitReader for Sampling {
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

    /// It had no CPU since: it sleeps on, or waits for one.
    fn unchanged(&self, tid: u32, seen: Span, now: MonotonicTime) -> ThreadWaits {
        let lasts = now.since(self.changed);
        ThreadWaits { ongoing: Some(OngoingWait { stack: self.asleep, lasts }), ..self.waits(tid, seen) }
    }

    /// It had its CPU meanwhile; what of the time was neither that nor a wait for it, it slept.
    fn changed(
        &mut self,
        tid: u32,
        seen: Span,
        now: MonotonicTime,
        (account, doing): (Schedstat, Doing),
    ) -> ThreadWaits {
        let Schedstat { ran, waited, timeslices: turns } = account.since(self.account);
        let slept = now.since(self.changed).minus(ran).minus(waited);
        let sleeps = doing.sleeps.saturating_sub(self.sleeps) + u64::from(self.asleep.is_some());
        let stack = self.asleep.or(doing.asleep).unwrap_or(NOT_SAMPLED);
        let looked_at = u64::from(stack != NOT_SAMPLED);
        let reason = ReasonWaits { stack, waits: several(slept, sleeps.max(1)), sampled: looked_at };
        self.name = doing.name;
        (self.account, self.sleeps, self.asleep, self.changed) = (account, doing.sleeps, doing.asleep, now);
        ThreadWaits {
            cpu: if waited.is_zero() { Waits::default() } else { several(waited, turns.max(1)) },
            reasons: if slept.is_zero() || sleeps == 0 { Vec::new() } else { vec![reason] },
            ..self.waits(tid, seen)
        }
    }
}

/// So many waits of this time together: the longest one is no shorter than their mean.
const fn several(time: Span, count: u64) -> Waits {
    Waits { time, count, longest: Span::from_nanos(time.as_nanos() / count) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A machine with one thread: state, function, account, sleeps.
    fn write(folder: &std::path::Path, state: &str, wchan: &str, account: (u64, u64, u64), sleeps: u64) {
        let write = |name: &str, text: String| {
            howlate_testing::write_below(&folder.join("proc/7"), name, &text);
        };
        let (ran, waited, turns) = account;
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
    fn what_is_neither_running_nor_waiting_for_a_cpu_is_sleep() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "S (sleeping)", "pipe_read", (10, 0, 1), 1);
        let mut sampling = Sampling::begin(Root::at(folder.path())).unwrap();
        sampling.threads.clear();
        sampling.list(at(0));
        let asleep = sampling.look(7, at(100)).unwrap();
        assert_eq!(asleep.ongoing, Some(OngoingWait { stack: Some(1), lasts: Span::from_millis(100) }));
        assert_eq!(sampling.new, [KernelStack { id: 1, functions: vec!["pipe_read".into()] }]);
        // It woke, and slept three times more.
        write(folder.path(), "S (sleeping)", "pipe_read", (30, 40, 5), 4);
        let new = sampling.look(7, at(300)).unwrap();
        assert_eq!((new.seen, new.ongoing), (Span::from_millis(200), None));
        assert_eq!((new.cpu.time, new.cpu.count), (Span::from_millis(40), 4));
        assert_eq!(new.reasons[0].stack, 1);
        let Waits { time, count, longest } = new.reasons[0].waits;
        assert_eq!((time, count, longest), (Span::from_millis(240), 4, Span::from_millis(60)));
    }

    #[test]
    fn whose_functions_are_hidden_waits_for_what_nobody_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "S (sleeping)", "0", (10, 0, 1), 1);
        let mut sampling = Sampling::begin(Root::at(folder.path())).unwrap();
        assert_eq!(sampling.threads[&7].asleep, Some(NOT_SAMPLED));
        write(folder.path(), "Z (zombie)", "0", (11, 0, 2), 1);
        assert!(sampling.look(7, clock::now()).is_none() && sampling.threads.is_empty());
    }

    #[test]
    fn one_that_is_ready_and_gets_no_cpu_waits_for_it() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "R (running)", "0", (10, 0, 1), 1);
        let mut sampling = Sampling::begin(Root::at(folder.path())).unwrap();
        let waits = sampling.look(7, clock::now()).unwrap();
        assert_eq!(waits.ongoing.unwrap().stack, None);
    }

    #[test]
    fn a_machine_without_accounts_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Sampling::begin(Root::at(folder.path())).unwrap_err(), TracerRefusal::NoProc);
        std::fs::create_dir_all(folder.path().join("proc/7")).unwrap();
        assert_eq!(Sampling::begin(Root::at(folder.path())).unwrap_err(), TracerRefusal::NoAccounts);
    }
}
