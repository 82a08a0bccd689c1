//! Sums up the waits that were read, thread by thread, into a table per interval.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use howlate_model::{
    KernelStack, LostWaits, NOT_SAMPLED, OUT_OF_QUOTA, OngoingWait, Span, ThreadWaits, WaitsReport,
};

use super::kind::{WaitKind, WaitNature};
use super::reason::{WaitReason, without_tracer};
use super::sum::{CpuHolderTime, QUOTA, WaitSum, WaitSums};

/// Readings for which the name of a process is stored after it was last seen: others may have waited behind it.
const READINGS_WITH_NAME: u64 = 2;

/// Where a thread waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum WaitSite {
    Cpu,
    At(u64),
    NoRoom,
}

/// One thread since the interval began.
#[derive(Debug, Default)]
struct ThreadState {
    last: ThreadWaits,
    read: u64,
    seen: Span,
    sums: BTreeMap<WaitSite, WaitSum>,
    behind: Vec<CpuHolderTime>,
    /// What it was waiting for when the interval began.
    before: Option<OngoingWait>,
}

/// The waits of the machine's threads in the current interval.
#[derive(Debug, Default)]
pub struct WaitAccumulator {
    reasons: HashMap<u64, (WaitReason, Vec<String>)>,
    threads: HashMap<u32, ThreadState>,
    /// Threads that have ended, by process: its name, their number and their sums.
    past: HashMap<u32, (String, u64, WaitSums)>,
    /// Processes that have ended, by name: their number and their sums.
    ended: BTreeMap<String, (u64, WaitSums)>,
    names: HashMap<u32, (String, u64)>,
    reading: u64,
    lost: LostWaits,
}

/// The waits of one process or thread.
#[derive(Clone, Debug, PartialEq)]
pub struct WaiterTotals {
    /// The process; `None` for several that have ended.
    pub pid: Option<u32>,
    /// The thread; `None` for a process.
    pub tid: Option<u32>,
    pub name: String,
    /// Whether it is part of the kernel.
    pub of_kernel: bool,
    /// Number of threads now.
    pub threads: u64,
    /// Number of threads, or processes, that have ended.
    pub ended: u64,
    /// How long its threads were observed, in all.
    pub seen: Span,
    /// The waits by reason, the most important first.
    pub waits: Vec<WaitTotal>,
}

/// All waits for one reason.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitTotal {
    /// What was waited for, and in which call.
    pub reason: WaitReason,
    /// Number and length of the waits.
    pub sum: WaitSum,
    /// Share of the time in which its threads were observed.
    pub share: f64,
    /// What had the CPU, if it waited for that; the longest first.
    pub behind: Vec<CpuHolderTime>,
    /// Where it waited most recently, the innermost function of the kernel first.
    pub functions: Vec<String>,
}

/// All waits of an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaitTable {
    /// One row for each process, and one for all of a name that have ended.
    pub processes: Vec<WaiterTotals>,
    /// One row for each running thread.
    pub threads: Vec<WaiterTotals>,
    /// Waits that were not recorded.
    pub lost: LostWaits,
}

/// Sort order of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitOrder {
    /// Threads that cannot go on first; among these, the longest time.
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

impl WaitAccumulator {
    /// Adds the waits of one reading.
    pub fn add_reading(&mut self, read: WaitsReport) {
        self.reading += 1;
        for KernelStack { id, functions } in read.stacks {
            let of_thread = without_tracer(&functions).to_vec();
            self.reasons.insert(id, (WaitReason::from_stack(&functions), of_thread));
        }
        for thread in &read.threads {
            self.names.insert(thread.pid, (thread.process.clone(), self.reading));
        }
        read.threads.into_iter().for_each(|thread| self.add_thread(thread));
        self.lost = LostWaits {
            unseen: self.lost.unseen + read.lost.unseen,
            threads: self.lost.threads + read.lost.threads,
            stacks: self.lost.stacks + read.lost.stacks,
        };
        self.drop_ended();
    }

    fn add_thread(&mut self, waits: ThreadWaits) {
        let behind: Vec<CpuHolderTime> =
            waits.rivals.iter().map(|rival| self.cpu_holder(rival.pid, rival.time)).collect();
        // The id has become another process's.
        if self.threads.get(&waits.tid).is_some_and(|state| state.last.pid != waits.pid) {
            self.end_thread(waits.tid);
        }
        let thread = self.threads.entry(waits.tid).or_default();
        thread.read = self.reading;
        thread.seen = thread.seen.plus(waits.seen);
        thread.sums.entry(WaitSite::Cpu).or_default().add_ended(waits.cpu, 0);
        for reason in &waits.reasons {
            let into = thread.sums.entry(WaitSite::At(reason.stack)).or_default();
            into.add_ended(reason.waits, reason.sampled);
        }
        thread.sums.entry(WaitSite::NoRoom).or_default().add_ended(waits.more_reasons, 0);
        thread.behind.extend(behind);
        let (tid, ended) = (waits.tid, waits.ended);
        thread.last = waits;
        if ended {
            self.end_thread(tid);
        }
    }

    fn cpu_holder(&self, pid: u32, time: Span) -> CpuHolderTime {
        match pid {
            0 => CpuHolderTime { name: String::new(), pid: None, time },
            OUT_OF_QUOTA => CpuHolderTime { name: QUOTA.to_owned(), pid: None, time },
            _ => {
                let name =
                    self.names.get(&pid).map_or_else(|| "(ended)".to_owned(), |(name, _)| name.clone());
                CpuHolderTime { name, pid: Some(pid), time }
            }
        }
    }

    /// Drops threads that were not read again, and old names.
    fn drop_ended(&mut self) {
        let reading = self.reading;
        let ended = |(tid, thread): (&u32, &ThreadState)| (thread.read < reading).then_some(*tid);
        let ended: Vec<u32> = self.threads.iter().filter_map(ended).collect();
        ended.into_iter().for_each(|tid| self.end_thread(tid));
        self.names.retain(|_, (_, seen)| *seen + READINGS_WITH_NAME >= reading);
    }

    /// A thread has ended; the process too, if it is its first thread.
    fn end_thread(&mut self, tid: u32) {
        let Some(mut thread) = self.threads.remove(&tid) else { return };
        thread.last.ongoing = None;
        let sums = self.sums(&thread);
        let ThreadWaits { pid, process, .. } = thread.last;
        let (name, ended, past) = self.past.entry(pid).or_default();
        *name = process;
        *ended += 1;
        past.plus(sums);
        if tid == pid {
            self.end_process(pid);
        }
    }

    fn end_process(&mut self, pid: u32) {
        let Some((name, _, past)) = self.past.remove(&pid) else { return };
        let (ended, sums) = self.ended.entry(name).or_default();
        *ended += 1;
        sums.plus(past);
    }

    /// The waits of a thread in this interval.
    fn sums(&self, thread: &ThreadState) -> WaitSums {
        let mut all = WaitSums { seen: thread.seen, ..WaitSums::default() };
        let mut places = thread.sums.clone();
        if let Some(OngoingWait { stack, lasts }) = thread.last.ongoing {
            places.entry(place(stack)).or_default().add_ongoing(lasts);
        }
        if let Some(OngoingWait { stack, lasts }) = thread.before {
            places.entry(place(stack)).or_default().subtract_before(lasts);
        }
        for (place, sum) in places.iter().filter(|(_, sum)| sum.count > 0) {
            let (reason, stack) = self.reason(*place);
            all.add(reason, stack, sum);
        }
        thread.behind.iter().for_each(|holder| all.add_holder(holder.clone()));
        all
    }

    fn reason(&self, place: WaitSite) -> (WaitReason, u64) {
        match place {
            WaitSite::Cpu => (WaitReason::from_kind(WaitKind::Cpu), NOT_SAMPLED),
            WaitSite::NoRoom => (WaitReason::from_kind(WaitKind::NotSeen), NOT_SAMPLED),
            WaitSite::At(id) => {
                let reason = self.reasons.get(&id).map(|(reason, _)| reason.clone());
                (reason.unwrap_or_else(|| WaitReason::from_kind(WaitKind::NotSeen)), id)
            }
        }
    }

    /// The table of the waits since the last one; the next interval begins.
    pub fn table(&mut self) -> WaitTable {
        self.end_past_processes();
        let mut processes: BTreeMap<u32, WaiterTotals> = BTreeMap::new();
        let mut sums: BTreeMap<u32, WaitSums> = BTreeMap::new();
        let mut table = WaitTable { lost: std::mem::take(&mut self.lost), ..WaitTable::default() };
        for (tid, thread) in &self.threads {
            let (last, thread_sums) = (&thread.last, self.sums(thread));
            table.threads.push(self.waiter(last, Some(*tid), thread_sums.clone()));
            let new = || WaiterTotals { threads: 0, ..self.waiter(last, None, WaitSums::default()) };
            processes.entry(last.pid).or_insert_with(new).threads += 1;
            sums.entry(last.pid).or_default().plus(thread_sums);
        }
        for (pid, mut waiter) in processes {
            let mut process_sums = sums.remove(&pid).unwrap_or_default();
            if let Some((_, ended, past)) = self.past.remove(&pid) {
                waiter.ended = ended;
                process_sums.plus(past);
            }
            waiter.seen = process_sums.seen;
            waiter.waits = self.waits(process_sums);
            table.processes.push(waiter);
        }
        for (name, (ended, process_sums)) in std::mem::take(&mut self.ended) {
            let (pid, tid, threads, of_kernel) = (None, None, 0, false);
            let (seen, waits) = (process_sums.seen, self.waits(process_sums));
            table.processes.push(WaiterTotals { pid, tid, name, of_kernel, threads, ended, seen, waits });
        }
        self.begin_interval();
        table
    }

    /// Ends processes of which only ended threads are left: some ended after the first one.
    fn end_past_processes(&mut self) {
        let alive: HashSet<u32> = self.threads.values().map(|thread| thread.last.pid).collect();
        let ended: Vec<u32> = self.past.keys().copied().filter(|pid| !alive.contains(pid)).collect();
        ended.into_iter().for_each(|pid| self.end_process(pid));
    }

    fn waiter(&self, last: &ThreadWaits, tid: Option<u32>, sums: WaitSums) -> WaiterTotals {
        WaiterTotals {
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

    fn waits(&self, sums: WaitSums) -> Vec<WaitTotal> {
        let seen = sums.seen.as_secs_f64();
        let mut behind: Vec<CpuHolderTime> = sums.behind.into_values().collect();
        behind.sort_by_key(|holder| Reverse(holder.time));
        let wait = |(reason, (sum, stack)): (WaitReason, (WaitSum, u64))| WaitTotal {
            share: if seen > 0.0 { (sum.time.as_secs_f64() / seen).min(1.0) } else { 0.0 },
            behind: if reason.kind == WaitKind::Cpu { std::mem::take(&mut behind) } else { Vec::new() },
            functions: self.reasons.get(&stack).map(|(_, functions)| functions.clone()).unwrap_or_default(),
            reason,
            sum,
        };
        let mut waits: Vec<WaitTotal> = sums.by_reason.into_iter().map(wait).collect();
        waits.sort_by_key(|wait| (wait.rank(), Reverse(wait.sum.time)));
        waits
    }

    fn begin_interval(&mut self) {
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

impl WaitTotal {
    /// Sorts by nature; then waits of which some have ended, before those that only go on.
    pub(super) fn rank(&self) -> (WaitNature, bool) {
        let nature = self.reason.kind.nature();
        (nature, nature != WaitNature::HeldUp && self.sum.count == self.sum.ongoing)
    }
}

impl WaitOrder {
    /// Sorts waits of several waiters.
    pub fn sort(self, all: &mut [(&WaiterTotals, &WaitTotal)]) {
        all.sort_by_key(|(_, wait)| {
            let WaitSum { time, count, longest, .. } = wait.sum;
            let by = match self {
                Self::HeldUp => return (wait.rank(), Reverse(time.as_nanos())),
                Self::Time => time.as_nanos(),
                Self::Count => count,
                Self::Longest => longest.as_nanos(),
                Self::Mean => wait.sum.mean().as_nanos(),
            };
            ((WaitNature::HeldUp, false), Reverse(by))
        });
    }
}
