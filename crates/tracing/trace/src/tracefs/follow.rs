//! Reconstructs the sleeps of followed threads from events. Pure. The rules are those of `crates/tracing/trace/bpf/wakeups.bpf.c`, except that
//! the holders of a CPU are also known for the time after a thread lost it and before it was pulled to another one.

use std::collections::HashMap;

use howlate_model::{CpuHolder, MonotonicTime, SleepState, TracedSleep};

use super::cpu::CpuState;
use super::cpu_occupant::CpuOccupant;
use super::event::{EventKind, REAL_TIME, TraceEvent};
use super::thread::{FollowedThread, ThreadStage};
use crate::irq_names::InterruptNames;

/// Stopped, or held by a tracer: `__TASK_STOPPED | __TASK_TRACED`, as in `sched_switch`.
const STOPPED: u32 = 4 | 8;
/// `SIGSTOP`, `SIGTSTP`, `SIGTTIN`, `SIGTTOU`.
const STOPS: std::ops::RangeInclusive<u32> = 19..=22;

/// The state of all CPUs and followed threads.
pub(super) struct EventFollower {
    /// The watched processes, to which signals are sent.
    processes: Vec<u32>,
    cpus: HashMap<u32, CpuState>,
    threads: HashMap<u32, FollowedThread>,
    /// CPUs of all real-time threads that lost theirs, and have not got one since. Another thread than the one that goes to sleep may be
    /// kept off.
    ready_realtime: HashMap<u32, u32>,
    /// Earliest and latest expiry of timers that followed threads have armed.
    timers: HashMap<u64, (MonotonicTime, MonotonicTime)>,
    /// CPU and thread of the last wake-up, while no other event has followed on that CPU.
    waking: Option<(u32, u32)>,
    /// Sender of the last stop signal.
    stopper: Option<CpuHolder>,
    interrupts: InterruptNames,
    /// Whether a hypervisor may stop the CPUs.
    is_guest: bool,
}

impl EventFollower {
    pub(super) fn new(processes: &[u32], interrupts: InterruptNames, is_guest: bool) -> Self {
        Self {
            processes: processes.to_vec(),
            cpus: HashMap::new(),
            threads: HashMap::new(),
            ready_realtime: HashMap::new(),
            timers: HashMap::new(),
            waking: None,
            stopper: None,
            interrupts,
            is_guest,
        }
    }

    /// Follows a thread, and the signals that are sent to its `process`.
    pub(super) fn follow(&mut self, tid: u32, process: Option<u32>) {
        self.threads.insert(tid, FollowedThread::new(tid));
        self.processes.extend(process.filter(|process| !self.processes.contains(process)));
    }

    pub(super) fn followed(&self) -> impl Iterator<Item = u32> {
        self.threads.keys().copied()
    }

    /// Processes the next event of all CPUs; passes on the sleep that it completes.
    pub(super) fn event(&mut self, event: &TraceEvent, seen: &mut dyn FnMut(TracedSleep)) {
        if event.kind == EventKind::Missed {
            return self.missed(event.cpu);
        }
        let cpu = self.cpus.entry(event.cpu).or_default();
        let is_known = cpu.set_current(event.pid);
        if let EventKind::Switch { comm, .. } = event.kind {
            cpu.set_name(comm);
        }
        // At the end of an interrupt the kernel arms the timer device: only then does the interrupted thread have the CPU.
        let ended_interrupt = cpu.take_ended_interrupt().filter(|_| event.kind == EventKind::Rearmed);
        let holder = match ended_interrupt {
            Some((interrupt, _)) => interrupt,
            None if is_known => cpu.holder(),
            None => CpuOccupant::NotSeen,
        };
        for thread in self.threads.values_mut().filter(|thread| thread.waits_for(event.cpu)) {
            thread.charge(holder, event.at);
        }
        cpu.charge(holder, event.at);
        self.threads
            .get_mut(&event.pid)
            .into_iter()
            .for_each(|thread| thread.set_running(event.at, &mut self.interrupts));
        match event.kind {
            EventKind::Switch { .. } => self.switch(event, seen),
            EventKind::Waking { thread, on } => self.waking(thread, on, event, seen),
            EventKind::TimerPassed => self.timer_passed(event, seen),
            EventKind::Rearmed => self.rearmed(event, ended_interrupt.map(|(_, ended)| ended)),
            _ => self.update_state(event),
        }
    }

    /// The interrupt that had `ended` lasts until now.
    fn rearmed(&mut self, event: &TraceEvent, ended: Option<MonotonicTime>) {
        self.cpus.entry(event.cpu).or_default().rearmed(event.at);
        for thread in self.threads.values_mut() {
            ended.into_iter().for_each(|ended| thread.extend_interrupt(event.cpu, ended, event.at));
        }
    }

    /// A sleep of length 0: its timer was armed too late.
    fn timer_passed(&mut self, event: &TraceEvent, seen: &mut dyn FnMut(TracedSleep)) {
        let running = self.cpus.entry(event.cpu).or_default().holder();
        let Some(thread) = self.threads.get_mut(&event.pid) else { return };
        thread.finish(Some(event.at), &mut self.interrupts, seen);
        thread.fall_asleep(event.at, SleepState::Waiting);
        thread.set_cpu(event.cpu);
        thread.set_waker_cpu(event.cpu);
        thread.wake(None, running.describe(&mut self.interrupts), event.at, None);
        thread.stage = ThreadStage::NeverLeft;
    }

    /// No more events will come: passes on sleeps that are not complete.
    pub(super) fn end(&mut self, seen: &mut dyn FnMut(TracedSleep)) {
        for thread in self.threads.values_mut() {
            thread.finish(None, &mut self.interrupts, seen);
        }
    }

    /// Resets the state of the CPU, and of all threads, which may have been on it.
    fn missed(&mut self, cpu: u32) {
        self.cpus.insert(cpu, CpuState::default());
        self.ready_realtime.clear();
        self.threads.values_mut().for_each(|thread| *thread = FollowedThread::new(thread.tid));
    }

    /// Events that change the state of a CPU or thread without a switch.
    fn update_state(&mut self, event: &TraceEvent) {
        let waking = self.waking.take_if(|(cpu, _)| *cpu == event.cpu);
        let cpu = self.cpus.entry(event.cpu).or_default();
        if let EventKind::TickBegins | EventKind::HandlerBegins { .. } = event.kind
            && let Some(since) = cpu.interrupt_starts(event.at).filter(|_| self.is_guest)
            && let Some(thread) = self.threads.get_mut(&event.pid)
        {
            thread.note_standstill(since, event.at);
        }
        match event.kind {
            EventKind::TickBegins => cpu.start_tick(event.at),
            EventKind::TickEnds => {
                cpu.end_tick(event.at);
                self.interrupt_ends(event);
            }
            EventKind::HandlerBegins { interrupt } => cpu.start_handler(interrupt, event.at),
            EventKind::HandlerEnds => {
                cpu.end_handler(event.at);
                self.interrupt_ends(event);
            }
            EventKind::SoftirqBegins { vector } => cpu.start_softirq(vector),
            EventKind::Deferred => cpu.defer_timers(event.at),
            EventKind::SoftirqEnds { vector } => cpu.end_softirq(vector),
            EventKind::TimerServed { timer } => {
                cpu.timer_served(timer, event.at);
                self.threads.values_mut().for_each(|thread| thread.note_next_timer(event.cpu, event.at));
            }
            EventKind::TimerSet { timer, soft, hard } if self.threads.contains_key(&event.pid) => {
                self.timers.insert(timer, (soft, hard));
            }
            EventKind::Signal { number, thread } => self.signal(number, thread, event.cpu),
            EventKind::Migrates { thread, to } => {
                self.migrates(thread, to, event.at, waking == Some((event.cpu, thread)));
            }
            EventKind::PageFault => {
                self.threads.get_mut(&event.pid).into_iter().for_each(|thread| thread.note_fault(event.at));
            }
            EventKind::TimerSet { .. }
            | EventKind::TimerPassed
            | EventKind::Rearmed
            | EventKind::Missed
            | EventKind::Switch { .. }
            | EventKind::Waking { .. } => {}
        }
    }

    /// The interrupt that woke a thread has ended: from here on the thread waits for its CPU.
    fn interrupt_ends(&mut self, event: &TraceEvent) {
        for thread in self.threads.values_mut() {
            thread.interrupt_ends(event.cpu, event.at);
        }
    }

    fn signal(&mut self, number: u32, thread: u32, cpu: u32) {
        if STOPS.contains(&number) && (self.processes.contains(&thread) || self.threads.contains_key(&thread))
        {
            let sender = self.cpus.entry(cpu).or_default().waker();
            self.stopper = Some(sender.describe(&mut self.interrupts));
        }
    }

    fn waking(&mut self, tid: u32, on: u32, event: &TraceEvent, seen: &mut dyn FnMut(TracedSleep)) {
        let Some(thread) = self.threads.get_mut(&tid).filter(|thread| thread.stage != ThreadStage::Woken)
        else {
            return;
        };
        if thread.stage == ThreadStage::Leaves {
            thread.slept();
        }
        let slept = thread.stage == ThreadStage::Asleep;
        // A thread that lost its CPU before it slept waits for one, like any other.
        let has_left = slept || thread.is_off();
        if !slept {
            // It was about to sleep, and has not been switched out.
            thread.finish(Some(event.at), &mut self.interrupts, seen);
            thread.fall_asleep(event.at, SleepState::Waiting);
        }
        let cpu = self.cpus.entry(event.cpu).or_default();
        let times = cpu.timer().and_then(|timer| self.timers.get(&timer));
        let expiry = times.and_then(|(soft, hard)| cpu.expiry(*soft, *hard, &mut self.interrupts));
        let waker = cpu.waker();
        // A timer that no followed thread has armed is another thread's way to wake it.
        let interrupt = cpu.is_interrupted().then_some(event.cpu);
        thread.wake(expiry, waker.describe(&mut self.interrupts), event.at, interrupt);
        thread.stage = if has_left { ThreadStage::Woken } else { ThreadStage::NeverLeft };
        thread.set_cpu(on);
        thread.set_waker_cpu(event.cpu);
        self.waking = Some((event.cpu, tid));
    }

    /// Right after the start of a wake-up, a thread is moved by that wake-up; later it is pulled by another CPU.
    fn migrates(&mut self, tid: u32, to: u32, at: MonotonicTime, chosen: bool) {
        self.ready_realtime.entry(tid).and_modify(|cpu| *cpu = to);
        if let Some(thread) = self.threads.get_mut(&tid) {
            let holder = self.cpus.get(&thread.cpu()).map_or(CpuOccupant::NotSeen, CpuState::holder);
            thread.migrates(to, at, chosen, holder);
        }
    }

    fn switch(&mut self, event: &TraceEvent, seen: &mut dyn FnMut(TracedSleep)) {
        let EventKind::Switch { state, priority, next, next_comm, next_priority, .. } = event.kind else {
            return;
        };
        if state == 0 && REAL_TIME.contains(&priority) {
            self.ready_realtime.insert(event.pid, event.cpu);
        }
        self.ready_realtime.remove(&next);
        let is_one_ready = self.ready_realtime.values().any(|cpu| *cpu == event.cpu);
        let cpu = self.cpus.entry(event.cpu).or_default();
        let ahead = cpu.is_ahead(is_one_ready, (next, next_comm, next_priority));
        cpu.switch(next, next_comm, next_priority, ahead, event.at);
        if let Some(thread) = self.threads.get_mut(&next) {
            thread.switch_in(event.cpu, event.at, &mut self.interrupts);
        }
        let Some(thread) = self.threads.get_mut(&event.pid) else { return };
        thread.real_time = REAL_TIME.contains(&priority);
        if state == 0 {
            return thread.lose_cpu(event.cpu, event.at);
        }
        let woken_by = thread.woken_as_it_leaves(event.cpu, event.at).filter(|_| state & STOPPED == 0);
        thread.finish(Some(event.at), &mut self.interrupts, seen);
        let asleep = if state & STOPPED == 0 {
            SleepState::Waiting
        } else {
            SleepState::Stopped(self.stopper.clone())
        };
        thread.fall_asleep(event.at, asleep);
        woken_by.into_iter().for_each(|by| thread.leave(by, event.cpu, event.at));
    }
}
