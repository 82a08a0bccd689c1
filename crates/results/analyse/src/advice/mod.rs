//! What would help the threads of a watched program: for each cause the cure that fits it, and for the thread that was late. Pure.
//!
//! Advice is a claim that somebody will type. A policy is advised for one thread, never for one that leaves its CPU to nobody or that
//! makes other threads of its program late; a lock, a call or a page fault is not mended by any policy; and what none of this helps
//! against has no advice.

use howlate_model::{
    Activation, CauseKind, Finding, FindingId, GroupQuota, GroupWithoutRealtime, IterationWait, Part, Policy,
    Priority, ProgramLanguage, Span, ThreadShare, TimerLoopBlock, Verdict, WatchedProgram, Work,
};

use crate::cause::{LOCK_CALL, Why, WhyCause, families, is_of_measuring};
use crate::watch::{LengthSleeps, Rhythm};
use crate::{Analysis, Outcome};

#[cfg(test)]
mod tests;

/// A cause of less of the late time than this is not worth changing anything for.
const LEAST_SHARE: f64 = 0.05;
/// Nor is a policy for less of it than this.
const SHARE_OF_A_POLICY: f64 = 0.2;
/// What was met in fewer wake-ups or iterations may never come again.
const LEAST_TIMES: u64 = 3;
/// A thread that had so much of a CPU hardly ever leaves it to others: with a real-time policy nobody else would run there.
const SPINS: f64 = 0.9;
/// The highest priority that is advised: kernel threads that must come first have 99.
const HIGHEST: u32 = 98;
/// Who is late by less than this is late for nothing that a policy mends: the tick, interrupts and the way out of idle take as long.
const WORTH_A_POLICY: Span = Span::from_micros(100);
/// A thread that had more of a CPU than this keeps others from it by what it computes.
const MUCH_OF_A_CPU: f64 = 0.5;
/// Slack of less than this share of the usual lateness is not worth a word,
const USUAL_SLACK: f64 = 0.25;
/// nor is one that is less than this share of what the latest wake-ups were late by: whoever changes it sees no difference.
const LEAST_SLACK: f64 = 0.1;
/// Nor is one beside something that makes a thread of the same program so many times as late.
const MUCH_MORE: u64 = 10;
/// A thread that waited so long, nanoseconds, for one name in all did not wait by chance.
const STARVED: u64 = 1_000_000_000;
/// Fewer wake-ups are no loop that anybody waits for.
const LEAST_OF_A_LOOP: u64 = 100;
/// Calls that a loop can leave to another thread. What waits for data or for a lock is not among them.
const TO_HAND_OVER: [&str; 18] = [
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

/// What would help a thread, and against what.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadAdvice {
    /// Whom it is for.
    pub thread: LateThread,
    /// What to do.
    pub cure: Cure,
    /// The time that it bears on, nanoseconds.
    pub late_ns: u64,
    /// Who or what took that time, the most first.
    pub against: Vec<WhyCause>,
}

/// The thread that was late.
#[derive(Clone, Debug, PartialEq)]
pub struct LateThread {
    /// Its name.
    pub name: String,
    /// Its id; `None` where it is several threads, one after the other.
    pub tid: Option<u32>,
    /// The policy it ran under.
    pub policy: Policy,
    /// How much of a CPU it had, 0 to 1, where that was seen.
    pub share: Option<f64>,
}

impl LateThread {
    /// Whether both are the same thread, whatever it calls itself.
    fn is_same(&self, other: &Self) -> bool {
        self.tid == other.tid && (self.tid.is_some() || self.name == other.name)
    }

    /// How much of a CPU it had, where others would miss that.
    pub fn much_of_a_cpu(&self) -> Option<f64> {
        self.share.filter(|share| *share >= MUCH_OF_A_CPU)
    }
}

/// What helps against a cause.
#[derive(Clone, Debug, PartialEq)]
pub enum Cure {
    /// A real-time priority for that thread alone.
    RealTime {
        /// Above everybody who kept it waiting.
        priority: Priority,
        /// The control group in which it would be refused, as that has no running time for real-time threads.
        refused_in: Option<GroupWithoutRealtime>,
    },
    /// A mutex that lends its holder the priority of who waits for it.
    Inheritance {
        /// The thread that held it.
        holder: String,
    },
    /// Less work between the lock's taking and its release.
    ShorterLock {
        /// The thread that held it.
        holder: String,
    },
    /// The interpreter's lock is handed over sooner, or the work is moved to a process of its own.
    InterpreterLock {
        /// The thread that had it.
        holder: String,
    },
    /// A call that another thread makes.
    HandOver {
        /// The system call.
        call: String,
    },
    /// Memory is brought in before it is used.
    Memory,
    /// Sleeping until a time instead of for a length.
    SleepUntil(LengthSleeps),
    /// More running time for a thread of `SCHED_DEADLINE`.
    DeadlineRuntime {
        /// What it has,
        runtime: Span,
        /// in each of these.
        period: Span,
    },
    /// More CPU time for its control group.
    Quota(Option<GroupQuota>),
    /// Less timer slack than this.
    Slack(Span),
    /// A thread of the program itself gives way to the late one.
    GiveWay {
        /// The thread that has the CPU,
        culprit: String,
        /// and its id, where it was always the same one.
        tid: Option<u32>,
    },
}

impl Cure {
    /// Whether both say the same to do, for whatever reason.
    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// The higher of two priorities comes before everybody that either of them was for.
    fn raise_to(&mut self, other: &Self) {
        if let (Self::RealTime { priority: known, .. }, Self::RealTime { priority, .. }) = (self, other) {
            *known = (*known).max(*priority);
        }
    }
}

/// All of a watched program, that which matters most first. Empty where nothing was watched.
pub fn thread_advice(analysis: &Analysis) -> Vec<ThreadAdvice> {
    let program = analysis.program.as_deref().cloned().unwrap_or_default();
    let watched: Vec<Row<'_>> =
        analysis.outcomes().iter().filter_map(|one| Row::read(one, analysis, &program)).collect();
    let is_of_go = program.language == Some(ProgramLanguage::Go);
    let mut all: Vec<(bool, ThreadAdvice)> = Vec::new();
    for row in &watched {
        let is_raised =
            row.gains_by_a_policy(&watched) && !watched.iter().any(|other| other.is_delayed_by(row));
        for advice in row.advice(&program, is_raised) {
            // Which goroutine runs in a thread changes all the time: nothing is for one of them.
            let is_for_nobody = is_of_go && !matches!(advice.cure, Cure::Quota(_));
            if !is_for_nobody && !lowers_who_is_waited_for(&advice.cure, &watched) {
                add(&mut all, row.has_deadlines(), advice);
            }
        }
    }
    all.sort_by_key(|(has_deadlines, one)| {
        std::cmp::Reverse((one.thread.policy.is_realtime(), *has_deadlines, one.late_ns))
    });
    let all: Vec<ThreadAdvice> = all.into_iter().map(|(_, one)| one).collect();
    // What is said of the same thread makes some of it needless: a better word on its lock, that it waits for the interpreter, or a
    // policy under which there is no slack.
    let may_rise = may_rise(analysis);
    let latest = watched.iter().map(Row::late_ns).max().unwrap_or(0);
    let stays_away = watched.iter().any(Row::stays_away);
    let is_needless = |one: &ThreadAdvice| {
        let says_more = |other: &ThreadAdvice| match (&one.cure, &other.cure) {
            (Cure::ShorterLock { .. }, Cure::Inheritance { .. })
            | (Cure::RealTime { .. } | Cure::Slack(_), Cure::InterpreterLock { .. }) => true,
            (Cure::Slack(_), Cure::RealTime { refused_in: None, .. }) => {
                may_rise && other.late_ns > one.late_ns
            }
            (Cure::Slack(_), Cure::SleepUntil(_)) => true,
            _ => false,
        };
        let is_dwarfed =
            matches!(one.cure, Cure::Slack(_)) && (stays_away || latest / MUCH_MORE > one.late_ns);
        // Where one of two has ended that would be mended alike, the other is the one to begin with.
        let is_over = |of: &ThreadAdvice| of.thread.tid.is_some_and(|tid| program.ended.contains(&tid));
        let goes_on = |other: &ThreadAdvice| !is_over(other) && other.cure.is_like(&one.cure);
        is_dwarfed
            || is_over(one) && all.iter().any(goes_on)
            || all.iter().any(|other| other.thread.is_same(&one.thread) && says_more(other))
    };
    // Who gives way does so for everybody, and the interpreter hands its lock over sooner for everybody.
    let gave_way = |at: usize, one: &ThreadAdvice| {
        let is_same = |other: &ThreadAdvice| match one.cure {
            Cure::GiveWay { .. } => other.cure == one.cure,
            Cure::InterpreterLock { .. } => other.cure.is_like(&one.cure),
            _ => false,
        };
        all[..at].iter().any(is_same)
    };
    let worth_saying = all.iter().enumerate().filter(|(at, one)| !is_needless(one) && !gave_way(*at, one));
    worth_saying.map(|(_, one)| one.clone()).collect()
}

/// Whether nothing that was found forbids whoever watched to set a real-time policy.
fn may_rise(analysis: &Analysis) -> bool {
    let forbids = |one: &Finding| one.id == FindingId::RealtimePermission && one.verdict == Verdict::Blocks;
    !analysis.header.findings.iter().any(forbids)
}

/// Whether who gives way has what a thread of the program waits for: that one would wait for longer, and for everybody who has the CPU
/// meanwhile.
fn lowers_who_is_waited_for(cure: &Cure, all: &[Row<'_>]) -> bool {
    let Cure::GiveWay { culprit, tid } = cure else { return false };
    all.iter().any(|row| row.waits_for(culprit, *tid))
}

/// A thread's rows by timer and by event, and under each of its names, say the same once.
fn add(all: &mut Vec<(bool, ThreadAdvice)>, has_deadlines: bool, one: ThreadAdvice) {
    let is_same = |known: &&mut (bool, ThreadAdvice)| {
        known.1.thread.is_same(&one.thread) && known.1.cure.is_like(&one.cure)
    };
    let Some((known_deadlines, known)) = all.iter_mut().find(is_same) else {
        return all.push((has_deadlines, one));
    };
    *known_deadlines |= has_deadlines;
    known.cure.raise_to(&one.cure);
    known.late_ns = known.late_ns.max(one.late_ns);
    for cause in one.against {
        if !known.against.iter().any(|other| (other.kind, &other.name) == (cause.kind, &cause.name)) {
            known.against.push(cause);
        }
    }
}

/// A thread's wake-ups of one kind, and why they were late.
struct Row<'a> {
    outcome: &'a Outcome,
    thread: LateThread,
    slack: Span,
    /// The least lateness of the wake-ups that the causes are about.
    late_above: Span,
    /// How much of the usual wake-up is timer slack, where that is a good part of it.
    usual_slack: Option<Span>,
    /// The causes by family, and each by itself.
    causes: Vec<WhyCause>,
    each: Vec<WhyCause>,
}

impl<'a> Row<'a> {
    fn read(outcome: &'a Outcome, analysis: &Analysis, program: &WatchedProgram) -> Option<Self> {
        let Work::Watch { .. } = outcome.condition.work else { return None };
        let in_force = outcome.in_force.as_ref();
        let is_one = outcome.rhythm.as_deref().and_then(Rhythm::threads).is_none_or(|threads| threads == 1);
        let tid = in_force.map(|in_force| in_force.tid).filter(|tid| is_one && *tid != 0);
        let share = program.busiest.iter().find(|one| Some(one.tid) == tid).map(|one| one.share);
        let name = outcome.condition.name.clone().unwrap_or_default();
        let why = outcome.why_late(analysis.header.late_above);
        let causes = why.iter().flat_map(families).map(|family| family.cause).collect();
        let usual_slack = why.as_ref().and_then(|why| usual_slack(why, outcome));
        let late_above = why.as_ref().map_or(Span::ZERO, |why| why.late.above);
        let each = why.map_or_else(Vec::new, |why| why.causes);
        let thread = LateThread { name, tid, policy: outcome.policy_in_force(), share };
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

    /// All that the wake-ups were late by that the causes are about.
    fn late_ns(&self) -> u64 {
        self.causes.iter().map(|cause| cause.late_ns).sum()
    }

    fn spins(&self) -> bool {
        self.thread.share.is_some_and(|share| share >= SPINS)
    }

    /// Whether coming first would change anything for it, and for nobody too much: it is late by enough, leaves its CPU to others, and
    /// has something to do at times of its own or of other programs. Who is woken by ordinary siblings is a part of a chain, of which one
    /// part alone goes no faster.
    fn gains_by_a_policy(&self, all: &[Self]) -> bool {
        let woken_by = self.outcome.rhythm.as_deref().map_or(&[][..], Rhythm::woken_by);
        let sibling = |pid: u32| {
            all.iter().find(|other| other.thread.tid == Some(pid) && other.thread.tid != self.thread.tid)
        };
        let siblings = woken_by.iter().filter_map(|one| Some((one, one.by.pid.and_then(sibling)?)));
        let ordinary = siblings.clone().filter(|(_, row)| !row.thread.policy.is_realtime());
        let by_siblings = ordinary.map(|(one, _)| one.count).sum::<u64>();
        let comes_after_first = siblings.map(|(one, _)| one.count).sum::<u64>() > 0 && by_siblings == 0;
        let all = woken_by.iter().map(|one| one.count).sum::<u64>();
        let is_handed = self.outcome.condition.work == Work::Watch { mechanism: Activation::HandedOn }
            && !comes_after_first;
        let is_link = is_handed || by_siblings * 2 > all || self.waits_for_siblings();
        self.late_above >= WORTH_A_POLICY && !self.spins() && !is_link
    }

    /// Whether it waits for a thread of its program in most of its iterations, as a client of its own server does.
    fn waits_for_siblings(&self) -> bool {
        let of = self.outcome.rhythm.as_deref().and_then(Rhythm::timer_loop);
        of.is_some_and(|of| of.waits.iter().any(|wait| wait.own && wait.time.count() * 2 > of.length.count()))
    }

    /// Whether it waits for a thread of its program again and again: for what that one holds, or until that one wakes it.
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
            || woken_by.iter().any(|one| one.count >= LEAST_TIMES && is_it(&one.by.name, one.by.pid))
    }

    /// Whether a thread has times by which it is to run: a rhythm, a policy that says so, or a loop that its program has marked.
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
            cause.share >= LEAST_SHARE && self.is_met_again(cause) && !is_of_measuring(cause)
        };
        let mut all: Vec<ThreadAdvice> = Vec::new();
        for cause in self.causes.iter().filter(matters) {
            let Some(cure) = self.cure(cause, program, is_raised) else { continue };
            let one = ThreadAdvice {
                thread: self.thread.clone(),
                cure,
                late_ns: cause.late_ns,
                against: vec![cause.clone()],
            };
            match all.iter_mut().find(|known| known.cure.is_like(&one.cure)) {
                Some(known) => join(known, one),
                None => all.push(one),
            }
        }
        // Where coming first helps against little of it, nobody sees that it did.
        let is_seen = |one: &ThreadAdvice| {
            !matches!(one.cure, Cure::RealTime { .. })
                || one.late_ns as f64 >= SHARE_OF_A_POLICY * self.late_ns() as f64
        };
        all.retain(is_seen);
        let more = self.of_iterations(program).into_iter().chain(self.drift()).chain(self.slack());
        for one in more {
            let is_told = all.iter().any(|known| known.cure.is_like(&one.cure));
            if !is_told {
                all.push(one);
            }
        }
        all
    }

    /// Whether a cause was met more than once or twice. Who is ahead of a lock's holder is met again whenever the lock is waited for, if
    /// in none of the few latest wake-ups.
    fn is_met_again(&self, cause: &WhyCause) -> bool {
        let is_of_holder = |wait: &IterationWait| {
            wait.kind == CauseKind::Lock && wait.by == cause.through && wait.time.count() >= LEAST_TIMES
        };
        // Who hardly ever runs is not met often.
        let starves = self.outcome.count() < LEAST_OF_A_LOOP && cause.late_ns >= STARVED;
        cause.wakeups >= LEAST_TIMES || starves || self.iteration_waits().iter().any(is_of_holder)
    }

    /// Whether it waits for a lock of that thread in many of its iterations: whoever comes first, the lock is the other's.
    fn takes_turns_with(&self, cause: &WhyCause) -> bool {
        let of = self.outcome.rhythm.as_deref().and_then(Rhythm::timer_loop);
        let is_it = |wait: &IterationWait| match (wait.tid, cause.pid) {
            (Some(tid), Some(pid)) => tid == pid,
            _ => Some(wait.by.as_str()) == cause.name.as_deref(),
        };
        let often = |of: &TimerLoopBlock| {
            let mut locks = of.waits.iter().filter(|wait| wait.kind == CauseKind::Lock && is_it(wait));
            locks.any(|wait| wait.time.count() * 3 > of.length.count())
        };
        cause.own && of.is_some_and(often)
    }

    fn iteration_waits(&self) -> &'a [IterationWait] {
        let of = self.outcome.rhythm.as_deref().and_then(Rhythm::timer_loop);
        of.map_or(&[], |of| &of.waits)
    }

    /// What helps against one cause.
    fn cure(&self, cause: &WhyCause, program: &WatchedProgram, is_raised: bool) -> Option<Cure> {
        match cause.kind {
            CauseKind::Thread if !cause.through.is_empty() => {
                let holder = cause.through.clone();
                let is_lock = cause.call == LOCK_CALL && program.language.is_none();
                // An ordinary thread has no priority that it could lend: only less work under the lock helps it.
                let cure = if self.thread.policy.is_realtime() {
                    Cure::Inheritance { holder }
                } else {
                    Cure::ShorterLock { holder }
                };
                is_lock.then_some(cure)
            }
            CauseKind::Thread if shares_the_interpreter(cause, program) => {
                Some(Cure::InterpreterLock { holder: cause.name.clone().unwrap_or_default() })
            }
            CauseKind::Thread if self.takes_turns_with(cause) => None,
            CauseKind::Thread => {
                let refused_in = program.group_without_realtime();
                let above = self.priority_above(cause).filter(|_| is_raised);
                let raised = above.map(|priority| Cure::RealTime { priority, refused_in });
                raised.or_else(|| self.given_way(cause, program))
            }
            CauseKind::Lock => Some(of_lock(cause.name.clone().unwrap_or_default(), program)),
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

    /// Where a sibling that computes all the time keeps an ordinary thread waiting that gains nothing by coming first. Threads of Python
    /// have the interpreter's lock while they compute: all others would wait for whoever gives way.
    fn given_way(&self, cause: &WhyCause, program: &WatchedProgram) -> Option<Cure> {
        let (culprit, tid) = (cause.name.clone()?, cause.pid);
        let is_busy = |one: &ThreadShare| Some(one.tid) == tid && one.share >= MUCH_OF_A_CPU;
        let has_lock = program.language == Some(ProgramLanguage::Python);
        let is_hog = cause.own && !has_lock && !cause.real_time && program.busiest.iter().any(is_busy);
        (is_hog && !self.thread.policy.is_realtime() && !self.spins())
            .then_some(Cure::GiveWay { culprit, tid })
    }

    /// The real-time priority that this thread would need to come before `cause`; `None` where none helps, or it has one that does.
    fn priority_above(&self, cause: &WhyCause) -> Option<Priority> {
        let own = self.thread.policy.priority();
        match (cause.real_time, cause.priority) {
            // Who is ordinary keeps a real-time thread waiting by the kernel only.
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

    /// What it is blocked in within its iterations, where that is a good part of them.
    fn of_iterations(&self, program: &WatchedProgram) -> Vec<ThreadAdvice> {
        let Some(of) = self.outcome.rhythm.as_deref().and_then(Rhythm::timer_loop) else { return Vec::new() };
        let all = of.length.count() as f64 * of.length.quantile(0.5).map_or(0.0, |one| one.as_nanos() as f64);
        let matters = |wait: &&IterationWait| {
            wait.time.count() >= LEAST_TIMES && wait.total.as_nanos() as f64 >= LEAST_SHARE * all && all > 0.0
        };
        // A loop that had the time for it all the same loses nothing by a call.
        let rhythm = self.outcome.rhythm.as_deref();
        let period = rhythm.and_then(Rhythm::period).map_or(0, Span::as_nanos);
        let is_harmless =
            of.length.quantile(0.99).is_some_and(|most| most.as_nanos().unsigned_abs() * 2 < period);
        let advice = |wait: &IterationWait| {
            let cure = match wait.kind {
                CauseKind::SystemCall if is_harmless => return None,
                CauseKind::Lock if wait.own => of_lock(wait.by.clone(), program),
                CauseKind::PageFault => Cure::Memory,
                CauseKind::SystemCall => hand_over(&wait.call)?,
                _ => return None,
            };
            Some(ThreadAdvice {
                thread: self.thread.clone(),
                cure,
                late_ns: wait.total.as_nanos(),
                against: Vec::new(),
            })
        };
        of.waits.iter().filter(matters).filter_map(advice).collect()
    }

    /// Timer slack makes every wake-up late, if little of the latest: it counts as much as it does of those.
    fn slack(&self) -> Option<ThreadAdvice> {
        let usual = self.usual_slack.filter(|_| !self.thread.policy.is_realtime() && self.slack_matters())?;
        let late_ns = usual.as_nanos() * (self.outcome.count() / 100).max(1);
        let (thread, cure) = (self.thread.clone(), Cure::Slack(self.slack));
        Some(ThreadAdvice { thread, cure, late_ns, against: Vec::new() })
    }

    /// Whether its event loop does not come back to its events again and again: how late its timers fire nobody sees beside that.
    fn stays_away(&self) -> bool {
        let rhythm = self.outcome.rhythm.as_deref();
        rhythm.and_then(Rhythm::event_loop).is_some_and(|of| of.long >= LEAST_TIMES)
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
        // It moves every iteration: it counts as much as it does of the latest.
        let late = found.step.minus(found.without_delay).as_nanos() * (self.outcome.count() / 100).max(1);
        Some(ThreadAdvice {
            thread: self.thread.clone(),
            cure: Cure::SleepUntil(found),
            late_ns: late,
            against: Vec::new(),
        })
    }
}

/// The median of the slack's part, where that is a good share of the median latency.
fn usual_slack(why: &Why, outcome: &Outcome) -> Option<Span> {
    let part = why.parts.iter().find(|one| one.part == Part::TimerSlack)?;
    let median = outcome.latency().quantile(0.5)?;
    (part.p50_ns as f64 >= USUAL_SLACK * median.as_nanos().max(1) as f64)
        .then(|| Span::from_nanos(part.p50_ns))
}

fn join(known: &mut ThreadAdvice, one: ThreadAdvice) {
    known.late_ns += one.late_ns;
    known.cure.raise_to(&one.cure);
    known.against.extend(one.against);
}

/// Whether it is another thread of the same Python process, which has the interpreter's lock while it computes: coming before it gains
/// nothing.
fn shares_the_interpreter(cause: &WhyCause, program: &WatchedProgram) -> bool {
    let is_of_process = |one: &ThreadShare| Some(one.tid) == cause.pid;
    let is_python = program.language == Some(ProgramLanguage::Python);
    is_python && cause.own && program.busiest.iter().any(is_of_process)
}

fn of_lock(holder: String, program: &WatchedProgram) -> Cure {
    match program.language {
        Some(ProgramLanguage::Python) => Cure::InterpreterLock { holder },
        _ => Cure::ShorterLock { holder },
    }
}

fn hand_over(call: &str) -> Option<Cure> {
    TO_HAND_OVER.contains(&call).then(|| Cure::HandOver { call: call.to_owned() })
}
