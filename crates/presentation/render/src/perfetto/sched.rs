//! Who had each CPU, as events of the scheduler and of interrupts.

use std::collections::BTreeMap;

use howlate_model::{HolderKind, MonotonicTime, Occupant, Span, softirq_vector};

use super::lanes::{Spell, end};
use super::late::{Late, Wait};
use super::{SEQUENCE, WRITER, nanos};
use crate::protobuf::Message;

/// `TracePacket.ftrace_events`, and the events of a packet.
const FTRACE_EVENTS: u32 = 1;
const PER_PACKET: usize = 1_000;
/// Fields of `FtraceEvent`.
const SCHED_SWITCH: u32 = 4;
const SCHED_WAKING: u32 = 20;
const SOFTIRQ_ENTRY: u32 = 24;
const SOFTIRQ_EXIT: u32 = 25;
const IRQ_ENTRY: u32 = 36;
const IRQ_EXIT: u32 = 37;

/// Nobody has a thread id of the kernel's largest and more: these stand for what is not known.
const NOT_RECORDED: u64 = 1 << 22;
const NOT_SEEN: u64 = NOT_RECORDED + 1;
/// States of a thread that leaves its CPU, as Linux 4.4 has them, which Perfetto takes them for: it lost the CPU and waits for
/// one; or it sleeps, as most do, where nothing says that it waits. None stands for what is not known.
const PREEMPTED: u64 = 2_048;
const ASLEEP: u64 = 1;
/// A switch and the wait that begins with it are stamped this close.
const SAME_SWITCH: Span = Span::from_micros(100);

/// Whoever has a CPU: a thread, by number and name.
#[derive(Clone, Debug, PartialEq)]
struct Thread(u64, String);

impl Thread {
    fn idle(cpu: u32) -> Self {
        Self(0, format!("swapper/{cpu}"))
    }

    fn not_recorded() -> Self {
        Self(NOT_RECORDED, "not recorded".to_owned())
    }
}

/// The waits of each thread.
type Waits = BTreeMap<u64, Vec<Wait>>;

/// Events of one CPU.
struct Lane<'a> {
    cpu: u32,
    on: Thread,
    events: Vec<Message>,
    waits: &'a Waits,
}

/// The packets of all CPUs.
pub(super) fn packets(spells: &[Spell], late: &[Late<'_>]) -> Vec<Message> {
    let mut waits = Waits::new();
    for one in late {
        waits.entry(u64::from(one.thread.tid)).or_default().extend(one.wait);
    }
    let mut lanes: BTreeMap<u32, Lane<'_>> = BTreeMap::new();
    let cpus = spells.iter().flat_map(|spell| spell.cpus.keys());
    for cpu in cpus {
        let new = || Lane { cpu: *cpu, on: Thread::not_recorded(), events: Vec::new(), waits: &waits };
        lanes.entry(*cpu).or_insert_with(new);
    }
    for spell in spells {
        for (cpu, lane) in &mut lanes {
            lane.add(spell, spell.cpus.get(cpu).map_or(&[], Vec::as_slice));
        }
    }
    lanes.into_values().flat_map(Lane::packets).collect()
}

fn event(at: MonotonicTime, by: u64, field: u32, message: &Message) -> Message {
    Message::default().number(1, nanos(at)).number(2, by).message(field, message)
}

impl Lane<'_> {
    fn add(&mut self, spell: &Spell, stretches: &[Occupant]) {
        let mut until = spell.from;
        for one in stretches {
            let from = one.from.unwrap_or_default();
            // An idle CPU is nobody's.
            if from > until {
                self.switch(until, Thread::idle(self.cpu));
            }
            self.stretch(one, from);
            until = end(one);
        }
        if until < spell.until {
            self.switch(until, Thread::idle(self.cpu));
        }
        self.switch(spell.until, Thread::not_recorded());
    }

    fn stretch(&mut self, one: &Occupant, from: MonotonicTime) {
        let name = one.who.name.as_str();
        match (one.who.holder, softirq_vector(name)) {
            (HolderKind::Softirq, Some(vector)) => {
                let vector = Message::default().number(1, vector);
                self.pair(one, from, (SOFTIRQ_ENTRY, &vector), (SOFTIRQ_EXIT, &vector));
            }
            (HolderKind::Softirq | HolderKind::Interrupt, _) => {
                let number = Message::default().number(1, 0);
                self.pair(one, from, (IRQ_ENTRY, &number.clone().text(2, name)), (IRQ_EXIT, &number));
            }
            (HolderKind::Idle, _) => self.switch(from, Thread::idle(self.cpu)),
            (HolderKind::NotSeen, _) => self.switch(from, Thread(NOT_SEEN, "not seen".to_owned())),
            _ => self.switch(from, Thread(u64::from(one.who.pid.unwrap_or(0)), name.to_owned())),
        }
    }

    fn pair(&mut self, one: &Occupant, from: MonotonicTime, entry: (u32, &Message), exit: (u32, &Message)) {
        // Whose time it is meanwhile where nothing was known before: of an idle CPU's.
        if self.on == Thread::not_recorded() {
            self.switch(from, Thread::idle(self.cpu));
        }
        self.events.push(event(from, self.on.0, entry.0, entry.1));
        self.events.push(event(end(one), self.on.0, exit.0, exit.1));
    }

    fn switch(&mut self, at: MonotonicTime, next: Thread) {
        if self.on == next {
            return;
        }
        self.woken(at, &next);
        let state = if self.goes_on_to_wait(at) { PREEMPTED } else { ASLEEP };
        let before =
            Message::default().text(1, &self.on.1).number(2, self.on.0).number(3, 120).number(4, state);
        let switch = before.text(5, &next.1).number(6, next.0).number(7, 120);
        self.events.push(event(at, self.on.0, SCHED_SWITCH, &switch));
        self.on = next;
    }

    /// Whether it is known that whoever leaves the CPU waits for it from then on.
    fn goes_on_to_wait(&self, at: MonotonicTime) -> bool {
        let mut of_it = self.waits.get(&self.on.0).into_iter().flatten();
        of_it.any(|one| one.preempted && is_same(one.from, at))
    }

    /// When the thread that comes was woken, if that is known: who woke it is not.
    fn woken(&mut self, at: MonotonicTime, next: &Thread) {
        let mut of_it = self.waits.get(&next.0).into_iter().flatten();
        let Some(one) = of_it.find(|one| !one.preempted && is_same(one.until, at)) else { return };
        let waking = Message::default().text(1, &next.1).number(2, next.0).number(3, 120).number(4, 1);
        let waking = waking.number(5, u64::from(self.cpu));
        self.events.push(event(one.from, 0, SCHED_WAKING, &waking));
    }

    fn packets(self) -> Vec<Message> {
        let bundle = |events: &[Message]| {
            let bundle = Message::default().number(1, u64::from(self.cpu));
            let bundle = bundle.messages(2, events.iter().cloned());
            Message::default().message(FTRACE_EVENTS, &bundle).number(SEQUENCE, WRITER)
        };
        self.events.chunks(PER_PACKET).map(bundle).collect()
    }
}

fn is_same(one: MonotonicTime, other: MonotonicTime) -> bool {
    one.since(other) <= SAME_SWITCH && other.since(one) <= SAME_SWITCH
}
