//! The state of one CPU between two events. Pure.

use howlate_model::{Expiry, MonotonicTime};

use super::cpu_occupant::CpuOccupant;
use super::event::{ORDINARY, ThreadName};
use super::occupancy::Deferral;
use crate::irq_names::{HRTIMER, InterruptNames};

/// A timer that is being served.
#[derive(Clone, Copy, Debug)]
struct ServedTimer {
    timer: u64,
    /// When the first timer of this interrupt was served.
    first: MonotonicTime,
    at: MonotonicTime,
    /// Whether the next wake-up is caused by it.
    is_active: bool,
}

/// State of a CPU, from its events so far.
#[derive(Debug, Default)]
pub(super) struct CpuState {
    /// The thread since the last switch; `None`: that switch was not seen.
    thread: Option<(u32, ThreadName)>,
    /// Time of that switch.
    switched: Option<MonotonicTime>,
    tick: Option<MonotonicTime>,
    /// Start of the last interrupt.
    last_interrupt: Option<MonotonicTime>,
    /// The current interrupt handler and its start.
    handler: Option<(u32, MonotonicTime)>,
    softirq: Option<u32>,
    /// Whether a normal thread runs ahead of runnable real-time threads, or the current one preempted such a thread.
    is_ahead_of_realtime: bool,
    /// Whether the thread has real-time priority.
    is_realtime: bool,
    served: Option<ServedTimer>,
    /// When the timer device was last armed after its interrupt.
    rearmed: Option<MonotonicTime>,
    /// The interrupt that ended at the previous event, and when.
    ended_interrupt: Option<(CpuOccupant, MonotonicTime)>,
    /// Timers that an interrupt left to the softirq, and those that the softirq serves now.
    deferred: Option<Deferral>,
    serving: Option<Deferral>,
}

/// Whether a thread is served before the kernel's fair server: the CPU's stopper `migration/N`, and deadline threads.
fn outranks_server(comm: ThreadName, priority: u32) -> bool {
    priority.cast_signed() < 0 || (priority == 0 && comm.starts_with(b"migratio"))
}

impl CpuState {
    /// Notes the thread that has the CPU at the next event; returns whether it was known to have it.
    pub(super) fn set_current(&mut self, pid: u32) -> bool {
        let is_known = self.thread.is_some_and(|(thread, _)| thread == pid);
        if !is_known {
            (self.thread, self.switched, self.is_realtime) =
                (Some((pid, ThreadName::default())), None, false);
        }
        is_known
    }

    pub(super) const fn is_interrupted(&self) -> bool {
        self.tick.is_some() || self.handler.is_some()
    }

    /// The current holder.
    pub(super) fn holder(&self) -> CpuOccupant {
        match (self.tick, self.handler, self.softirq) {
            (Some(_), ..) => CpuOccupant::Tick,
            (None, Some((interrupt, _)), _) => CpuOccupant::Handler(interrupt),
            (None, None, Some(vector)) => CpuOccupant::Softirq(vector),
            (None, None, None) => match self.running() {
                CpuOccupant::Thread { pid, comm } if self.is_realtime => CpuOccupant::RealTime { pid, comm },
                CpuOccupant::Thread { pid, comm } if self.is_ahead_of_realtime => {
                    CpuOccupant::Server { pid, comm }
                }
                running => running,
            },
        }
    }

    /// The thread that has the CPU, even while interrupted.
    fn running(&self) -> CpuOccupant {
        self.thread.map_or(CpuOccupant::NotSeen, |(pid, comm)| CpuOccupant::Thread { pid, comm })
    }

    /// Switches to another thread. Interrupts and softirqs whose end was not seen have ended, or it is a softirq that was preempted, as on
    /// PREEMPT_RT.
    pub(super) fn switch(
        &mut self,
        next: u32,
        comm: ThreadName,
        priority: u32,
        is_ahead_of_realtime: bool,
        at: MonotonicTime,
    ) {
        let is_realtime = next != 0 && !ORDINARY.contains(&priority);
        let (deferred, serving) = (self.deferred.take(), self.serving.take());
        let (thread, switched, rearmed, last_interrupt) =
            (Some((next, comm)), Some(at), self.rearmed, self.last_interrupt);
        *self = Self {
            thread,
            switched,
            is_ahead_of_realtime,
            is_realtime,
            deferred,
            serving,
            rearmed,
            last_interrupt,
            ..Self::default()
        };
    }

    /// Whether `next` is a normal thread that gets the CPU although a real-time thread is ready there (`is_one_ready`): the kernel's fair
    /// server or throttling prefers it. A thread that outranks the server only interrupts it.
    pub(super) fn is_ahead(&self, is_one_ready: bool, next: (u32, ThreadName, u32)) -> bool {
        let (pid, comm, next_priority) = next;
        if outranks_server(comm, next_priority) {
            return self.is_ahead_of_realtime;
        }
        pid != 0 && ORDINARY.contains(&next_priority) && (self.is_ahead_of_realtime || is_one_ready)
    }

    /// Since when the CPU is idle.
    fn idle_since(&self) -> Option<MonotonicTime> {
        self.thread.filter(|(pid, _)| *pid == 0).and(self.switched)
    }

    /// `holder` had the CPU until now.
    pub(super) fn charge(&mut self, holder: CpuOccupant, until: MonotonicTime) {
        let all = self.deferred.iter_mut().chain(&mut self.serving);
        all.for_each(|deferral| deferral.charge(holder, until));
    }

    /// The interrupt leaves its timers to a softirq.
    pub(super) fn defer_timers(&mut self, at: MonotonicTime) {
        let interrupt = self.tick.or(self.handler.map(|(_, began)| began)).unwrap_or(at);
        let (interrupted, idle_since) = (self.running(), self.idle_since());
        self.deferred.get_or_insert_with(|| Deferral::from_interrupt(interrupt, interrupted, idle_since));
    }

    /// Sets the name of the current thread.
    pub(super) fn set_name(&mut self, comm: ThreadName) {
        self.thread.iter_mut().for_each(|thread| thread.1 = comm);
    }

    /// An interrupt starts; returns the start of the previous one.
    pub(super) fn interrupt_starts(&mut self, at: MonotonicTime) -> Option<MonotonicTime> {
        self.last_interrupt.replace(at)
    }

    pub(super) fn start_tick(&mut self, at: MonotonicTime) {
        (self.tick, self.served) = (Some(at), None);
    }

    pub(super) fn end_tick(&mut self, at: MonotonicTime) {
        self.ended_interrupt = Some((CpuOccupant::Tick, at));
        self.tick = None;
        self.end_timers();
    }

    /// The interrupt that ended at the previous event.
    pub(super) fn take_ended_interrupt(&mut self) -> Option<(CpuOccupant, MonotonicTime)> {
        self.ended_interrupt.take()
    }

    /// The timer device is armed.
    pub(super) fn rearmed(&mut self, at: MonotonicTime) {
        self.rearmed = Some(at);
    }

    pub(super) fn start_handler(&mut self, interrupt: u32, at: MonotonicTime) {
        self.handler = Some((interrupt, at));
        if self.tick.is_none() {
            self.served = None;
        }
    }

    pub(super) fn end_handler(&mut self, at: MonotonicTime) {
        self.ended_interrupt =
            self.handler.take().map(|(interrupt, _)| (CpuOccupant::Handler(interrupt), at));
        if self.tick.is_none() {
            self.end_timers();
        }
    }

    pub(super) fn start_softirq(&mut self, vector: u32) {
        (self.softirq, self.served) = (Some(vector), None);
        if vector == HRTIMER {
            self.serving = self.deferred.take();
        }
    }

    pub(super) fn end_softirq(&mut self, vector: u32) {
        self.softirq = None;
        if vector == HRTIMER {
            self.serving = None;
        }
        self.end_timers();
    }

    fn end_timers(&mut self) {
        self.served.iter_mut().for_each(|served| served.is_active = false);
    }

    pub(super) fn timer_served(&mut self, timer: u64, at: MonotonicTime) {
        let first = self.served.map_or(at, |served| served.first);
        self.served = Some(ServedTimer { timer, first, at, is_active: true });
    }

    /// The timer that causes the current wake-up.
    pub(super) fn timer(&self) -> Option<u64> {
        self.served.filter(|served| served.is_active).map(|served| served.timer)
    }

    /// How that timer, set to these two times, came to be served.
    pub(super) fn expiry(
        &self,
        soft: MonotonicTime,
        hard: MonotonicTime,
        names: &mut InterruptNames,
    ) -> Option<Expiry> {
        // A timer that is served before its time uses another clock.
        let served = self.served.filter(|served| served.at >= soft)?;
        let handler = self.handler.map(|(_, began)| began);
        // An interrupt without an event had started by then.
        let unseen = (self.softirq.is_none() && self.serving.is_none()).then_some(served.first);
        let interrupt = self.tick.or(handler).or(unseen);
        let before =
            |at: &MonotonicTime| *at > soft && interrupt.is_some_and(|last_interrupt| *at < last_interrupt);
        let rearmed = self.rearmed.filter(before);
        let interrupted = self.waker().describe(names);
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

    /// The waker of the current wake-up; for a timer, what its interrupt interrupted.
    pub(super) fn waker(&self) -> CpuOccupant {
        let by_timer = self.timer().is_some();
        match (self.handler, self.softirq) {
            // On some machines the timer interrupt has a handler, which did not interrupt itself.
            (Some((interrupt, _)), _) if !by_timer || self.tick.is_some() => CpuOccupant::Handler(interrupt),
            (_, Some(vector)) => CpuOccupant::Softirq(vector),
            _ => self.running(),
        }
    }
}
