//! Advice for the threads of a watched program: for each cause of lateness the remedy that fits it, and the thread it is for. Pure.
//!
//! Users will follow the advice to the letter. A policy is advised for one thread, and never for one that leaves its CPU to
//! no other thread or that makes other threads of its program late; no policy mends a lock, a call or a page fault; and causes
//! without a remedy get no advice.

use howlate_model::{
    Activation, CauseKind, Finding, FindingId, GroupQuota, GroupWithoutRealtime, IterationWait, Part, Policy,
    Priority, ProgramLanguage, Span, ThreadShare, TimerLoopBlock, Verdict, WatchedProgram, Work,
};

use crate::cause::{LOCK_CALL, Why, WhyCause, families, is_caused_by_measuring};
use crate::watch::{LengthSleeps, Rhythm};
use crate::{Analysis, Outcome};

mod lock_holders;
mod requests;
#[cfg(test)]
mod tests;

pub use requests::{RequestAdvice, RequestCure, request_advice};

/// A cause of less than this share of the late time is not worth changing anything for.
const LEAST_SHARE: f64 = 0.05;
/// Nor is a policy worth it for less than this share.
const SHARE_OF_A_POLICY: f64 = 0.2;
/// A cause met in fewer wake-ups or iterations may never come again.
const LEAST_TIMES: u64 = 3;
/// A thread with this share of a CPU hardly ever leaves it to others: under a real-time policy no other thread would run there.
const SPINS: f64 = 0.9;
/// The highest priority that is advised: kernel threads that must come first have 99.
const HIGHEST: u32 = 98;
/// Smaller lateness is nothing that a policy mends: the tick, interrupts and idle exits take as long.
const WORTH_A_POLICY: Span = Span::from_micros(100);
/// A thread with more than this share of a CPU keeps others from it by what it computes.
const MUCH_OF_A_CPU: f64 = 0.5;
/// Slack of less than this share of the usual lateness is not worth mentioning,
const USUAL_SLACK: f64 = 0.25;
/// nor is slack of less than this share of the largest lateness, as changing it makes no visible difference,
const LEAST_SLACK: f64 = 0.1;
/// nor slack beside a cause that makes a thread of the same program this many times as late.
const MUCH_MORE: u64 = 10;
/// Nanoseconds that a thread must have waited for one culprit in all for the wait to be no accident.
const STARVED: u64 = 1_000_000_000;
/// Fewer wake-ups are no loop whose slack matters.
const LEAST_OF_A_LOOP: u64 = 100;
/// Calls that a loop can leave to another thread. Calls that wait for data or for a lock are not among them.
const CALLS_TO_HAND_OVER: [&str; 18] = [
    "write",
    "writev",
    "pwrite64",
    "fsync",
    "fdatasync",
    "openat",
    "open",
    "close",
    "unlink",
    "unlinkat",
    "rename",
    "sendto",
    "sendmsg",
    "sendfile",
    "ftruncate",
    "fallocate",
    "connect",
    "execve",
];

/// A remedy for one thread, and the causes that it acts on.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadAdvice {
    pub thread: AdvisedThread,
    pub cure: Cure,
    /// The late time that it acts on, nanoseconds.
    pub late_ns: u64,
    /// The causes of that time, the largest first.
    pub against: Vec<WhyCause>,
}

/// The thread that was late.
#[derive(Clone, Debug, PartialEq)]
pub struct AdvisedThread {
    pub name: String,
    /// Its id; `None` where it stands for several threads, one after the other.
    pub tid: Option<u32>,
    /// The policy it ran under.
    pub policy: Policy,
    /// Share of a CPU that it used, 0 to 1, if recorded.
    pub share: Option<f64>,
}

impl AdvisedThread {
    /// Whether both are the same thread, possibly under different names.
    fn is_same(&self, other: &Self) -> bool {
        self.tid == other.tid && (self.tid.is_some() || self.name == other.name)
    }

    /// The share of a CPU that it used, if that is so much that raising it would keep other threads from the CPU.
    pub fn much_of_a_cpu(&self) -> Option<f64> {
        self.share.filter(|share| *share >= MUCH_OF_A_CPU)
    }
}

/// A remedy for one cause of lateness.
#[derive(Clone, Debug, PartialEq)]
pub enum Cure {
    /// A real-time priority for that thread alone.
    RealTime {
        /// Above all threads that kept it waiting.
        priority: Priority,
        /// The control group in which it would be refused, as that has no running time for real-time threads.
        refused_in: Option<GroupWithoutRealtime>,
    },
    /// A mutex with priority inheritance.
    Inheritance {
        /// The thread that held it.
        holder: String,
    },
    /// Less done while the lock is held.
    ShorterLock {
        /// The thread that held it.
        holder: String,
        /// What it did for most of that time.
        meanwhile: Meanwhile,
    },
    /// The interpreter's lock handed over sooner, or the work moved to a process of its own.
    InterpreterLock {
        /// The thread that had it.
        holder: String,
    },
    /// A system call left to another thread.
    HandOver { call: String },
    /// Memory locked and touched before it is used.
    Memory,
    /// Sleeping until a time instead of for a length.
    SleepUntil(LengthSleeps),
    /// More running time for a thread of `SCHED_DEADLINE`.
    DeadlineRuntime { runtime: Span, period: Span },
    /// More CPU time for its control group.
    Quota(Option<GroupQuota>),
    /// Less timer slack than this.
    Slack(Span),
    /// A thread of the program itself gives way to the late one.
    GiveWay {
        /// The thread that has the CPU.
        culprit: String,
        /// Its id, if it was always the same one.
        tid: Option<u32>,
    },
}

/// What a thread that is waited for does meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meanwhile {
    /// It runs; or nothing is known of it.
    Works,
    /// It is blocked in that system call.
    BlockedIn(String),
    /// Others have its CPU.
    OffCpu,
}

impl Cure {
    /// Whether both are the same remedy, possibly with other details.
    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// Takes the higher of two priorities, which comes before all threads that either of them was for.
    fn raise_to(&mut self, other: &Self) {
        if let (Self::RealTime { priority: highest, .. }, Self::RealTime { priority, .. }) = (self, other) {
            *highest = (*highest).max(*priority);
        }
    }
}

/// Advice for all threads of a watched program, the most important first. Empty if nothing was watched.
pub fn thread_advice(analysis: &Analysis) -> Vec<ThreadAdvice> {
    let program = analysis.program.as_deref().cloned().unwrap_or_default();
    let watched: Vec<ThreadRow<'_>> = analysis
        .outcomes()
        .iter()
        .filter_map(|outcome| ThreadRow::read(outcome, analysis, &program))
        .collect();
    let is_of_go = program.language == Some(ProgramLanguage::Go);
    let mut all: Vec<(bool, ThreadAdvice)> = Vec::new();
    for row in &watched {
        let is_raised =
            row.gains_by_a_policy(&watched) && !watched.iter().any(|other| other.is_delayed_by(row));
        for advice in row.advice(&program, is_raised) {
            // Goroutines move between threads all the time, so advice for a thread would be for none of them.
            let is_for_goroutine = is_of_go && !matches!(advice.cure, Cure::Quota(_));
            if !is_for_goroutine && !lowers_a_holder(&advice.cure, &watched) {
                add(&mut all, row.has_deadlines(), advice);
            }
        }
    }
    all.sort_by_key(|(has_deadlines, advice)| {
        std::cmp::Reverse((advice.thread.policy.is_realtime(), *has_deadlines, advice.late_ns))
    });
    let all: Vec<ThreadAdvice> = all.into_iter().map(|(_, advice)| advice).collect();
    // Other advice for the same thread makes some of it needless: a better remedy for its lock, the interpreter's lock, or a policy
    // under which timer slack does not apply.
    let may_rise = may_rise(analysis);
    let largest_late_ns = watched.iter().map(ThreadRow::late_ns).max().unwrap_or(0);
    let stays_away = watched.iter().any(ThreadRow::stays_away);
    let is_needless = |advice: &ThreadAdvice| {
        let replaces = |other: &ThreadAdvice| match (&advice.cure, &other.cure) {
            (Cure::ShorterLock { .. }, Cure::Inheritance { .. })
            | (Cure::RealTime { .. } | Cure::Slack(_), Cure::InterpreterLock { .. }) => true,
            (Cure::Slack(_), Cure::RealTime { refused_in: None, .. }) => {
                may_rise && other.late_ns > advice.late_ns
            }
            (Cure::Slack(_), Cure::SleepUntil(_)) => true,
            _ => false,
        };
        let is_dwarfed = matches!(advice.cure, Cure::Slack(_))
            && (stays_away || largest_late_ns / MUCH_MORE > advice.late_ns);
        // Of two threads with the same remedy, one of which has ended, the other one is the one to begin with.
        let is_over =
            |advice: &ThreadAdvice| advice.thread.tid.is_some_and(|tid| program.ended.contains(&tid));
        let goes_on = |other: &ThreadAdvice| !is_over(other) && other.cure.is_like(&advice.cure);
        is_dwarfed
            || is_over(advice) && all.iter().any(goes_on)
            || all.iter().any(|other| other.thread.is_same(&advice.thread) && replaces(other))
    };
    // A thread that gives way does so for all others, and the interpreter hands its lock over sooner for all of them.
    let is_repeated = |at: usize, advice: &ThreadAdvice| {
        let is_same = |other: &ThreadAdvice| match advice.cure {
            Cure::GiveWay { .. } => other.cure == advice.cure,
            Cure::InterpreterLock { .. } => other.cure.is_like(&advice.cure),
            _ => false,
        };
        all[..at].iter().any(is_same)
    };
    let worth_saying =
        all.iter().enumerate().filter(|(at, advice)| !is_needless(advice) && !is_repeated(*at, advice));
    worth_saying.map(|(_, advice)| advice.clone()).collect()
}

/// Whether no finding says that the user may not set a real-time policy.
fn may_rise(analysis: &Analysis) -> bool {
    let forbids =
        |finding: &Finding| finding.id == FindingId::RealtimePermission && finding.verdict == Verdict::Blocks;
    !analysis.header.findings.iter().any(forbids)
}

/// Whether the thread that would give way has something that a thread of the program waits for: that wait would get longer, by
/// all threads that have the CPU meanwhile.
fn lowers_a_holder(cure: &Cure, all: &[ThreadRow<'_>]) -> bool {
    let Cure::GiveWay { culprit, tid } = cure else { return false };
    all.iter().any(|row| row.waits_for(culprit, *tid))
}

/// Adds advice, or joins it with the same advice from another row of the thread: by timer and by event, or under another name.
fn add(all: &mut Vec<(bool, ThreadAdvice)>, has_deadlines: bool, advice: ThreadAdvice) {
    let is_same = |earlier: &&mut (bool, ThreadAdvice)| {
        earlier.1.thread.is_same(&advice.thread) && earlier.1.cure.is_like(&advice.cure)
    };
    let Some((earlier_deadlines, earlier)) = all.iter_mut().find(is_same) else {
        return all.push((has_deadlines, advice));
    };
    *earlier_deadlines |= has_deadlines;
    earlier.cure.raise_to(&advice.cure);
    earlier.late_ns = earlier.late_ns.max(advice.late_ns);
    for cause in advice.against {
        if !earlier.against.iter().any(|other| (other.kind, &other.name) == (cause.kind, &cause.name)) {
            earlier.against.push(cause);
        }
    }
}

/// A thread's wake-ups of one kind, and their causes of lateness.
struct ThreadRow<'a> {
    outcome: &'a Outcome,
    thread: AdvisedThread,
    slack: Span,
    /// The least lateness of the wake-ups that the causes are about.
    late_above: Span,
    /// Timer slack in the usual wake-up, if it is a good part of the latency.
    usual_slack: Option<Span>,
    /// The causes summed by family of threads, and each by itself.
    causes: Vec<WhyCause>,
    each: Vec<WhyCause>,
}

impl<'a> ThreadRow<'a> {
    fn read(outcome: &'a Outcome, analysis: &Analysis, program: &WatchedProgram) -> Option<Self> {
        let Work::Watch { .. } = outcome.condition.work else { return None };
        // Several threads may answer requests: each has a row of its own.
        if outcome.is_of_requests() {
            return None;
        }
        let in_force = outcome.in_force.as_ref();
        let is_one = outcome.rhythm.as_deref().and_then(Rhythm::threads).is_none_or(|threads| threads == 1);
        let tid = in_force.map(|in_force| in_force.tid).filter(|tid| is_one && *tid != 0);
        let share = program.busiest.iter().find(|thread| Some(thread.tid) == tid).map(|thread| thread.share);
        let name = outcome.condition.name.clone().unwrap_or_default();
        let why = outcome.why_late(analysis.header.late_above);
        let causes = why.iter().flat_map(families).map(|family| family.cause).collect();
        let usual_slack = why.as_ref().and_then(|why| usual_slack(why, outcome));
        let late_above = why.as_ref().map_or(Span::ZERO, |why| why.late.above);
        let each = why.map_or_else(Vec::new, |why| why.causes);
        let thread = AdvisedThread { name, tid, policy: outcome.policy_in_force(), share };
        Some(Self {
            outcome,
            thread,
            slack: in_force.map_or(Span::ZERO, |in_force| in_force.slack),
            late_above,
            usual_slack,
            causes,
            each,
        })
    }

    /// Nanoseconds of lateness in the wake-ups that the causes are about.
    fn late_ns(&self) -> u64 {
        self.causes.iter().map(|cause| cause.late_ns).sum()
    }

    fn spins(&self) -> bool {
        self.thread.share.is_some_and(|share| share >= SPINS)
    }

    /// Whether a real-time policy would help it without harming others: it is late by enough, leaves its CPU to others, and has
    /// deadlines of its own or of other programs. A thread woken by ordinary siblings is a link of a chain, of which one link alone
    /// goes no faster.
    fn gains_by_a_policy(&self, all: &[Self]) -> bool {
        let woken_by = self.outcome.rhythm.as_deref().map_or(&[][..], Rhythm::woken_by);
        let sibling = |pid: u32| {
            all.iter().find(|other| other.thread.tid == Some(pid) && other.thread.tid != self.thread.tid)
        };
        let siblings = woken_by.iter().filter_map(|waker| Some((waker, waker.by.pid.and_then(sibling)?)));
        let ordinary = siblings.clone().filter(|(_, row)| !row.thread.policy.is_realtime());
        let by_siblings = ordinary.map(|(waker, _)| waker.count).sum::<u64>();
        let comes_after_first = siblings.map(|(waker, _)| waker.count).sum::<u64>() > 0 && by_siblings == 0;
        let all = woken_by.iter().map(|waker| waker.count).sum::<u64>();
        let is_handed = self.outcome.condition.work == Work::Watch { mechanism: Activation::HandedOn }
            && !comes_after_first;
        let is_link = is_handed || by_siblings * 2 > all || self.waits_for_siblings();
        self.late_above >= WORTH_A_POLICY && !self.spins() && !is_link
    }

    /// Whether it waits for a thread of its program in most of its iterations, as a client of its own server does.
    fn waits_for_siblings(&self) -> bool {
        let timer_loop = self.outcome.rhythm.as_deref().and_then(Rhythm::timer_loop);
        timer_loop.is_some_and(|timer_loop| {
            timer_loop.waits.iter().any(|wait| wait.own && wait.time.count() * 2 > timer_loop.length.count())
        })
    }

    /// Whether it waits for a thread of its program repeatedly: for a lock that the thread holds, or to be woken by it.
    fn waits_for(&self, name: &str, tid: Option<u32>) -> bool {
        let is_it = |by: &str, pid: Option<u32>| match (pid, tid) {
            (Some(pid), Some(tid)) => pid == tid,
            _ => by == name,
        };
        let holds = |cause: &WhyCause| match cause.kind {
            CauseKind::Lock => is_it(cause.name.as_deref().unwrap_or_default(), cause.pid),
            _ => cause.through == name,
        };
        let woken_by = self.outcome.rhythm.as_deref().map_or(&[][..], Rhythm::woken_by);
        let waits = self.iteration_waits();
        self.each.iter().any(|cause| cause.wakeups >= LEAST_TIMES && holds(cause))
            || waits.iter().any(|wait| wait.time.count() >= LEAST_TIMES && is_it(&wait.by, wait.tid))
            || woken_by.iter().any(|waker| waker.count >= LEAST_TIMES && is_it(&waker.by.name, waker.by.pid))
    }

    /// Whether the thread has deadlines: a rhythm, a real-time policy, or a loop that its program has marked.
    fn has_deadlines(&self) -> bool {
        let has_rhythm = self.outcome.rhythm.as_deref().is_some_and(|rhythm| rhythm.period().is_some());
        let is_marked = self.outcome.condition.work == Work::Watch { mechanism: Activation::Loop };
        self.thread.policy.is_realtime() || is_marked || has_rhythm
    }

    /// Whether `other`, a thread of the same program, took a good part of its time, or held what it waited for.
    fn is_delayed_by(&self, other: &Self) -> bool {
        let is_other = |cause: &WhyCause| match (cause.pid, other.thread.tid) {
            (Some(pid), Some(tid)) => pid == tid,
            _ => cause.name.as_deref() == Some(other.thread.name.as_str()),
        };
        let is_same = self.thread.tid == other.thread.tid && self.thread.name == other.thread.name;
        let matters = |cause: &&WhyCause| cause.share >= LEAST_SHARE && cause.wakeups >= LEAST_TIMES;
        let has_cpu =
            |cause: &WhyCause| matches!(cause.kind, CauseKind::Thread | CauseKind::Lock) && is_other(cause);
        let holds = |cause: &WhyCause| cause.through == other.thread.name;
        !is_same && self.each.iter().filter(matters).any(|cause| has_cpu(cause) || holds(cause))
    }

    fn advice(&self, program: &WatchedProgram, is_raised: bool) -> Vec<ThreadAdvice> {
        let matters = |cause: &&WhyCause| {
            cause.share >= LEAST_SHARE && self.recurs(cause) && !is_caused_by_measuring(cause)
        };
        let mut all: Vec<ThreadAdvice> = Vec::new();
        for cause in self.causes.iter().filter(matters) {
            let Some(cure) = self.cure(cause, program, is_raised) else { continue };
            let advice = self.advise(cure, cause.late_ns, vec![cause.clone()]);
            match all.iter_mut().find(|earlier| earlier.cure.is_like(&advice.cure)) {
                Some(earlier) => join(earlier, advice),
                None => all.push(advice),
            }
        }
        // A policy that helps against little of the lateness makes no visible difference.
        let is_visible = |advice: &ThreadAdvice| {
            !matches!(advice.cure, Cure::RealTime { .. })
                || advice.late_ns as f64 >= SHARE_OF_A_POLICY * self.late_ns() as f64
        };
        all.retain(is_visible);
        let more = self.iteration_advice(program).into_iter().chain(self.drift()).chain(self.slack());
        for advice in more {
            let is_listed = all.iter().any(|earlier| earlier.cure.is_like(&advice.cure));
            if !is_listed {
                all.push(advice);
            }
        }
        all
    }

    /// Whether a cause was met more than once or twice. A thread that delays a lock's holder recurs whenever the lock is waited for,
    /// even if in none of the few wake-ups with the largest latency.
    fn recurs(&self, cause: &WhyCause) -> bool {
        let waited_for = cause.via.first().unwrap_or(&cause.through);
        let is_of_holder = |wait: &IterationWait| {
            wait.kind == CauseKind::Lock && wait.by == *waited_for && wait.time.count() >= LEAST_TIMES
        };
        // A thread that hardly ever runs cannot meet a cause often.
        let starves = self.outcome.count() < LEAST_OF_A_LOOP && cause.late_ns >= STARVED;
        cause.wakeups >= LEAST_TIMES || starves || self.iteration_waits().iter().any(is_of_holder)
    }

    /// Whether it waits for a lock of that thread in many of its iterations: with a higher priority it would wait for the lock instead.
    fn contends_with(&self, cause: &WhyCause) -> bool {
        let timer_loop = self.outcome.rhythm.as_deref().and_then(Rhythm::timer_loop);
        let is_it = |wait: &IterationWait| match (wait.tid, cause.pid) {
            (Some(tid), Some(pid)) => tid == pid,
            _ => Some(wait.by.as_str()) == cause.name.as_deref(),
        };
        let often = |timer_loop: &TimerLoopBlock| {
            let mut locks =
                timer_loop.waits.iter().filter(|wait| wait.kind == CauseKind::Lock && is_it(wait));
            locks.any(|wait| wait.time.count() * 3 > timer_loop.length.count())
        };
        cause.own && timer_loop.is_some_and(often)
    }

    fn iteration_waits(&self) -> &'a [IterationWait] {
        let timer_loop = self.outcome.rhythm.as_deref().and_then(Rhythm::timer_loop);
        timer_loop.map_or(&[], |timer_loop| &timer_loop.waits)
    }

    /// The remedy for one cause.
    fn cure(&self, cause: &WhyCause, program: &WatchedProgram, is_raised: bool) -> Option<Cure> {
        match cause.kind {
            CauseKind::Thread if !cause.through.is_empty() => {
                let holder = cause.through.clone();
                // It lends its priority to the thread that it waits for itself.
                let is_own_lock = cause.call == LOCK_CALL && cause.via.is_empty();
                let is_lock = is_own_lock && program.language.is_none();
                // A normal thread has no priority to lend.
                let cure = if self.thread.policy.is_realtime() {
                    Cure::Inheritance { holder }
                } else {
                    Cure::ShorterLock { holder, meanwhile: Meanwhile::OffCpu }
                };
                is_lock.then_some(cure)
            }
            CauseKind::Thread if shares_the_interpreter(cause, program) => {
                Some(Cure::InterpreterLock { holder: cause.name.clone().unwrap_or_default() })
            }
            CauseKind::Thread if self.contends_with(cause) => None,
            CauseKind::Thread => {
                let refused_in = program.group_without_realtime();
                let above = self.priority_above(cause).filter(|_| is_raised);
                let raised = above.map(|priority| Cure::RealTime { priority, refused_in });
                raised.or_else(|| self.give_way(cause, program))
            }
            // What it waited for waited itself: that thread has advice of its own.
            CauseKind::Lock | CauseKind::SystemCall if !cause.through.is_empty() => None,
            CauseKind::Lock => self.lock_cure(cause.name.as_deref().unwrap_or_default(), program),
            CauseKind::SystemCall => hand_over(&cause.call),
            CauseKind::PageFault => Some(Cure::Memory),
            CauseKind::DeadlineBudget => match self.thread.policy {
                Policy::Deadline { runtime, deadline_period } => {
                    Some(Cure::DeadlineRuntime { runtime, period: deadline_period })
                }
                _ => None,
            },
            CauseKind::Throttled if !self.thread.policy.is_realtime() => {
                let name = cause.name.as_deref().unwrap_or_default();
                let quota = program.quotas.iter().find(|quota| quota.group == name || name.is_empty());
                Some(Cure::Quota(quota.or(program.quotas.first()).cloned()))
            }
            CauseKind::TimerSlack if !self.thread.policy.is_realtime() && self.slack_matters() => {
                Some(Cure::Slack(self.slack))
            }
            _ => None,
        }
    }

    /// Lets a sibling that computes all the time give way, if a real-time policy does not help. Not in Python, whose threads hold the
    /// interpreter's lock while they compute: all others would wait for the one that gives way.
    fn give_way(&self, cause: &WhyCause, program: &WatchedProgram) -> Option<Cure> {
        let (culprit, tid) = (cause.name.clone()?, cause.pid);
        let is_busy = |thread: &ThreadShare| Some(thread.tid) == tid && thread.share >= MUCH_OF_A_CPU;
        let has_lock = program.language == Some(ProgramLanguage::Python);
        let is_hog = cause.own && !has_lock && !cause.real_time && program.busiest.iter().any(is_busy);
        // A weight only makes the request come sooner, and here it had come.
        let is_hog = is_hog && !cause.is_lazy_preemption();
        (is_hog && !self.thread.policy.is_realtime() && !self.spins())
            .then_some(Cure::GiveWay { culprit, tid })
    }

    /// The real-time priority that this thread would need to come before `cause`; `None` if none helps, or it has one that does.
    fn priority_above(&self, cause: &WhyCause) -> Option<Priority> {
        let own = self.thread.policy.priority();
        match (cause.real_time, cause.priority) {
            // A normal thread delays a real-time one only while it is in the kernel, where no priority helps.
            (false, _) => {
                own.is_none().then_some(Priority::USUAL).filter(|_| !self.thread.policy.is_realtime())
            }
            (true, None) => None,
            (true, Some(of_cause)) => {
                let above =
                    of_cause.raised(1).max(if own.is_none() { Priority::USUAL } else { of_cause.raised(1) });
                (of_cause.get() < HIGHEST && own.is_none_or(|own| own <= of_cause)).then_some(above)
            }
        }
    }

    /// Advice for what it is blocked in within its iterations, if that is a good part of them.
    fn iteration_advice(&self, program: &WatchedProgram) -> Vec<ThreadAdvice> {
        let Some(rhythm) = self.outcome.rhythm.as_deref() else { return Vec::new() };
        // A call harms nothing in a loop that has the time for it within its period.
        let period = rhythm.period().map_or(0, Span::as_nanos);
        let longest = rhythm.timer_loop().and_then(|timer_loop| timer_loop.length.quantile(0.99));
        let is_harmless = longest.is_some_and(|most| most.as_nanos().unsigned_abs() * 2 < period);
        let advice = |wait: &IterationWait| {
            let cure = match wait.kind {
                CauseKind::SystemCall if is_harmless => return None,
                CauseKind::Lock if wait.own => self.lock_cure(&wait.by, program)?,
                CauseKind::PageFault => Cure::Memory,
                CauseKind::SystemCall => hand_over(&wait.call)?,
                _ => return None,
            };
            Some(self.advise(cure, wait.total.as_nanos(), Vec::new()))
        };
        rhythm.notable_waits().filter_map(advice).collect()
    }

    /// Timer slack makes every wake-up late, if only a little of the largest latency: it is weighed by the number of those.
    fn slack(&self) -> Option<ThreadAdvice> {
        let usual = self.usual_slack.filter(|_| !self.thread.policy.is_realtime() && self.slack_matters())?;
        let late_ns = usual.as_nanos() * (self.outcome.count() / 100).max(1);
        Some(self.advise(Cure::Slack(self.slack), late_ns, Vec::new()))
    }

    /// Whether its event loop often returns late to its events, beside which late timers do not matter.
    fn stays_away(&self) -> bool {
        let rhythm = self.outcome.rhythm.as_deref();
        rhythm.and_then(Rhythm::event_loop).is_some_and(|event_loop| event_loop.long >= LEAST_TIMES)
    }

    fn slack_matters(&self) -> bool {
        let is_slack = |cause: &&WhyCause| cause.kind == CauseKind::TimerSlack;
        if (1..LEAST_OF_A_LOOP).contains(&self.outcome.count()) {
            return false;
        }
        self.causes.iter().find(is_slack).is_some_and(|cause| cause.share >= LEAST_SLACK)
    }

    fn drift(&self) -> Option<ThreadAdvice> {
        let found = self.outcome.rhythm.as_deref()?.sleeps_for_length()?;
        // Like slack, it delays every iteration: it is weighed by the number of the largest latencies.
        let late = found.step.minus(found.without_delay).as_nanos() * (self.outcome.count() / 100).max(1);
        Some(self.advise(Cure::SleepUntil(found), late, Vec::new()))
    }
}

/// The median of the slack's part, if that is a good share of the median latency.
fn usual_slack(why: &Why, outcome: &Outcome) -> Option<Span> {
    let part = why.parts.iter().find(|part| part.part == Part::TimerSlack)?;
    let median = outcome.latency().quantile(0.5)?;
    (part.p50_ns as f64 >= USUAL_SLACK * median.as_nanos().max(1) as f64)
        .then(|| Span::from_nanos(part.p50_ns))
}

fn join(earlier: &mut ThreadAdvice, advice: ThreadAdvice) {
    earlier.late_ns += advice.late_ns;
    earlier.cure.raise_to(&advice.cure);
    earlier.against.extend(advice.against);
}

/// Whether the cause is another thread of the same Python process, which has the interpreter's lock while it computes: a higher
/// priority than that thread's gains nothing.
fn shares_the_interpreter(cause: &WhyCause, program: &WatchedProgram) -> bool {
    let is_of_process = |thread: &ThreadShare| Some(thread.tid) == cause.pid;
    let is_python = program.language == Some(ProgramLanguage::Python);
    is_python && cause.own && program.busiest.iter().any(is_of_process)
}

fn hand_over(call: &str) -> Option<Cure> {
    CALLS_TO_HAND_OVER.contains(&call).then(|| Cure::HandOver { call: call.to_owned() })
}
