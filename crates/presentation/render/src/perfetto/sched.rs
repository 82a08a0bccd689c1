//! Scheduler and interrupt events of each CPU.

use std::collections::BTreeMap;

use howlate_model::{HolderKind, MonotonicTime, Occupant, Span, softirq_vector};

use super::lanes::{CoveredTime, end};
use super::{CpuWait, LateSlice, SEQUENCE, WRITER, nanos};
use crate::protobuf::ProtobufMessage;

/// `TracePacket.ftrace_events`, and events per packet.
const FTRACE_EVENTS: u32 = 1;
const PER_PACKET: usize = 1_000;
/// Fields of `FtraceEvent`.
const SCHED_SWITCH: u32 = 4;
const SCHED_WAKING: u32 = 20;
const SOFTIRQ_ENTRY: u32 = 24;
const SOFTIRQ_EXIT: u32 = 25;
const IRQ_ENTRY: u32 = 36;
const IRQ_EXIT: u32 = 37;

/// The kernel's largest thread id is below this: these numbers stand for unknown threads.
const NOT_RECORDED: u64 = 1 << 22;
const NOT_SEEN: u64 = NOT_RECORDED + 1;
/// `prev_state` of a thread that leaves its CPU, in the encoding of Linux 4.4, which Perfetto assumes: preempted, or asleep where no
/// wait is known.
const PREEMPTED: u64 = 2_048;
const ASLEEP: u64 = 1;
/// A switch and the wait that starts with it have times this close.
const SAME_SWITCH: Span = Span::from_micros(100);

/// The thread that has a CPU, by id and name.
#[derive(Clone, Debug, PartialEq)]
struct SchedThread(u64, String);

impl SchedThread {
    fn idle(cpu: u32) -> Self {
        Self(0, format!("swapper/{cpu}"))
    }

    fn not_recorded() -> Self {
        Self(NOT_RECORDED, "not recorded".to_owned())
    }
}

/// Waits for a CPU by thread id.
type Waits = BTreeMap<u64, Vec<CpuWait>>;

/// Events of a CPU.
struct CpuLane<'a> {
    cpu: u32,
    on: SchedThread,
    events: Vec<ProtobufMessage>,
    waits: &'a Waits,
}

/// The packets of all CPUs.
pub(super) fn packets(times: &[CoveredTime], late: &[LateSlice<'_>]) -> Vec<ProtobufMessage> {
    let mut waits = Waits::new();
    for slice in late {
        waits.entry(u64::from(slice.thread.tid)).or_default().extend(slice.wait);
    }
    let mut cpu_lanes: BTreeMap<u32, CpuLane<'_>> = BTreeMap::new();
    let cpus = times.iter().flat_map(|time| time.cpus.keys());
    for cpu in cpus {
        let new =
            || CpuLane { cpu: *cpu, on: SchedThread::not_recorded(), events: Vec::new(), waits: &waits };
        cpu_lanes.entry(*cpu).or_insert_with(new);
    }
    for time in times {
        for (cpu, lane) in &mut cpu_lanes {
            lane.add(time, time.cpus.get(cpu).map_or(&[], Vec::as_slice));
        }
    }
    cpu_lanes.into_values().flat_map(CpuLane::packets).collect()
}

fn event(at: MonotonicTime, by: u64, field: u32, message: &ProtobufMessage) -> ProtobufMessage {
    ProtobufMessage::default().number(1, nanos(at)).number(2, by).message(field, message)
}

impl CpuLane<'_> {
    fn add(&mut self, time: &CoveredTime, stretches: &[Occupant]) {
        let mut until = time.from;
        for stretch in stretches {
            let from = stretch.from.unwrap_or_default();
            // Between stretches the CPU is idle.
            if from > until {
                self.switch(until, SchedThread::idle(self.cpu));
            }
            self.stretch(stretch, from);
            until = end(stretch);
        }
        if until < time.until {
            self.switch(until, SchedThread::idle(self.cpu));
        }
        self.switch(time.until, SchedThread::not_recorded());
    }

    fn stretch(&mut self, stretch: &Occupant, from: MonotonicTime) {
        let name = stretch.who.name.as_str();
        match (stretch.who.holder, softirq_vector(name)) {
            (HolderKind::Softirq, Some(vector)) => {
                let vector = ProtobufMessage::default().number(1, vector);
                self.pair(stretch, from, (SOFTIRQ_ENTRY, &vector), (SOFTIRQ_EXIT, &vector));
            }
            (HolderKind::Softirq | HolderKind::Interrupt, _) => {
                let number = ProtobufMessage::default().number(1, 0);
                self.pair(stretch, from, (IRQ_ENTRY, &number.clone().text(2, name)), (IRQ_EXIT, &number));
            }
            (HolderKind::Idle, _) => self.switch(from, SchedThread::idle(self.cpu)),
            (HolderKind::NotSeen, _) => self.switch(from, SchedThread(NOT_SEEN, "not seen".to_owned())),
            _ => self.switch(from, SchedThread(u64::from(stretch.who.pid.unwrap_or(0)), name.to_owned())),
        }
    }

    fn pair(
        &mut self,
        stretch: &Occupant,
        from: MonotonicTime,
        entry: (u32, &ProtobufMessage),
        exit: (u32, &ProtobufMessage),
    ) {
        // An interrupt outside a known time interrupts an idle CPU.
        if self.on == SchedThread::not_recorded() {
            self.switch(from, SchedThread::idle(self.cpu));
        }
        self.events.push(event(from, self.on.0, entry.0, entry.1));
        self.events.push(event(end(stretch), self.on.0, exit.0, exit.1));
    }

    fn switch(&mut self, at: MonotonicTime, next: SchedThread) {
        if self.on == next {
            return;
        }
        self.waking(at, &next);
        let state = if self.goes_on_to_wait(at) { PREEMPTED } else { ASLEEP };
        let before = ProtobufMessage::default()
            .text(1, &self.on.1)
            .number(2, self.on.0)
            .number(3, 120)
            .number(4, state);
        let switch = before.text(5, &next.1).number(6, next.0).number(7, 120);
        self.events.push(event(at, self.on.0, SCHED_SWITCH, &switch));
        self.on = next;
    }

    /// Whether the thread that leaves the CPU starts to wait for it.
    fn goes_on_to_wait(&self, at: MonotonicTime) -> bool {
        let mut waits = self.waits.get(&self.on.0).into_iter().flatten();
        waits.any(|wait| wait.preempted && is_same(wait.from, at))
    }

    /// Adds the wake-up of the next thread, if known. The waker is unknown.
    fn waking(&mut self, at: MonotonicTime, next: &SchedThread) {
        let mut waits = self.waits.get(&next.0).into_iter().flatten();
        let Some(wait) = waits.find(|wait| !wait.preempted && is_same(wait.until, at)) else { return };
        let waking =
            ProtobufMessage::default().text(1, &next.1).number(2, next.0).number(3, 120).number(4, 1);
        let waking = waking.number(5, u64::from(self.cpu));
        self.events.push(event(wait.from, 0, SCHED_WAKING, &waking));
    }

    fn packets(self) -> Vec<ProtobufMessage> {
        let bundle = |events: &[ProtobufMessage]| {
            let bundle = ProtobufMessage::default().number(1, u64::from(self.cpu));
            let bundle = bundle.messages(2, events.iter().cloned());
            ProtobufMessage::default().message(FTRACE_EVENTS, &bundle).number(SEQUENCE, WRITER)
        };
        self.events.chunks(PER_PACKET).map(bundle).collect()
    }
}

fn is_same(first: MonotonicTime, second: MonotonicTime) -> bool {
    first.since(second) <= SAME_SWITCH && second.since(first) <= SAME_SWITCH
}
