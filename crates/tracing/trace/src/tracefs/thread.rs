//! A thread that is followed, from sleep to sleep. Pure.

use howlate_model::{CpuHolder, Expiry, MonotonicTime, Occupant, SleepState, TracedSleep, WakeSource};

use super::cpu_occupant::Has;
use super::occupancy::Held;
use crate::irq_names::Interrupts;
use crate::preemption::{KeptOff, Loss};
use crate::steal::SILENCE;

/// Stretches without CPU of one wake-up that are listed.
const LISTED: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Asleep,
    /// Woken, and not switched in yet.
    Woken,
    Runs,
    /// Woken before it had left its CPU, so that it never waits for one.
    NeverLeft,
}

/// A thread, and what is known of its present sleep.
pub(super) struct FollowedThread {
    pub(super) tid: u32,
    pub(super) stage: Stage,
    /// As it was when it last left its CPU.
    pub(super) real_time: bool,
    asleep_since: Option<MonotonicTime>,
    asleep: SleepState,
    /// The sleep that it was woken from.
    sleep: Option<TracedSleep>,
    /// The CPU that it waits for, and until when that is accounted for.
    cpu: u32,
    accounted: MonotonicTime,
    waited: Held,
    /// The CPU on which an interrupt woke it that is not over yet.
    woken_on: Option<u32>,
    /// When it lost its CPU, while it has none, and who has had that since.
    off_since: Option<MonotonicTime>,
    off: Held,
    /// How many such stretches are listed.
    losses: usize,
}

impl FollowedThread {
    /// One of which nothing is known.
    pub(super) fn new(tid: u32) -> Self {
        Self {
            tid,
            stage: Stage::Asleep,
            real_time: false,
            asleep_since: None,
            asleep: SleepState::Waiting,
            sleep: None,
            cpu: 0,
            accounted: MonotonicTime::default(),
            waited: Held::default(),
            woken_on: None,
            off_since: None,
            off: Held::default(),
            losses: 0,
        }
    }

    /// Whether it waits for this CPU, to begin or to go on.
    pub(super) fn waits_for(&self, cpu: u32) -> bool {
        (self.stage == Stage::Woken || self.is_off()) && self.cpu == cpu
    }

    /// Whether it runs, and has no CPU now.
    pub(super) const fn is_off(&self) -> bool {
        self.off_since.is_some()
    }

    /// The CPU that it waits for.
    pub(super) const fn cpu(&self) -> u32 {
        self.cpu
    }

    /// Somebody had the CPU that it waits for up to now.
    pub(super) fn charge(&mut self, holder: Has, until: MonotonicTime) {
        let (from, ns) = (self.accounted, until.since(self.accounted));
        self.accounted = self.accounted.max(until);
        let held = if self.is_off() { &mut self.off } else { &mut self.waited };
        held.add(if self.real_time { holder } else { holder.to_ordinary() }, from, ns);
    }

    /// It sleeps from now on.
    pub(super) fn sleeps(&mut self, at: MonotonicTime, asleep: SleepState) {
        let real_time = self.real_time;
        *self = Self { asleep_since: Some(at), asleep, real_time, ..Self::new(self.tid) };
    }

    /// It is being woken, perhaps in an interrupt of that CPU.
    pub(super) fn woken(
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
        self.waits_from(at);
    }

    /// The CPU that it is to run on.
    pub(super) fn waits_on(&mut self, cpu: u32) {
        self.cpu = cpu;
    }

    fn waits_from(&mut self, at: MonotonicTime) {
        self.accounted = at;
        self.waited = Held::default();
        self.sleep.iter_mut().for_each(|sleep| sleep.runnable = at);
    }

    /// It is moved to another CPU: `chosen` to be woken there, or pulled from one that `holder` has. Who has the other is
    /// known from here on.
    pub(super) fn migrates(&mut self, to: u32, at: MonotonicTime, chosen: bool, holder: Has) {
        if !(self.stage == Stage::Woken || self.is_off()) || self.cpu == to {
            return;
        }
        if chosen {
            self.waits_from(at);
            self.sleep.iter_mut().for_each(|sleep| sleep.migrated = true);
        } else {
            self.charge(holder, at);
            self.woken_on = None;
        }
        self.cpu = to;
    }

    /// A timer is served on that CPU; in the interrupt that woke it, after its own.
    pub(super) fn next_timer(&mut self, cpu: u32, at: MonotonicTime) {
        if self.stage == Stage::Woken && self.woken_on == Some(cpu) {
            self.sleep.iter_mut().for_each(|sleep| sleep.next_timer = sleep.next_timer.or(Some(at)));
        }
    }

    /// An interrupt of that CPU is over.
    pub(super) fn interrupt_ends(&mut self, cpu: u32, at: MonotonicTime) {
        if self.stage == Stage::Woken && self.woken_on == Some(cpu) {
            self.woken_on = None;
            // Elsewhere nobody waits for the end of an interrupt here.
            if self.cpu == cpu {
                self.waits_from(at);
            }
        }
    }

    /// An interrupt of that CPU had seemed to be over, and is only now.
    pub(super) fn interrupt_goes_on(&mut self, cpu: u32, ended: MonotonicTime, at: MonotonicTime) {
        let from_its_end = self.sleep.as_ref().is_some_and(|sleep| sleep.runnable == ended);
        if self.stage == Stage::Woken && self.cpu == cpu && from_its_end {
            self.waits_from(at);
        }
    }

    /// It is switched in.
    pub(super) fn gets(&mut self, cpu: u32, at: MonotonicTime, names: &mut Interrupts) {
        if self.is_off() {
            return self.goes_on(at, names);
        }
        let Some(sleep) = self.sleep.as_mut().filter(|_| self.stage == Stage::Woken) else { return };
        (sleep.switched_in, sleep.cpu) = (Some(at), cpu);
        self.stage = Stage::Runs;
    }

    /// It has a CPU now. Where it was not seen to get it, nobody knows how long it waited since it was last accounted for.
    pub(super) fn has_cpu(&mut self, at: MonotonicTime, names: &mut Interrupts) {
        if self.is_off() {
            return self.goes_on(at, names);
        }
        if self.stage == Stage::Woken {
            self.charge(Has::NotSeen, at);
        }
        if self.stage != Stage::NeverLeft {
            self.stage = Stage::Runs;
        }
    }

    /// Its CPU is taken from it.
    pub(super) fn loses_its_cpu(&mut self, cpu: u32, at: MonotonicTime) {
        (self.off_since, self.off) = (Some(at), Held::default());
        (self.cpu, self.accounted) = (cpu, at);
    }

    /// It has a CPU again. What is not accounted for was nobody's that was seen.
    fn goes_on(&mut self, at: MonotonicTime, names: &mut Interrupts) {
        self.charge(Has::NotSeen, at);
        let Some(from) = self.off_since.take() else { return };
        let to = self.off.named(names);
        self.lost(Loss { from, until: at, kept_off: KeptOff::Others }, to);
    }

    /// In a guest no interrupt has come to its CPU since then, not even the tick: for how much of that it had it, nobody knows.
    pub(super) fn stood_still(&mut self, since: MonotonicTime, until: MonotonicTime) {
        let has_cpu = matches!(self.stage, Stage::Runs | Stage::NeverLeft) && !self.is_off();
        let Some(sleep) = self.sleep.as_mut().filter(|_| has_cpu) else { return };
        let had = sleep.lost.last().map(|lost| lost.until).or(sleep.switched_in).unwrap_or(sleep.waking);
        let from = since.max(had);
        if until.since(from) > SILENCE {
            self.lost(Loss { from, until, kept_off: KeptOff::Others }, Vec::new());
        }
    }

    /// A stretch without its CPU, by who had that.
    fn lost(&mut self, loss: Loss, to: Vec<Occupant>) {
        let Some(sleep) = &mut self.sleep else { return };
        if self.losses >= LISTED {
            sleep.lost_more += 1;
            return;
        }
        self.losses += 1;
        sleep.lost.extend(loss.split_by(to));
    }

    /// It meets a page that is not there.
    pub(super) fn faults(&mut self, at: MonotonicTime) {
        if matches!(self.stage, Stage::Runs | Stage::NeverLeft) {
            self.sleep.iter_mut().for_each(|sleep| sleep.first_fault = sleep.first_fault.or(Some(at)));
        }
    }

    /// It sleeps again, `at` that time if it is known: its last sleep is whole.
    pub(super) fn finish(
        &mut self,
        at: Option<MonotonicTime>,
        interrupts: &mut Interrupts,
        seen: &mut dyn FnMut(TracedSleep),
    ) {
        let Some(mut sleep) = self.sleep.take() else { return };
        sleep.asleep_again = at;
        if self.stage == Stage::Runs {
            sleep.occupants = self.waited.named(interrupts);
        }
        seen(sleep);
    }
}
