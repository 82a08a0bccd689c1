//! Adds up what was read, thread by thread, into a table of a while.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use howlate_model::{
    KernelStack, LostWaits, NOT_SAMPLED, OUT_OF_QUOTA, OngoingWait, Span, ThreadWaits, WaitsReport,
};

use super::kind::{Nature, WaitKind};
use super::reason::{Reason, without_tracer};
use super::sum::{Behind, QUOTA, Sum, Sums};

/// Names of processes are kept for so many readings after the last sight of them: somebody may have waited behind them.
const NAMES_KEPT: u64 = 2;

/// Where a thread waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum WaitSite {
    Cpu,
    At(u64),
    NoRoom,
}

/// One thread since the while began.
#[derive(Debug, Default)]
struct ThreadState {
    last: ThreadWaits,
    read: u64,
    seen: Span,
    sums: BTreeMap<WaitSite, Sum>,
    behind: Vec<Behind>,
    /// What it waited for when the while began.
    before: Option<OngoingWait>,
}

/// What is known of the machine's threads in the current while.
#[derive(Debug, Default)]
pub struct Adding {
    reasons: HashMap<u64, (Reason, Vec<String>)>,
    threads: HashMap<u32, ThreadState>,
    /// Threads that have ended, by process.
    past: HashMap<u32, (String, u64, Sums)>,
    /// Processes that have ended, by name: how many, of the kernel or not.
    ended: BTreeMap<String, (u64, Sums)>,
    names: HashMap<u32, (String, u64)>,
    reading: u64,
    lost: LostWaits,
}

/// What one process or thread waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiter {
    /// Its process; `None` of several that have ended.
    pub pid: Option<u32>,
    /// The thread, of one.
    pub tid: Option<u32>,
    /// What it is called.
    pub name: String,
    /// Part of the kernel.
    pub of_kernel: bool,
    /// Threads that there are now.
    pub threads: u64,
    /// Threads, or processes, that have ended.
    pub ended: u64,
    /// For how long its threads were seen, together.
    pub seen: Span,
    /// Each reason, what a person wants to see first coming first.
    pub waits: Vec<Wait>,
}

/// What somebody waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// What was waited for, and in which call.
    pub reason: Reason,
    /// How often and how long.
    pub sum: Sum,
    /// The part of the time in which its threads were seen.
    pub share: f64,
    /// Who had the CPU, if that is what it waited for; the longest first.
    pub behind: Vec<Behind>,
    /// Where it waited most recently, the innermost function of the kernel first.
    pub functions: Vec<String>,
}

/// All of a while.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// One for each process, and one for all that have ended of each name.
    pub processes: Vec<Waiter>,
    /// One for each thread that there is.
    pub threads: Vec<Waiter>,
    /// What nobody saw.
    pub lost: LostWaits,
}

/// What comes first in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Those that are held up; of these, the longest time.
    #[default]
    HeldUp,
    /// The longest time.
    Time,
    /// By the number of waits.
    Count,
    /// The longest wait.
    Longest,
    /// The longest mean.
    Mean,
}

impl Adding {
    /// Takes in what was read.
    pub fn take(&mut self, read: WaitsReport) {
        self.reading += 1;
        for KernelStack { id, functions } in read.stacks {
            let of_thread = without_tracer(&functions).to_vec();
            self.reasons.insert(id, (Reason::from_stack(&functions), of_thread));
        }
        for thread in &read.threads {
            self.names.insert(thread.pid, (thread.process.clone(), self.reading));
        }
        read.threads.into_iter().for_each(|thread| self.add(thread));
        self.lost = LostWaits {
            unseen: self.lost.unseen + read.lost.unseen,
            threads: self.lost.threads + read.lost.threads,
            stacks: self.lost.stacks + read.lost.stacks,
        };
        self.forget();
    }

    fn add(&mut self, one: ThreadWaits) {
        let behind: Vec<Behind> = one.rivals.iter().map(|rival| self.rival(rival.pid, rival.time)).collect();
        // A number that has become another thread's.
        if self.threads.get(&one.tid).is_some_and(|known| known.last.pid != one.pid) {
            self.end(one.tid);
        }
        let thread = self.threads.entry(one.tid).or_default();
        thread.read = self.reading;
        thread.seen = thread.seen.plus(one.seen);
        thread.sums.entry(WaitSite::Cpu).or_default().over(one.cpu, 0);
        for reason in &one.reasons {
            let into = thread.sums.entry(WaitSite::At(reason.stack)).or_default();
            into.over(reason.waits, reason.sampled);
        }
        thread.sums.entry(WaitSite::NoRoom).or_default().over(one.more_reasons, 0);
        thread.behind.extend(behind);
        let (tid, ended) = (one.tid, one.ended);
        thread.last = one;
        if ended {
            self.end(tid);
        }
    }

    fn rival(&self, pid: u32, time: Span) -> Behind {
        match pid {
            0 => Behind { name: String::new(), pid: None, time },
            OUT_OF_QUOTA => Behind { name: QUOTA.to_owned(), pid: None, time },
            _ => {
                let name =
                    self.names.get(&pid).map_or_else(|| "(ended)".to_owned(), |(name, _)| name.clone());
                Behind { name, pid: Some(pid), time }
            }
        }
    }

    /// Threads and names that are gone.
    fn forget(&mut self) {
        let reading = self.reading;
        let gone = |(tid, thread): (&u32, &ThreadState)| (thread.read < reading).then_some(*tid);
        let gone: Vec<u32> = self.threads.iter().filter_map(gone).collect();
        gone.into_iter().for_each(|tid| self.end(tid));
        self.names.retain(|_, (_, seen)| *seen + NAMES_KEPT >= reading);
    }

    /// A thread has ended; its process has, if it is the first one.
    fn end(&mut self, tid: u32) {
        let Some(mut thread) = self.threads.remove(&tid) else { return };
        thread.last.ongoing = None;
        let sums = self.sums(&thread);
        let ThreadWaits { pid, process, .. } = thread.last;
        let (name, ended, past) = self.past.entry(pid).or_default();
        *name = process;
        *ended += 1;
        past.plus(sums);
        if tid == pid {
            self.process_ended(pid);
        }
    }

    fn process_ended(&mut self, pid: u32) {
        let Some((name, _, past)) = self.past.remove(&pid) else { return };
        let (ended, sums) = self.ended.entry(name).or_default();
        *ended += 1;
        sums.plus(past);
    }

    /// What a thread waited for in this while.
    fn sums(&self, thread: &ThreadState) -> Sums {
        let mut all = Sums { seen: thread.seen, ..Sums::default() };
        let mut places = thread.sums.clone();
        if let Some(OngoingWait { stack, lasts }) = thread.last.ongoing {
            places.entry(place(stack)).or_default().ongoing(lasts);
        }
        if let Some(OngoingWait { stack, lasts }) = thread.before {
            places.entry(place(stack)).or_default().before(lasts);
        }
        for (place, sum) in places.iter().filter(|(_, sum)| sum.count > 0) {
            let (reason, stack) = self.reason(*place);
            all.add(reason, stack, sum);
        }
        thread.behind.iter().for_each(|one| all.behind(one.clone()));
        all
    }

    fn reason(&self, place: WaitSite) -> (Reason, u64) {
        match place {
            WaitSite::Cpu => (Reason::from_kind(WaitKind::Cpu), NOT_SAMPLED),
            WaitSite::NoRoom => (Reason::from_kind(WaitKind::NotSeen), NOT_SAMPLED),
            WaitSite::At(id) => {
                let known = self.reasons.get(&id).map(|(reason, _)| reason.clone());
                (known.unwrap_or_else(|| Reason::from_kind(WaitKind::NotSeen)), id)
            }
        }
    }

    /// What there was since the last table; the next while begins.
    pub fn table(&mut self) -> Table {
        self.past_without_process();
        let mut processes: BTreeMap<u32, Waiter> = BTreeMap::new();
        let mut sums: BTreeMap<u32, Sums> = BTreeMap::new();
        let mut table = Table { lost: std::mem::take(&mut self.lost), ..Table::default() };
        for (tid, thread) in &self.threads {
            let (last, of_one) = (&thread.last, self.sums(thread));
            table.threads.push(self.waiter(last, Some(*tid), of_one.clone()));
            let new = || Waiter { threads: 0, ..self.waiter(last, None, Sums::default()) };
            processes.entry(last.pid).or_insert_with(new).threads += 1;
            sums.entry(last.pid).or_default().plus(of_one);
        }
        for (pid, mut waiter) in processes {
            let mut of_all = sums.remove(&pid).unwrap_or_default();
            if let Some((_, ended, past)) = self.past.remove(&pid) {
                waiter.ended = ended;
                of_all.plus(past);
            }
            waiter.seen = of_all.seen;
            waiter.waits = self.waits(of_all);
            table.processes.push(waiter);
        }
        for (name, (ended, of_all)) in std::mem::take(&mut self.ended) {
            let (pid, tid, threads, of_kernel) = (None, None, 0, false);
            let (seen, waits) = (of_all.seen, self.waits(of_all));
            table.processes.push(Waiter { pid, tid, name, of_kernel, threads, ended, seen, waits });
        }
        self.begin_anew();
        table
    }

    /// Threads that ended after the first one of their process.
    fn past_without_process(&mut self) {
        let there: HashSet<u32> = self.threads.values().map(|thread| thread.last.pid).collect();
        let gone: Vec<u32> = self.past.keys().copied().filter(|pid| !there.contains(pid)).collect();
        gone.into_iter().for_each(|pid| self.process_ended(pid));
    }

    fn waiter(&self, last: &ThreadWaits, tid: Option<u32>, sums: Sums) -> Waiter {
        Waiter {
            pid: Some(last.pid),
            tid,
            name: if tid.is_some() { last.name.clone() } else { last.process.clone() },
            of_kernel: last.of_kernel,
            threads: 1,
            ended: 0,
            seen: sums.seen,
            waits: self.waits(sums),
        }
    }

    fn waits(&self, sums: Sums) -> Vec<Wait> {
        let seen = sums.seen.as_secs_f64();
        let mut behind: Vec<Behind> = sums.behind.into_values().collect();
        behind.sort_by_key(|one| Reverse(one.time));
        let wait = |(reason, (sum, stack)): (Reason, (Sum, u64))| Wait {
            share: if seen > 0.0 { (sum.time.as_secs_f64() / seen).min(1.0) } else { 0.0 },
            behind: if reason.kind == WaitKind::Cpu { std::mem::take(&mut behind) } else { Vec::new() },
            functions: self.reasons.get(&stack).map(|(_, functions)| functions.clone()).unwrap_or_default(),
            reason,
            sum,
        };
        let mut waits: Vec<Wait> = sums.by_reason.into_iter().map(wait).collect();
        waits.sort_by_key(|one| (one.place(), Reverse(one.sum.time)));
        waits
    }

    fn begin_anew(&mut self) {
        for thread in self.threads.values_mut() {
            thread.before = thread.last.ongoing;
            thread.seen = Span::ZERO;
            thread.sums.clear();
            thread.behind.clear();
        }
    }
}

const fn place(stack: Option<u64>) -> WaitSite {
    match stack {
        None => WaitSite::Cpu,
        Some(id) => WaitSite::At(id),
    }
}

impl Wait {
    /// What comes first: its nature; then waits of which some were over, before those that only went on.
    pub(super) fn place(&self) -> (Nature, bool) {
        let nature = self.reason.kind.nature();
        (nature, nature != Nature::HeldUp && self.sum.count == self.sum.ongoing)
    }
}

impl Order {
    /// Sorts waits of several waiters.
    pub fn sort(self, all: &mut [(&Waiter, &Wait)]) {
        all.sort_by_key(|(_, wait)| {
            let Sum { time, count, longest, .. } = wait.sum;
            let by = match self {
                Self::HeldUp => return (wait.place(), Reverse(time.as_nanos())),
                Self::Time => time.as_nanos(),
                Self::Count => count,
                Self::Longest => longest.as_nanos(),
                Self::Mean => wait.sum.mean().as_nanos(),
            };
            ((Nature::HeldUp, false), Reverse(by))
        });
    }
}
