//! Parses the records of late waits and event loops, laid out in `bpf/late.h`.

use howlate_linux::sched;
use howlate_model::{
    CpuSet, EventLoopStall, Expiry, HolderKind, IdleCpu, LateWait, MonotonicTime, Occupant, Policy,
    RunningThread, Span, TracedSleep, WakeSource,
};

use super::idle_cpu::{QueuedTime, idle_longest};
use super::quotas::QuotaLookup;
use super::ring::{
    CpuRings, RingEvent, SAME_SWITCH, SwitchOut, between, summarised_between, switch_out, throttled_since,
};
use crate::fields::FieldReader;
use crate::irq_names::InterruptNames;
use crate::occupant::{nameless, thread};

/// A record from the BPF side.
pub(super) enum Message {
    /// A thread ran late.
    Late(Box<LateRecord>),
    /// An event loop did not return to its events.
    Away(EventLoopStall),
}

/// Length of `struct away` of `bpf/late.h`: no other record is as short.
const AWAY_LENGTH: usize = 104;

impl Message {
    /// `None`: not a valid record.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() == AWAY_LENGTH {
            parse_away(bytes).map(Self::Away)
        } else {
            LateRecord::parse(bytes).map(Box::new).map(Self::Late)
        }
    }
}

fn parse_away(bytes: &[u8]) -> Option<EventLoopStall> {
    let mut fields = FieldReader(bytes);
    let (from, until) = (fields.time()?, fields.time()?);
    let (running, ready) = (fields.span()?, fields.span()?);
    let TracedThread { thread, cpu, .. } = TracedThread::parse(&mut fields)?;
    // The two clocks may differ slightly.
    let length = until.since(from);
    let running = running.min(length);
    let ready = ready.min(length.minus(running));
    Some(EventLoopStall { thread, from, until, running, ready, cpu })
}

/// A thread as it was seen: `struct whose` of `bpf/late.h`.
struct TracedThread {
    thread: RunningThread,
    cpu: u32,
    bpf_scheduled: bool,
}

impl TracedThread {
    fn parse(fields: &mut FieldReader<'_>) -> Option<Self> {
        let (cgroup, tid, pid) = (fields.u64()?, fields.u32()?, fields.u32()?);
        let (uid, cpu) = (fields.u32()?, fields.u32()?);
        let (policy, priority, nice) = (fields.u32()?, fields.u32()?, fields.u32()?.cast_signed());
        let bpf_scheduled = fields.u32()? != 0;
        let (name, process) = (fields.comm()?, fields.comm()?);
        let policy = sched::policy_of(policy, priority, nice);
        let thread = RunningThread { tid, pid, uid, cgroup, name, process, policy };
        Some(Self { thread, cpu, bpf_scheduled })
    }
}

/// One late wait.
#[derive(Clone, Debug)]
pub(super) struct LateRecord {
    ended: MonotonicTime,
    /// For CPUs, in total and for the last one.
    waited: Span,
    on_last_cpu: Span,
    /// The timer that woke the thread.
    timer: Option<Expiry>,
    came_from: u32,
    preempted: bool,
    thread: RunningThread,
    /// The CPU that it got.
    cpu: u32,
    /// Whether a scheduler of BPF decided when it got it.
    bpf_scheduled: bool,
    /// The last occupants of the CPU, in order, sent with the record: the ring may be overwritten before it is read.
    recent_events: Vec<RingEvent>,
    /// CPUs on which it may run, if its wait is long enough for another one to be worth a look.
    allowed_cpus: CpuSet,
}

impl LateRecord {
    /// Reads one record; `None` if it is not one.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut fields = FieldReader(bytes);
        let (ended, waited, on_last_cpu) = (fields.time()?, fields.span()?, fields.span()?);
        let (timer, came_from, recent_events) = (parse_timer(&mut fields)?, fields.u32()?, fields.u32()?);
        let (preempted, _) = (fields.u32()? != 0, fields.u32()?);
        let TracedThread { thread, cpu, bpf_scheduled } = TracedThread::parse(&mut fields)?;
        let mut recent_events: Vec<RingEvent> =
            (0..recent_events).map_while(|_| RingEvent::parse(&mut fields)).collect();
        recent_events.reverse();
        Some(Self {
            ended,
            waited,
            on_last_cpu,
            timer,
            came_from,
            preempted,
            thread,
            cpu,
            bpf_scheduled,
            recent_events,
            allowed_cpus: CpuSet::default(),
        })
    }

    /// Asks the kernel where the thread may run; it may have ended.
    pub(super) fn find_allowed_cpus(&mut self) {
        if self.waited >= IdleCpu::SHORTEST {
            self.allowed_cpus = sched::affinity_of(self.thread.tid).unwrap_or_default();
        }
    }

    /// When it waited for which CPU.
    fn queued(&self) -> [QueuedTime; 2] {
        let moved = self.moved();
        [
            QueuedTime { cpu: self.came_from, from: self.began(), until: moved },
            QueuedTime { cpu: self.cpu, from: moved, until: self.ended },
        ]
    }

    fn began(&self) -> MonotonicTime {
        self.ended.minus(self.waited)
    }

    /// Start of the wait for the CPU that it got.
    fn moved(&self) -> MonotonicTime {
        self.ended.minus(self.on_last_cpu.min(self.waited))
    }

    fn was_moved(&self) -> bool {
        self.on_last_cpu < self.waited
    }

    pub(super) const fn ended(&self) -> MonotonicTime {
        self.ended
    }

    /// Since its timer was due, or since it waited for a CPU.
    pub(super) fn late(&self) -> Span {
        self.timer.as_ref().map_or(self.waited, |timer| self.ended.since(timer.soft))
    }

    /// CPUs whose rings have to be read, and back to when.
    pub(super) fn rings_needed(&self) -> Vec<(u32, MonotonicTime)> {
        let before = self.was_moved().then(|| (self.came_from, self.began()));
        let oldest = self.recent_events.first().map(|turn| turn.until);
        let came_with_it = oldest.is_some_and(|oldest| oldest <= self.moved().minus(SAME_SWITCH));
        let at_last = (!came_with_it).then(|| (self.cpu, self.moved()));
        let of_others = self.allowed_cpus.iter().map(|cpu| (cpu, self.began()));
        before.into_iter().chain(at_last).chain(of_others).collect()
    }

    /// The wait with the occupants of the CPUs.
    pub(super) fn complete(
        &self,
        rings: &CpuRings,
        interrupts: &mut InterruptNames,
        quotas: &mut QuotaLookup,
    ) -> LateWait {
        let (mut occupants, mut unnamed) = (Vec::new(), Span::ZERO);
        let at_last = longer_history(rings.of(self.cpu), &self.recent_events);
        let at_first = if self.was_moved() { rings.of(self.came_from) } else { at_last };
        let is_realtime = self.thread.policy.is_some_and(Policy::is_realtime);
        // Threads that ran ahead of a real-time thread are recognised by the order of occupants.
        let between = if is_realtime { between } else { summarised_between };
        if self.was_moved() {
            (occupants, unnamed) = between(at_first, self.began(), self.moved(), interrupts);
        }
        let (mut on_last_cpu, not_here) = between(at_last, self.moved(), self.ended, interrupts);
        if is_realtime {
            mark_server_threads(&mut occupants);
            mark_server_threads(&mut on_last_cpu);
        }
        occupants.extend(on_last_cpu);
        let left = switch_out(at_first, self.thread.tid, self.began());
        let mut wait = self.without_occupants();
        wait.preempted = (self.preempted || left.is_some()) && self.timer.is_none();
        let sleep = &mut wait.sleep;
        (sleep.occupants, sleep.unnamed) = (occupants, unnamed.plus(not_here));
        sleep.throttled = left == Some(SwitchOut::Throttled);
        let since = throttled_since(at_first, self.thread.tid, self.began(), self.ended);
        quotas.annotate(sleep, since);
        doubt_itself(sleep);
        // No CPU would have been its own while its group had no time left.
        let is_throttled = sleep.throttled || since.is_some();
        wait.idle_cpu =
            (!is_throttled).then(|| idle_longest(rings, &self.allowed_cpus, &self.queued())).flatten();
        wait
    }

    pub(super) fn without_occupants(&self) -> LateWait {
        let (waking, by) = match &self.timer {
            Some(timer) => (timer.served, WakeSource::Timer(timer.clone())),
            None => (self.began(), WakeSource::NotSeen { slack: Span::ZERO, runnable_known: true }),
        };
        let sleep = TracedSleep {
            // The start of the sleep is not known, but it slept at this time.
            asleep_since: self.timer.as_ref().map(|timer| timer.soft),
            runnable: self.began().max(waking),
            switched_in: Some(self.ended),
            asleep_again: Some(self.ended),
            cpu: self.cpu,
            migrated: self.was_moved(),
            bpf_scheduled: self.bpf_scheduled,
            ..TracedSleep::new(self.thread.tid, waking, by)
        };
        LateWait { sleep, late: self.late(), thread: self.thread.clone(), preempted: false, idle_cpu: None }
    }
}

/// The timer that woke it; outer `None` where the record is truncated.
fn parse_timer(fields: &mut FieldReader<'_>) -> Option<Option<Expiry>> {
    let (expected, interrupt) = (fields.optional_time()?, fields.optional_time()?);
    let (first_served, served, idle_since) = (fields.time()?, fields.time()?, fields.optional_time()?);
    let (number, _, name) = (fields.u32()?, fields.u32()?, fields.comm()?);
    let interrupted = thread(number, name);
    Some(expected.map(|soft| Expiry {
        soft,
        hard: soft,
        interrupt,
        interrupted,
        idle_since,
        rearmed: None,
        first_served,
        served,
        deferred: None,
    }))
}

/// A normal thread that gets a CPU for which a real-time thread waits was let ahead of it by the kernel. An idle CPU, once a thread has
/// left it, means that real-time threads are throttled.
fn mark_server_threads(occupants: &mut [Occupant]) {
    let (mut first, mut is_later) = (None, false);
    for occupant in occupants {
        let is_ordinary =
            matches!(occupant.who.holder, HolderKind::Thread | HolderKind::LazyThread | HolderKind::Idle);
        if is_ordinary || occupant.who.holder == HolderKind::RealTimeThread {
            is_later |= *first.get_or_insert(occupant.who.pid) != occupant.who.pid;
        }
        if is_ordinary && is_later {
            occupant.who.holder = HolderKind::Server;
        }
    }
}

/// A thread does not have the CPU that it waits for: if an interrupt came upon it there, the switch to it raised no event, and the
/// occupant before is not known.
fn doubt_itself(sleep: &mut TracedSleep) {
    for occupant in &mut sleep.occupants {
        if occupant.who.pid == Some(sleep.tid) {
            occupant.who = nameless(HolderKind::NotSeen);
        }
    }
}

/// Of two histories with the same end, the one that begins earlier.
fn longer_history<'a>(left: &'a [RingEvent], right: &'a [RingEvent]) -> &'a [RingEvent] {
    let is_earlier =
        right.first().is_some_and(|right| left.first().is_none_or(|left| right.until < left.until));
    if is_earlier { right } else { left }
}

#[cfg(test)]
mod tests {
    use howlate_model::CpuHolder;
    use howlate_procfs::Root;

    use super::*;
    use crate::layout::BtfTypes;

    fn record(times: [u64; 4], numbers: [u32; 8], recent_events: &[RingEvent]) -> Vec<u8> {
        woken_by_timer([0; 5], times, numbers, recent_events)
    }

    /// By a timer that interrupted thread 5, `busy`.
    fn woken_by_timer(
        timer: [u64; 5],
        times: [u64; 4],
        numbers: [u32; 8],
        recent_events: &[RingEvent],
    ) -> Vec<u8> {
        let layouts = BtfTypes::of("late");
        let mut record = layouts.record("late_with_turns");
        let [ended, waited, on_last_cpu, cgroup] = times;
        let [expected, interrupt, first_served, served, idle_since] = timer;
        let [tid, tgid, uid, cpu, came_from, policy, priority, nice] = numbers.map(u64::from);
        let count = recent_events.len();
        record.set_all("late", &[("ended", ended), ("waited", waited), ("here", on_last_cpu)]);
        record.set_all("late", &[("came_from", came_from), ("turns", count as u64)]);
        let of_timer = [("expected", expected), ("interrupt", interrupt), ("idle_since", idle_since)];
        record.set_all("late.timer", &of_timer);
        record
            .set_all("late.timer", &[("first_served", first_served), ("served", served), ("interrupted", 5)]);
        record.set_all(
            "late.whose",
            &[("cgroup", cgroup), ("tid", tid), ("tgid", tgid), ("uid", uid), ("cpu", cpu)],
        );
        record.set_all("late.whose", &[("policy", policy), ("priority", priority), ("nice", nice)]);
        record.name("late.timer.comm", "busy");
        record.name("late.whose.comm", "worker");
        record.name("late.whose.process", "server");
        for (number, turn) in recent_events.iter().enumerate() {
            let part = format!("turn[{number}]");
            let until = turn.until.as_nanos().unsigned_abs();
            record.set_all(&part, &[("until", until), ("id", turn.id.into()), ("kind", turn.kind.into())]);
            record.name(&format!("{part}.comm"), &FieldReader(&turn.name).comm().unwrap());
        }
        record.up_to(&format!("turn[{count}]"))
    }

    #[test]
    fn ordinary_threads_that_get_the_cpu_of_a_waiting_real_time_thread_ran_ahead() {
        let who = |holder, pid| CpuHolder { holder, pid, name: String::new() };
        let occupant = |who| Occupant { who, ns: Span::from_nanos(5), from: None };
        let (busy, hog) = (who(HolderKind::Thread, Some(5)), who(HolderKind::RealTimeThread, Some(6)));
        let tick = who(HolderKind::Interrupt, None);
        let (other, idle) = (who(HolderKind::Thread, Some(7)), who(HolderKind::Idle, None));
        let mut all: Vec<Occupant> =
            [&busy, &tick, &busy, &hog, &other, &idle, &busy].map(|who| occupant(who.clone())).to_vec();
        mark_server_threads(&mut all);
        let holders: Vec<HolderKind> = all.iter().map(|occupant| occupant.who.holder).collect();
        let server = HolderKind::Server;
        assert_eq!(
            holders,
            [
                HolderKind::Thread,
                HolderKind::Interrupt,
                HolderKind::Thread,
                HolderKind::RealTimeThread,
                server,
                server,
                server
            ]
        );
    }

    #[test]
    fn a_record_is_read_field_by_field() {
        let bytes = record([9_000, 5_000, 2_000, 77], [8, 7, 1_000, 1, 0, 1, 80, 0], &[]);
        let late = LateRecord::parse(&bytes).unwrap();
        let at = MonotonicTime::from_nanos;
        assert_eq!(late.rings_needed(), [(0, at(4_000)), (1, at(7_000))], "it was moved on the way");
        let wait = late.complete(
            &CpuRings::none(),
            &mut InterruptNames::default(),
            &mut QuotaLookup::new(Root::at("/nonexistent")),
        );
        assert_eq!((wait.thread.name.as_str(), wait.thread.process.as_str()), ("worker", "server"));
        assert_eq!(
            (wait.thread.tid, wait.thread.pid, wait.thread.uid, wait.thread.cgroup),
            (8, 7, 1_000, 77)
        );
        assert_eq!((wait.sleep.waking, wait.sleep.switched_in), (at(4_000), Some(at(9_000))));
        assert_eq!(wait.sleep.unnamed, Span::from_nanos(5_000), "nobody remembers who had the CPUs");
        assert_eq!(wait.thread.policy.unwrap().to_string(), "fifo:80");
        assert_eq!(wait.late, Span::from_nanos(5_000));
        assert!(LateRecord::parse(&bytes[..150]).is_none(), "it is cut short");
    }

    // 2000       2600       2610   2620    2700                9000
    // |----------|----------|------|-------|-------------------|
    // expected   interrupt  first  served  waits for its CPU   ran
    #[test]
    fn a_wait_for_a_timer_is_late_since_it_was_due() {
        let timer = [2_000, 2_600, 2_610, 2_620, 0];
        let bytes = woken_by_timer(timer, [9_000, 6_300, 6_300, 77], [8, 7, 0, 1, 0, 1, 80, 0], &[]);
        let late = LateRecord::parse(&bytes).unwrap();
        let at = MonotonicTime::from_nanos;
        assert_eq!((late.late(), late.began()), (Span::from_nanos(7_000), at(2_700)));
        let wait = late.without_occupants();
        assert_eq!((wait.sleep.waking, wait.sleep.runnable), (at(2_620), at(2_700)));
        let WakeSource::Timer(timer) = wait.sleep.woken_by else { panic!("{wait:?}") };
        assert_eq!((timer.soft, timer.hard, timer.interrupt), (at(2_000), at(2_000), Some(at(2_600))));
        assert_eq!((timer.interrupted.name.as_str(), timer.interrupted.pid), ("busy", Some(5)));
    }

    #[test]
    fn a_thread_that_was_not_moved_needs_one_ring() {
        let late =
            LateRecord::parse(&record([9_000, 5_000, 5_000, 77], [8, 7, 0, 1, 0, 0, 0, 5], &[])).unwrap();
        assert_eq!(late.rings_needed(), [(1, MonotonicTime::from_nanos(4_000))]);
    }

    #[test]
    fn a_loop_record_is_recognised_by_its_length() {
        let layouts = BtfTypes::of("late");
        let mut record = layouts.record("away");
        record.set_all("", &[("from", 1_000), ("until", 9_000), ("running", 6_000), ("ready", 500)]);
        record.set_all(
            "whose",
            &[("cgroup", 77), ("tid", 8), ("tgid", 7), ("uid", 1_000), ("cpu", 1), ("nice", 5)],
        );
        record.name("whose.comm", "loop");
        record.name("whose.process", "server");
        let bytes = record.bytes();
        let Some(Message::Away(away)) = Message::parse(&bytes) else { panic!("{}", bytes.len()) };
        assert_eq!((away.length(), away.blocked()), (Span::from_nanos(8_000), Span::from_nanos(1_500)));
        let thread = &away.thread;
        assert_eq!(
            (thread.name.as_str(), thread.process.as_str(), thread.tid, thread.pid),
            ("loop", "server", 8, 7)
        );
        assert_eq!(thread.policy.as_ref().unwrap().to_string(), "nice:5");
        assert!(Message::parse(&bytes[..90]).is_none(), "it is cut short");
    }

    /// A wait of 6 ms until 9 ms of the thread 8, with the last occupants of its CPU, the last one first.
    fn late(recent_events: &[RingEvent]) -> LateRecord {
        let numbers = [8, 7, 0, 1, 0, 0, 0, 0];
        LateRecord::parse(&record([9_000_000, 6_000_000, 6_000_000, 0], numbers, recent_events)).unwrap()
    }

    fn complete(recent_events: &[RingEvent]) -> LateWait {
        let mut quotas = QuotaLookup::new(Root::at("/nonexistent"));
        late(recent_events).complete(&CpuRings::none(), &mut InterruptNames::default(), &mut quotas)
    }

    fn occupants(wait: &LateWait) -> Vec<(HolderKind, u64)> {
        let occupants = wait.sleep.occupants.iter();
        occupants.map(|occupant| (occupant.who.holder, occupant.ns.as_nanos())).collect()
    }

    fn turn(until: i64, id: u32, kind: u32) -> RingEvent {
        let name = *b"hog\0\0\0\0\0\0\0\0\0\0\0\0\0";
        RingEvent { until: MonotonicTime::from_nanos(until), id, kind, name }
    }

    // 3.0            4.5     4.53                  9.0 ms
    // |--------------|-------|---------------------|
    // another has    gets it, in the kernel;       runs
    // the CPU        then its group has no time
    #[test]
    fn in_a_wait_the_quota_counts_from_where_it_began() {
        let wait = complete(&[
            turn(9_000_000, 6, 0),
            turn(4_530_000, 8, STAYS_READY_SET_ASIDE),
            turn(4_500_000, 5, 0),
            turn(3_000_000, 8, STAYS_READY_SET_ASIDE & 0x100),
        ]);
        assert_eq!(occupants(&wait), [(HolderKind::Thread, 1_500_000), (HolderKind::Quota, 4_500_000)]);
        assert!(!wait.sleep.throttled, "it lost its CPU to another");
    }

    // 3.0                   4.4   4.5                9.0 ms
    // |---------------------|-----|------------------|
    // another has the CPU    tick  an interrupt came upon it: the switch to it raised no event
    #[test]
    fn a_thread_does_not_wait_for_itself() {
        let wait = complete(&[
            turn(9_500_000, 8, 0),
            turn(4_500_000, 0, 3),
            turn(4_400_000, 5, 0),
            turn(2_900_000, 8, 0x100),
        ]);
        let occupants = occupants(&wait);
        assert_eq!(occupants.first(), Some(&(HolderKind::Thread, 1_400_000)));
        assert_eq!(occupants.last(), Some(&(HolderKind::NotSeen, 4_500_000)), "{occupants:?}");
    }

    /// It left its CPU ready to run, as its group had no time left: `bpf/late.h`.
    const STAYS_READY_SET_ASIDE: u32 = 0x300;

    /// The ring was overwritten before it was read; the occupants were sent with the record.
    #[test]
    fn overwritten_events_were_sent_with_the_wait() {
        let recent_events =
            [turn(9_000_000, 5, 6), turn(4_500_000, 0, 3), turn(4_400_000, 5, 6), turn(2_900_000, 8, 0x100)];
        let whole = complete(&recent_events);
        let took: Vec<u64> = occupants(&whole).into_iter().map(|(_, ns)| ns).collect();
        assert_eq!(took, [1_400_000, 100_000, 4_500_000]);
        assert_eq!((whole.sleep.unnamed, whole.preempted), (Span::ZERO, true));
        assert_eq!(late(&recent_events).rings_needed(), []);
        let cut = complete(&recent_events[..2]);
        assert_eq!((cut.sleep.unnamed, cut.preempted), (Span::from_nanos(1_500_000), false));
        assert_eq!(late(&recent_events[..2]).rings_needed(), [(1, MonotonicTime::from_nanos(3_000_000))]);
    }
}
