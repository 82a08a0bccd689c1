//! The state of a followed thread. Pure.

use howlate_model::{CpuHolder, Expiry, MonotonicTime, Occupant, SleepState, Span, TracedSleep, WakeSource};

use super::cpu_occupant::CpuOccupant;
use super::occupancy::OccupancyHistory;
use crate::irq_names::InterruptNames;
use crate::preemption::{LossInterval, LossReason};
use crate::steal::SILENCE;

/// Preemptions of one wake-up that are listed.
const MAX_LISTED: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadStage {
    Asleep,
    /// Woken, and not switched in yet.
    Woken,
    Runs,
    /// Woken before it had left its CPU, so that it never waits for one.
    NeverLeft,
    /// Woken while it was about to sleep, and left its CPU. Whether it sleeps, or waits for a CPU since the wake-up came while it left, the
    /// next event says: it is woken again, or gets a CPU without that.
    Leaves,
}

/// A wake-up does not last longer before its thread is ready.
const LONGEST_WAKE_UP: Span = Span::from_micros(100);

/// A thread and its current sleep.
pub(super) struct FollowedThread {
    pub(super) tid: u32,
    pub(super) stage: ThreadStage,
    /// Whether it had real-time priority when it last left its CPU.
    pub(super) real_time: bool,
    asleep_since: Option<MonotonicTime>,
    asleep: SleepState,
    /// The sleep that it was woken from.
    sleep: Option<TracedSleep>,
    /// The CPU that it waits for, and until when its holders are known.
    cpu: u32,
    /// The CPU on which it was woken.
    waker_cpu: u32,
    accounted: MonotonicTime,
    /// Holders during the wait.
    waited: OccupancyHistory,
    /// The CPU of the interrupt that woke it, while that lasts.
    woken_on: Option<u32>,
    /// Since when it has lost its CPU, and the holders since.
    off_since: Option<MonotonicTime>,
    off: OccupancyHistory,
    /// How many losses are listed.
    losses: usize,
}

impl FollowedThread {
    /// With unknown state.
    pub(super) fn new(tid: u32) -> Self {
        Self {
            tid,
            stage: ThreadStage::Asleep,
            real_time: false,
            asleep_since: None,
            asleep: SleepState::Waiting,
            sleep: None,
            cpu: 0,
            waker_cpu: 0,
            accounted: MonotonicTime::default(),
            waited: OccupancyHistory::default(),
            woken_on: None,
            off_since: None,
            off: OccupancyHistory::default(),
            losses: 0,
        }
    }

    /// Whether it waits for this CPU, after a wake-up or a preemption.
    pub(super) fn waits_for(&self, cpu: u32) -> bool {
        (self.is_ready() || self.is_off()) && self.cpu == cpu
    }

    /// Whether it waits for a CPU after a wake-up, as far as known.
    const fn is_ready(&self) -> bool {
        matches!(self.stage, ThreadStage::Woken | ThreadStage::Leaves)
    }

    /// Whether it is preempted.
    pub(super) const fn is_off(&self) -> bool {
        self.off_since.is_some()
    }

    /// The CPU that it waits for.
    pub(super) const fn cpu(&self) -> u32 {
        self.cpu
    }

    /// `holder` had the CPU that the thread waits for until now.
    pub(super) fn charge(&mut self, holder: CpuOccupant, until: MonotonicTime) {
        let (from, ns) = (self.accounted, until.since(self.accounted));
        self.accounted = self.accounted.max(until);
        let history = if self.is_off() { &mut self.off } else { &mut self.waited };
        history.add(if self.real_time { holder } else { holder.to_ordinary() }, from, ns);
    }

    /// It sleeps from now on.
    pub(super) fn fall_asleep(&mut self, at: MonotonicTime, asleep: SleepState) {
        let real_time = self.real_time;
        *self = Self { asleep_since: Some(at), asleep, real_time, ..Self::new(self.tid) };
    }

    /// It leaves `cpu` to sleep. If it was woken just before on another CPU, it may be ready already; returns by whom. A timer's thread is
    /// woken on its own CPU as a rule.
    pub(super) fn woken_as_it_leaves(&self, cpu: u32, at: MonotonicTime) -> Option<CpuHolder> {
        let sleep = self.sleep.as_ref().filter(|_| self.stage == ThreadStage::NeverLeft)?;
        let is_near = self.waker_cpu != cpu && at.since(sleep.waking) < LONGEST_WAKE_UP;
        match &sleep.woken_by {
            WakeSource::Other(by) if is_near => Some(by.clone()),
            _ => None,
        }
    }

    /// It has left `cpu`, and was woken by that as it left. If it was ready then, its wait begins now.
    pub(super) fn leave(&mut self, by: CpuHolder, cpu: u32, at: MonotonicTime) {
        self.set_cpu(cpu);
        self.wake(None, by, at, None);
        self.stage = ThreadStage::Leaves;
    }

    /// Since it left its CPU, it slept.
    pub(super) fn slept(&mut self) {
        self.sleep = None;
        self.stage = ThreadStage::Asleep;
    }

    /// It is being woken, by an interrupt of `cpu` if that is given.
    pub(super) fn wake(
        &mut self,
        expiry: Option<Expiry>,
        by: CpuHolder,
        at: MonotonicTime,
        cpu: Option<u32>,
    ) {
        let woken_by = expiry.map_or(WakeSource::Other(by), WakeSource::Timer);
        self.sleep = Some(TracedSleep {
            asleep_since: self.asleep_since,
            asleep: self.asleep.clone(),
            cpu: self.cpu,
            ..TracedSleep::new(self.tid, at, woken_by)
        });
        self.woken_on = cpu;
        self.start_waiting(at);
    }

    /// The CPU on which it is woken.
    pub(super) fn set_waker_cpu(&mut self, cpu: u32) {
        self.waker_cpu = cpu;
    }

    /// The CPU on which it will run.
    pub(super) fn set_cpu(&mut self, cpu: u32) {
        self.cpu = cpu;
    }

    fn start_waiting(&mut self, at: MonotonicTime) {
        self.accounted = at;
        self.waited = OccupancyHistory::default();
        self.sleep.iter_mut().for_each(|sleep| sleep.runnable = at);
    }

    /// It is moved to another CPU: `chosen` by the wake-up, or pulled from one that `holder` has. The holders of the new CPU are known from here
    /// on.
    pub(super) fn migrates(&mut self, to: u32, at: MonotonicTime, chosen: bool, holder: CpuOccupant) {
        if !(self.is_ready() || self.is_off()) || self.cpu == to {
            return;
        }
        if chosen {
            self.start_waiting(at);
            self.sleep.iter_mut().for_each(|sleep| sleep.migrated = true);
        } else {
            self.charge(holder, at);
            self.woken_on = None;
        }
        self.cpu = to;
    }

    /// A timer is served on a CPU: in the interrupt that woke the thread, after its own timer.
    pub(super) fn note_next_timer(&mut self, cpu: u32, at: MonotonicTime) {
        if self.stage == ThreadStage::Woken && self.woken_on == Some(cpu) {
            self.sleep.iter_mut().for_each(|sleep| sleep.next_timer = sleep.next_timer.or(Some(at)));
        }
    }

    /// An interrupt of that CPU has ended.
    pub(super) fn interrupt_ends(&mut self, cpu: u32, at: MonotonicTime) {
        if self.stage == ThreadStage::Woken && self.woken_on == Some(cpu) {
            self.woken_on = None;
            // On another CPU the thread does not wait for the end of this interrupt.
            if self.cpu == cpu {
                self.start_waiting(at);
            }
        }
    }

    /// An interrupt of that CPU that had seemed to end at `ended` ends only now.
    pub(super) fn extend_interrupt(&mut self, cpu: u32, ended: MonotonicTime, at: MonotonicTime) {
        let from_its_end = self.sleep.as_ref().is_some_and(|sleep| sleep.runnable == ended);
        if self.stage == ThreadStage::Woken && self.cpu == cpu && from_its_end {
            self.start_waiting(at);
        }
    }

    /// It is switched in.
    pub(super) fn switch_in(&mut self, cpu: u32, at: MonotonicTime, names: &mut InterruptNames) {
        if self.is_off() {
            return self.resume(at, names);
        }
        let is_ready = self.is_ready();
        let Some(sleep) = self.sleep.as_mut().filter(|_| is_ready) else { return };
        (sleep.switched_in, sleep.cpu) = (Some(at), cpu);
        self.stage = ThreadStage::Runs;
    }

    /// It has a CPU now. If the switch was not seen, the holders since the last event are not known.
    pub(super) fn set_running(&mut self, at: MonotonicTime, names: &mut InterruptNames) {
        if self.is_off() {
            return self.resume(at, names);
        }
        if self.is_ready() {
            self.charge(CpuOccupant::NotSeen, at);
        }
        if self.stage != ThreadStage::NeverLeft {
            self.stage = ThreadStage::Runs;
        }
    }

    /// It is preempted.
    pub(super) fn lose_cpu(&mut self, cpu: u32, at: MonotonicTime) {
        (self.off_since, self.off) = (Some(at), OccupancyHistory::default());
        (self.cpu, self.accounted) = (cpu, at);
    }

    /// It has a CPU again. The rest of the loss was not seen.
    fn resume(&mut self, at: MonotonicTime, names: &mut InterruptNames) {
        self.charge(CpuOccupant::NotSeen, at);
        let Some(from) = self.off_since.take() else { return };
        let to = self.off.describe(names);
        self.add_loss(LossInterval { from, until: at, reason: LossReason::Others }, to);
    }

    /// The CPU of a guest has taken no interrupt since then, not even the tick: it is not known for how long it ran.
    pub(super) fn note_standstill(&mut self, since: MonotonicTime, until: MonotonicTime) {
        let has_cpu = matches!(self.stage, ThreadStage::Runs | ThreadStage::NeverLeft) && !self.is_off();
        let Some(sleep) = self.sleep.as_mut().filter(|_| has_cpu) else { return };
        let last_known =
            sleep.lost.last().map(|lost| lost.until).or(sleep.switched_in).unwrap_or(sleep.waking);
        let from = since.max(last_known);
        if until.since(from) > SILENCE {
            self.add_loss(LossInterval { from, until, reason: LossReason::Others }, Vec::new());
        }
    }

    /// Adds a loss of its CPU, with the holders.
    fn add_loss(&mut self, loss: LossInterval, to: Vec<Occupant>) {
        let Some(sleep) = &mut self.sleep else { return };
        if self.losses >= MAX_LISTED {
            sleep.lost_more += 1;
            return;
        }
        self.losses += 1;
        sleep.lost.extend(loss.split_by(to));
    }

    /// A page fault of the followed thread.
    pub(super) fn note_fault(&mut self, at: MonotonicTime) {
        if matches!(self.stage, ThreadStage::Runs | ThreadStage::NeverLeft) {
            self.sleep.iter_mut().for_each(|sleep| sleep.first_fault = sleep.first_fault.or(Some(at)));
        }
    }

    /// It sleeps again, at `at` if known: its last sleep is complete.
    pub(super) fn finish(
        &mut self,
        at: Option<MonotonicTime>,
        interrupts: &mut InterruptNames,
        seen: &mut dyn FnMut(TracedSleep),
    ) {
        let Some(mut sleep) = self.sleep.take() else { return };
        sleep.asleep_again = at;
        if self.stage == ThreadStage::Runs {
            sleep.occupants = self.waited.describe(interrupts);
        }
        seen(sleep);
    }
}
