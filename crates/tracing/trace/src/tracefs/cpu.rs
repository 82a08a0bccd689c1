//! Who has a CPU, from event to event. Pure.

use howlate_model::{Expiry, MonotonicTime};

use super::cpu_occupant::Has;
use super::event::{Comm, ORDINARY, REAL_TIME};
use super::occupancy::Deferral;
use crate::irq_names::{HRTIMER, Interrupts};

/// A timer that is being served.
#[derive(Clone, Copy, Debug)]
struct Served {
    timer: u64,
    /// The first one of the same interrupt.
    first: MonotonicTime,
    at: MonotonicTime,
    /// Whether what comes next is still its doing.
    under_way: bool,
}

/// What is known of one CPU from its events so far.
#[derive(Debug, Default)]
pub(super) struct Cpu {
    /// The thread since the last switch; `None`: that was not seen.
    thread: Option<(u32, Comm)>,
    /// When that was.
    switched: Option<MonotonicTime>,
    tick: Option<MonotonicTime>,
    /// When an interrupt last came.
    came: Option<MonotonicTime>,
    /// An interrupt's handler, and when it began.
    handler: Option<(u32, MonotonicTime)>,
    softirq: Option<u32>,
    /// Whether the thread, an ordinary one, runs ahead of real-time ones that are ready; or one that this thread set aside.
    ahead: bool,
    /// Whether the thread has it by real-time priority.
    urgent: bool,
    served: Option<Served>,
    /// When the timer's device was last armed after its interrupt.
    rearmed: Option<MonotonicTime>,
    /// The interrupt that was over at the event before, and when.
    over: Option<(Has, MonotonicTime)>,
    /// What an interrupt left to the softirq of timers, and what that one is at.
    deferred: Option<Deferral>,
    serving: Option<Deferral>,
}

/// Whether a thread has the CPU before the kernel's fair server: the stopper of a CPU, which is called migration/N, and
/// threads of deadlines.
fn outranks_the_server(comm: Comm, priority: u32) -> bool {
    priority.cast_signed() < 0 || (priority == 0 && comm.starts_with(b"migratio"))
}

impl Cpu {
    /// Takes note of who has the CPU, as the next event tells; whether that is who was known to have it.
    pub(super) fn is_as_known(&mut self, pid: u32) -> bool {
        let known = self.thread.is_some_and(|(thread, _)| thread == pid);
        if !known {
            (self.thread, self.switched, self.urgent) = (Some((pid, Comm::default())), None, false);
        }
        known
    }

    /// Whether it is in an interrupt.
    pub(super) const fn is_interrupted(&self) -> bool {
        self.tick.is_some() || self.handler.is_some()
    }

    /// Who has it now.
    pub(super) fn holder(&self) -> Has {
        match (self.tick, self.handler, self.softirq) {
            (Some(_), ..) => Has::Tick,
            (None, Some((interrupt, _)), _) => Has::Handler(interrupt),
            (None, None, Some(vector)) => Has::Softirq(vector),
            (None, None, None) => match self.running() {
                Has::Thread { pid, comm } if self.urgent => Has::RealTime { pid, comm },
                Has::Thread { pid, comm } if self.ahead => Has::Server { pid, comm },
                running => running,
            },
        }
    }

    /// The thread that has it, whatever interrupts it.
    fn running(&self) -> Has {
        self.thread.map_or(Has::NotSeen, |(pid, comm)| Has::Thread { pid, comm })
    }

    /// The thread is left for another; what was entered and not left was not seen to be left, or is a softirq that lost its
    /// CPU, as on PREEMPT_RT.
    pub(super) fn switch(&mut self, next: u32, comm: Comm, priority: u32, ahead: bool, at: MonotonicTime) {
        let urgent = next != 0 && !ORDINARY.contains(&priority);
        let (deferred, serving) = (self.deferred.take(), self.serving.take());
        let (thread, switched, rearmed, came) = (Some((next, comm)), Some(at), self.rearmed, self.came);
        *self = Self { thread, switched, ahead, urgent, deferred, serving, rearmed, came, ..Self::default() };
    }

    /// Whether an ordinary thread gets it that a real-time one would go on with, or one after such a one: the kernel's fair
    /// server, or its throttling, keeps those off. What outranks the server sets its thread aside for a moment only.
    pub(super) fn is_ahead(&self, (state, priority): (u32, u32), next: (u32, Comm, u32)) -> bool {
        let (pid, comm, next_priority) = next;
        if outranks_the_server(comm, next_priority) {
            return self.ahead;
        }
        let kept_off = state == 0 && REAL_TIME.contains(&priority);
        pid != 0 && ORDINARY.contains(&next_priority) && (self.ahead || kept_off)
    }

    /// Since when nobody has it, if that is so.
    fn idle_since(&self) -> Option<MonotonicTime> {
        self.thread.filter(|(pid, _)| *pid == 0).and(self.switched)
    }

    /// Somebody had the CPU up to now.
    pub(super) fn had(&mut self, holder: Has, until: MonotonicTime) {
        let all = self.deferred.iter_mut().chain(&mut self.serving);
        all.for_each(|deferral| deferral.had(holder, until));
    }

    /// The interrupt leaves its timers to a softirq.
    pub(super) fn defers(&mut self, at: MonotonicTime) {
        let interrupt = self.tick.or(self.handler.map(|(_, began)| began)).unwrap_or(at);
        let (interrupted, idle_since) = (self.running(), self.idle_since());
        self.deferred.get_or_insert_with(|| Deferral::from_interrupt(interrupt, interrupted, idle_since));
    }

    /// The name of the thread that has the CPU is known now.
    pub(super) fn is_called(&mut self, comm: Comm) {
        self.thread.iter_mut().for_each(|thread| thread.1 = comm);
    }

    /// An interrupt comes: when the one before it did.
    pub(super) fn comes(&mut self, at: MonotonicTime) -> Option<MonotonicTime> {
        self.came.replace(at)
    }

    pub(super) fn tick_begins(&mut self, at: MonotonicTime) {
        (self.tick, self.served) = (Some(at), None);
    }

    pub(super) fn tick_ends(&mut self, at: MonotonicTime) {
        self.over = Some((Has::Tick, at));
        self.tick = None;
        self.timers_are_done();
    }

    /// The interrupt that was over at the event before; no other event has come since.
    pub(super) fn take_over(&mut self) -> Option<(Has, MonotonicTime)> {
        self.over.take()
    }

    /// The device is armed.
    pub(super) fn rearmed(&mut self, at: MonotonicTime) {
        self.rearmed = Some(at);
    }

    pub(super) fn handler_begins(&mut self, interrupt: u32, at: MonotonicTime) {
        self.handler = Some((interrupt, at));
        if self.tick.is_none() {
            self.served = None;
        }
    }

    pub(super) fn handler_ends(&mut self, at: MonotonicTime) {
        self.over = self.handler.take().map(|(interrupt, _)| (Has::Handler(interrupt), at));
        if self.tick.is_none() {
            self.timers_are_done();
        }
    }

    pub(super) fn softirq_begins(&mut self, vector: u32) {
        (self.softirq, self.served) = (Some(vector), None);
        if vector == HRTIMER {
            self.serving = self.deferred.take();
        }
    }

    pub(super) fn softirq_ends(&mut self, vector: u32) {
        self.softirq = None;
        if vector == HRTIMER {
            self.serving = None;
        }
        self.timers_are_done();
    }

    fn timers_are_done(&mut self) {
        self.served.iter_mut().for_each(|served| served.under_way = false);
    }

    pub(super) fn timer_served(&mut self, timer: u64, at: MonotonicTime) {
        let first = self.served.map_or(at, |served| served.first);
        self.served = Some(Served { timer, first, at, under_way: true });
    }

    /// The timer whose doing a wake-up is that happens now.
    pub(super) fn timer(&self) -> Option<u64> {
        self.served.filter(|served| served.under_way).map(|served| served.timer)
    }

    /// How that timer, set to those two times, came to be served.
    pub(super) fn expiry(
        &self,
        soft: MonotonicTime,
        hard: MonotonicTime,
        names: &mut Interrupts,
    ) -> Option<Expiry> {
        // One that is served before its time is on another clock.
        let served = self.served.filter(|served| served.at >= soft)?;
        let handler = self.handler.map(|(_, began)| began);
        // Whatever interrupt it was that no event tells of, it was there by then.
        let unseen = (self.softirq.is_none() && self.serving.is_none()).then_some(served.first);
        let interrupt = self.tick.or(handler).or(unseen);
        let before = |at: &MonotonicTime| *at > soft && interrupt.is_some_and(|came| *at < came);
        let rearmed = self.rearmed.filter(before);
        let interrupted = self.waker().named(names);
        let deferral = self.serving.as_ref().filter(|_| interrupt.is_none());
        let deferred = deferral.map(|deferral| deferral.deferred_since(soft, served.at, names));
        let idle_since = deferral.map_or_else(|| self.idle_since(), Deferral::idle_since);
        let (first_served, served) = (served.first, served.at);
        Some(Expiry {
            soft,
            hard,
            interrupt,
            interrupted,
            idle_since,
            rearmed,
            first_served,
            served,
            deferred,
        })
    }

    /// Who wakes somebody now; of a timer, whom its interrupt came upon.
    pub(super) fn waker(&self) -> Has {
        let by_timer = self.timer().is_some();
        match (self.handler, self.softirq) {
            // The timer's own interrupt is no one that it interrupted: on some machines it has a handler.
            (Some((interrupt, _)), _) if !by_timer || self.tick.is_some() => Has::Handler(interrupt),
            (_, Some(vector)) => Has::Softirq(vector),
            _ => self.running(),
        }
    }
}
