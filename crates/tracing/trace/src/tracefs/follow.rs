//! From events to what was seen of each sleep of the threads that are followed. Pure: the rules of the programs in the
//! kernel, `crates/tracing/trace/bpf/wakeups.bpf.c`; but who had a CPU that a thread had lost before it was pulled from it is known.

use std::collections::HashMap;

use howlate_model::{CpuHolder, MonotonicTime, SleepState, TracedSleep};

use super::cpu::Cpu;
use super::cpu_occupant::Has;
use super::event::{Event, REAL_TIME, What};
use super::thread::{FollowedThread, Stage};
use crate::irq_names::Interrupts;

/// Stopped, or held by a tracer: `__TASK_STOPPED | __TASK_TRACED`, as `sched_switch` tells it.
const STOPPED: u32 = 4 | 8;
/// `SIGSTOP`, `SIGTSTP`, `SIGTTIN`, `SIGTTOU`.
const STOPS: std::ops::RangeInclusive<u32> = 19..=22;

/// All that is followed.
pub(super) struct Follower {
    /// The watched processes, to which signals are sent.
    processes: Vec<u32>,
    cpus: HashMap<u32, Cpu>,
    threads: HashMap<u32, FollowedThread>,
    /// The two times that a followed thread has set a timer to.
    timers: HashMap<u64, (MonotonicTime, MonotonicTime)>,
    /// The CPU on which the most recent wake-up began, while nothing else has happened there, and of which thread.
    waking: Option<(u32, u32)>,
    /// Who sent the most recent signal that stops.
    stopper: Option<CpuHolder>,
    interrupts: Interrupts,
    /// Whether a hypervisor may keep the CPUs from running.
    is_guest: bool,
}

impl Follower {
    pub(super) fn new(processes: &[u32], interrupts: Interrupts, is_guest: bool) -> Self {
        Self {
            processes: processes.to_vec(),
            cpus: HashMap::new(),
            threads: HashMap::new(),
            timers: HashMap::new(),
            waking: None,
            stopper: None,
            interrupts,
            is_guest,
        }
    }

    /// Follows a thread from now on, and the signals that are sent to its `process`.
    pub(super) fn follow(&mut self, tid: u32, process: Option<u32>) {
        self.threads.insert(tid, FollowedThread::new(tid));
        self.processes.extend(process.filter(|process| !self.processes.contains(process)));
    }

    /// The threads that are followed.
    pub(super) fn followed(&self) -> impl Iterator<Item = u32> {
        self.threads.keys().copied()
    }

    /// Takes the next event of all CPUs; hands on the sleep that it completes.
    pub(super) fn event(&mut self, event: &Event, seen: &mut dyn FnMut(TracedSleep)) {
        if event.what == What::Missed {
            return self.missed(event.cpu);
        }
        let cpu = self.cpus.entry(event.cpu).or_default();
        let is_known = cpu.is_as_known(event.pid);
        if let What::Switch { comm, .. } = event.what {
            cpu.is_called(comm);
        }
        // On its way out of an interrupt the kernel arms the timer's device: whom it came upon has the CPU only then.
        let over = cpu.take_over().filter(|_| event.what == What::Rearmed);
        let holder = match over {
            Some((interrupt, _)) => interrupt,
            None if is_known => cpu.holder(),
            None => Has::NotSeen,
        };
        for thread in self.threads.values_mut().filter(|thread| thread.waits_for(event.cpu)) {
            thread.charge(holder, event.at);
        }
        cpu.had(holder, event.at);
        self.threads
            .get_mut(&event.pid)
            .into_iter()
            .for_each(|thread| thread.has_cpu(event.at, &mut self.interrupts));
        match event.what {
            What::Switch { .. } => self.switch(event, seen),
            What::Waking { thread, on } => self.waking(thread, on, event, seen),
            What::TimerPassed => self.timer_passed(event, seen),
            What::Rearmed => self.rearmed(event, over.map(|(_, ended)| ended)),
            _ => self.passing(event),
        }
    }

    /// The interrupt that had `ended` lasts until now.
    fn rearmed(&mut self, event: &Event, ended: Option<MonotonicTime>) {
        self.cpus.entry(event.cpu).or_default().rearmed(event.at);
        for thread in self.threads.values_mut() {
            ended.into_iter().for_each(|ended| thread.interrupt_goes_on(event.cpu, ended, event.at));
        }
    }

    /// A sleep without length, which ends where it begins; of its timer, only that it was too late is told.
    fn timer_passed(&mut self, event: &Event, seen: &mut dyn FnMut(TracedSleep)) {
        let running = self.cpus.entry(event.cpu).or_default().holder();
        let Some(thread) = self.threads.get_mut(&event.pid) else { return };
        thread.finish(Some(event.at), &mut self.interrupts, seen);
        thread.sleeps(event.at, SleepState::Waiting);
        thread.waits_on(event.cpu);
        thread.woken(None, running.named(&mut self.interrupts), event.at, None);
        thread.stage = Stage::NeverLeft;
    }

    /// Nothing more will come: hands on what has not slept again.
    pub(super) fn end(&mut self, seen: &mut dyn FnMut(TracedSleep)) {
        for thread in self.threads.values_mut() {
            thread.finish(None, &mut self.interrupts, seen);
        }
    }

    /// Nothing is known of that CPU, nor of threads that may have been on it.
    fn missed(&mut self, cpu: u32) {
        self.cpus.insert(cpu, Cpu::default());
        self.threads.values_mut().for_each(|thread| *thread = FollowedThread::new(thread.tid));
    }

    /// What changes the state of a CPU or of a thread, and switches nobody.
    fn passing(&mut self, event: &Event) {
        let waking = self.waking.take_if(|(cpu, _)| *cpu == event.cpu);
        let cpu = self.cpus.entry(event.cpu).or_default();
        if let What::TickBegins | What::HandlerBegins { .. } = event.what
            && let Some(since) = cpu.comes(event.at).filter(|_| self.is_guest)
            && let Some(thread) = self.threads.get_mut(&event.pid)
        {
            thread.stood_still(since, event.at);
        }
        match event.what {
            What::TickBegins => cpu.tick_begins(event.at),
            What::TickEnds => {
                cpu.tick_ends(event.at);
                self.interrupt_ends(event);
            }
            What::HandlerBegins { interrupt } => cpu.handler_begins(interrupt, event.at),
            What::HandlerEnds => {
                cpu.handler_ends(event.at);
                self.interrupt_ends(event);
            }
            What::SoftirqBegins { vector } => cpu.softirq_begins(vector),
            What::Deferred => cpu.defers(event.at),
            What::SoftirqEnds { vector } => cpu.softirq_ends(vector),
            What::TimerServed { timer } => {
                cpu.timer_served(timer, event.at);
                self.threads.values_mut().for_each(|thread| thread.next_timer(event.cpu, event.at));
            }
            What::TimerSet { timer, soft, hard } if self.threads.contains_key(&event.pid) => {
                self.timers.insert(timer, (soft, hard));
            }
            What::Signal { number, thread } => self.signal(number, thread, event.cpu),
            What::Migrates { thread, to } => {
                self.migrates(thread, to, event.at, waking == Some((event.cpu, thread)));
            }
            What::PageFault => {
                self.threads.get_mut(&event.pid).into_iter().for_each(|thread| thread.faults(event.at));
            }
            What::TimerSet { .. }
            | What::TimerPassed
            | What::Rearmed
            | What::Missed
            | What::Switch { .. }
            | What::Waking { .. } => {}
        }
    }

    /// The interrupt is over that woke somebody: from here on that thread waits for its CPU.
    fn interrupt_ends(&mut self, event: &Event) {
        for thread in self.threads.values_mut() {
            thread.interrupt_ends(event.cpu, event.at);
        }
    }

    fn signal(&mut self, number: u32, thread: u32, cpu: u32) {
        if STOPS.contains(&number) && (self.processes.contains(&thread) || self.threads.contains_key(&thread))
        {
            let sender = self.cpus.entry(cpu).or_default().waker();
            self.stopper = Some(sender.named(&mut self.interrupts));
        }
    }

    fn waking(&mut self, tid: u32, on: u32, event: &Event, seen: &mut dyn FnMut(TracedSleep)) {
        let Some(thread) = self.threads.get_mut(&tid).filter(|thread| thread.stage != Stage::Woken) else {
            return;
        };
        let slept = thread.stage == Stage::Asleep;
        // One that lost its CPU on the way to its sleep waits for one, like any other.
        let left = slept || thread.is_off();
        if !slept {
            // It was about to sleep, and has not left its CPU by itself.
            thread.finish(Some(event.at), &mut self.interrupts, seen);
            thread.sleeps(event.at, SleepState::Waiting);
        }
        let cpu = self.cpus.entry(event.cpu).or_default();
        let times = cpu.timer().and_then(|timer| self.timers.get(&timer));
        let expiry = times.and_then(|(soft, hard)| cpu.expiry(*soft, *hard, &mut self.interrupts));
        let by_whom = cpu.waker();
        // A timer that nobody who is followed has set is somebody else's way to wake it.
        let interrupt = cpu.is_interrupted().then_some(event.cpu);
        thread.woken(expiry, by_whom.named(&mut self.interrupts), event.at, interrupt);
        thread.stage = if left { Stage::Woken } else { Stage::NeverLeft };
        thread.waits_on(on);
        self.waking = Some((event.cpu, tid));
    }

    /// Right after it began to be woken, a thread is moved by that; later another CPU pulls it.
    fn migrates(&mut self, tid: u32, to: u32, at: MonotonicTime, chosen: bool) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            let holder = self.cpus.get(&thread.cpu()).map_or(Has::NotSeen, Cpu::holder);
            thread.migrates(to, at, chosen, holder);
        }
    }

    fn switch(&mut self, event: &Event, seen: &mut dyn FnMut(TracedSleep)) {
        let What::Switch { state, priority, next, next_comm, next_priority, .. } = event.what else { return };
        let cpu = self.cpus.entry(event.cpu).or_default();
        let ahead = cpu.is_ahead((state, priority), (next, next_comm, next_priority));
        cpu.switch(next, next_comm, next_priority, ahead, event.at);
        if let Some(thread) = self.threads.get_mut(&next) {
            thread.gets(event.cpu, event.at, &mut self.interrupts);
        }
        let Some(thread) = self.threads.get_mut(&event.pid) else { return };
        thread.real_time = REAL_TIME.contains(&priority);
        if state == 0 {
            return thread.loses_its_cpu(event.cpu, event.at);
        }
        thread.finish(Some(event.at), &mut self.interrupts, seen);
        let asleep = if state & STOPPED == 0 {
            SleepState::Waiting
        } else {
            SleepState::Stopped(self.stopper.clone())
        };
        thread.sleeps(event.at, asleep);
    }
}
