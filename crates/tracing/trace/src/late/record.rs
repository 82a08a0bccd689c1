//! What the kernel's side sends of a late wait, as `bpf/late.h` lays it out.

use howlate_linux::sched;
use howlate_model::{
    EventLoopStall, Expiry, HolderKind, LateWait, MonotonicTime, Occupant, Policy, Span, TracedSleep,
    WakeSource,
};

use super::quotas::Quotas;
use super::ring::{Event, Left, Rings, SAME_SWITCH, between, few_between, how_it_left};
use crate::fields::Fields;
use crate::irq_names::Interrupts;
use crate::occupant::thread;

/// What the kernel's side has sent.
pub(super) enum Sent {
    /// A thread ran late.
    Late(Box<Late>),
    /// An event loop was away from its events.
    Away(EventLoopStall),
}

/// Bytes of `struct away` of `bpf/late.h`: nothing else is as short.
const AWAY: usize = 104;

impl Sent {
    /// Reads one record; `None` if it is not one.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() == AWAY {
            away(bytes).map(Self::Away)
        } else {
            Late::parse(bytes).map(Box::new).map(Self::Late)
        }
    }
}

fn away(bytes: &[u8]) -> Option<EventLoopStall> {
    let mut fields = Fields(bytes);
    let (from, until) = (fields.time()?, fields.time()?);
    let (running, ready) = (fields.span()?, fields.span()?);
    let Whose { cgroup, tid, pid, uid, cpu, policy, name, process } = Whose::parse(&mut fields)?;
    // The two clocks may differ a little.
    let length = until.since(from);
    let running = running.min(length);
    let ready = ready.min(length.minus(running));
    Some(EventLoopStall { from, until, running, ready, cgroup, tid, pid, uid, cpu, policy, name, process })
}

/// A thread: `struct whose`.
#[derive(Clone, Debug)]
struct Whose {
    cgroup: u64,
    tid: u32,
    pid: u32,
    uid: u32,
    cpu: u32,
    policy: Option<Policy>,
    name: String,
    process: String,
}

impl Whose {
    fn parse(fields: &mut Fields<'_>) -> Option<Self> {
        let (cgroup, tid, pid) = (fields.u64()?, fields.u32()?, fields.u32()?);
        let (uid, cpu) = (fields.u32()?, fields.u32()?);
        let (policy, priority, nice, _) =
            (fields.u32()?, fields.u32()?, fields.u32()?.cast_signed(), fields.u32()?);
        let (name, process) = (fields.comm()?, fields.comm()?);
        let policy = sched::policy_of(policy, priority, nice);
        Some(Self { cgroup, tid, pid, uid, cpu, policy, name, process })
    }
}

/// One late wait.
#[derive(Clone, Debug)]
pub(super) struct Late {
    ended: MonotonicTime,
    /// For a CPU, in all and for the last one.
    waited: Span,
    here: Span,
    /// The timer that woke it.
    timer: Option<Expiry>,
    came_from: u32,
    preempted: bool,
    whose: Whose,
    /// Who had the CPU that it got, as far as that came with it, in order: however much was written over its ring meanwhile.
    turns: Vec<Event>,
}

impl Late {
    /// Reads one record; `None` if it is not one.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let (ended, waited, here) = (fields.time()?, fields.span()?, fields.span()?);
        let (timer, came_from, turns) = (timer(&mut fields)?, fields.u32()?, fields.u32()?);
        let (preempted, _) = (fields.u32()? != 0, fields.u32()?);
        let whose = Whose::parse(&mut fields)?;
        let mut turns: Vec<Event> = (0..turns).map_while(|_| Event::parse(&mut fields)).collect();
        turns.reverse();
        Some(Self { ended, waited, here, timer, came_from, preempted, whose, turns })
    }

    fn began(&self) -> MonotonicTime {
        self.ended.minus(self.waited)
    }

    /// When it began to wait for the CPU that it got.
    fn moved(&self) -> MonotonicTime {
        self.ended.minus(self.here.min(self.waited))
    }

    fn was_moved(&self) -> bool {
        self.here < self.waited
    }

    pub(super) const fn ended(&self) -> MonotonicTime {
        self.ended
    }

    /// By how much it was late: since its timer was to wake it, or since it waited for a CPU.
    pub(super) fn late(&self) -> Span {
        self.timer.as_ref().map_or(self.waited, |timer| self.ended.since(timer.soft))
    }

    /// The CPUs whose rings have to be read for it, each with since when.
    pub(super) fn rings_wanted(&self) -> Vec<(u32, MonotonicTime)> {
        let before = self.was_moved().then(|| (self.came_from, self.began()));
        let oldest = self.turns.first().map(|turn| turn.until);
        let came_with_it = oldest.is_some_and(|oldest| oldest <= self.moved().minus(SAME_SWITCH));
        let at_last = (!came_with_it).then(|| (self.whose.cpu, self.moved()));
        before.into_iter().chain(at_last).collect()
    }

    /// The wait, with who had the CPUs meanwhile.
    pub(super) fn with(&self, rings: &Rings, interrupts: &mut Interrupts, quotas: &mut Quotas) -> LateWait {
        let (mut occupants, mut unnamed) = (Vec::new(), Span::ZERO);
        let at_last = further_back(rings.of(self.whose.cpu), &self.turns);
        let at_first = if self.was_moved() { rings.of(self.came_from) } else { at_last };
        let is_realtime = self.whose.policy.is_some_and(Policy::is_realtime);
        // Who runs ahead of a real-time thread is known by the order.
        let between = if is_realtime { between } else { few_between };
        if self.was_moved() {
            (occupants, unnamed) = between(at_first, self.began(), self.moved(), interrupts);
        }
        let (mut here, not_here) = between(at_last, self.moved(), self.ended, interrupts);
        if is_realtime {
            run_ahead(&mut occupants);
            run_ahead(&mut here);
        }
        occupants.extend(here);
        let left = how_it_left(at_first, self.whose.tid, self.began());
        let mut wait = self.alone();
        wait.preempted = (self.preempted || left.is_some()) && self.timer.is_none();
        let sleep = &mut wait.sleep;
        (sleep.occupants, sleep.unnamed) = (occupants, unnamed.plus(not_here));
        sleep.throttled = left == Some(Left::SetAside);
        quotas.name(sleep);
        wait
    }

    /// The wait, without who had the CPUs meanwhile.
    pub(super) fn alone(&self) -> LateWait {
        let (waking, by) = match &self.timer {
            Some(timer) => (timer.served, WakeSource::Timer(timer.clone())),
            None => (self.began(), WakeSource::NotSeen { slack: Span::ZERO, runnable_known: true }),
        };
        let sleep = TracedSleep {
            // Since when it slept is not known, but that it did then.
            asleep_since: self.timer.as_ref().map(|timer| timer.soft),
            runnable: self.began().max(waking),
            switched_in: Some(self.ended),
            asleep_again: Some(self.ended),
            cpu: self.whose.cpu,
            migrated: self.was_moved(),
            ..TracedSleep::new(self.whose.tid, waking, by)
        };
        let Whose { cgroup, pid, uid, policy, name, process, .. } = self.whose.clone();
        LateWait { sleep, late: self.late(), pid, name, process, uid, cgroup, policy, preempted: false }
    }
}

/// The timer that woke it: outer `None` where the record is cut short.
fn timer(fields: &mut Fields<'_>) -> Option<Option<Expiry>> {
    let (expected, interrupt) = (fields.time_if_seen()?, fields.time_if_seen()?);
    let (first_served, served, idle_since) = (fields.time()?, fields.time()?, fields.time_if_seen()?);
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

/// Who comes to a CPU for which a real-time thread waits, and is none itself, runs ahead of it: the kernel lets it. So is nobody, once
/// somebody has left the CPU: the real-time ones are throttled.
fn run_ahead(occupants: &mut [Occupant]) {
    let (mut first, mut is_later) = (None, false);
    for one in occupants {
        let is_ordinary = matches!(one.who.holder, HolderKind::Thread | HolderKind::Idle);
        if is_ordinary || one.who.holder == HolderKind::RealTimeThread {
            is_later |= *first.get_or_insert(one.who.pid) != one.who.pid;
        }
        if is_ordinary && is_later {
            one.who.holder = HolderKind::Server;
        }
    }
}

/// Of two accounts that end alike, the one that begins earlier.
fn further_back<'a>(one: &'a [Event], other: &'a [Event]) -> &'a [Event] {
    let is_earlier = other.first().is_some_and(|other| one.first().is_none_or(|one| other.until < one.until));
    if is_earlier { other } else { one }
}

#[cfg(test)]
mod tests {
    use howlate_model::CpuHolder;
    use howlate_procfs::Root;

    use super::*;
    use crate::layout::Layouts;

    fn record(times: [u64; 4], numbers: [u32; 8], turns: &[Event]) -> Vec<u8> {
        woken_by_timer([0; 5], times, numbers, turns)
    }

    /// By one that came upon thread 5, `busy`.
    fn woken_by_timer(timer: [u64; 5], times: [u64; 4], numbers: [u32; 8], turns: &[Event]) -> Vec<u8> {
        let layouts = Layouts::of("late");
        let mut record = layouts.record("late_with_turns");
        let [ended, waited, here, cgroup] = times;
        let [expected, interrupt, first_served, served, idle_since] = timer;
        let [tid, tgid, uid, cpu, came_from, policy, priority, nice] = numbers.map(u64::from);
        let count = turns.len();
        record.set_all("late", &[("ended", ended), ("waited", waited), ("here", here)]);
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
        for (number, turn) in turns.iter().enumerate() {
            let part = format!("turn[{number}]");
            let until = turn.until.as_nanos().unsigned_abs();
            record.set_all(&part, &[("until", until), ("id", turn.id.into()), ("kind", turn.kind.into())]);
            record.name(&format!("{part}.comm"), &Fields(&turn.name).comm().unwrap());
        }
        record.up_to(&format!("turn[{count}]"))
    }

    #[test]
    fn whoever_comes_to_the_cpu_while_a_real_time_thread_waits_was_let_run_ahead_of_it() {
        let who = |holder, pid| CpuHolder { holder, pid, name: String::new() };
        let one = |who| Occupant { who, ns: Span::from_nanos(5), from: None };
        let (busy, hog) = (who(HolderKind::Thread, Some(5)), who(HolderKind::RealTimeThread, Some(6)));
        let tick = who(HolderKind::Interrupt, None);
        let (other, idle) = (who(HolderKind::Thread, Some(7)), who(HolderKind::Idle, None));
        let mut all: Vec<Occupant> =
            [&busy, &tick, &busy, &hog, &other, &idle, &busy].map(|who| one(who.clone())).to_vec();
        run_ahead(&mut all);
        let holders: Vec<HolderKind> = all.iter().map(|one| one.who.holder).collect();
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
        let late = Late::parse(&bytes).unwrap();
        let at = MonotonicTime::from_nanos;
        assert_eq!(late.rings_wanted(), [(0, at(4_000)), (1, at(7_000))], "it was moved on the way");
        let wait =
            late.with(&Rings::none(), &mut Interrupts::default(), &mut Quotas::new(Root::at("/nonexistent")));
        assert_eq!((wait.name.as_str(), wait.process.as_str()), ("worker", "server"));
        assert_eq!((wait.sleep.tid, wait.pid, wait.uid, wait.cgroup), (8, 7, 1_000, 77));
        assert_eq!((wait.sleep.waking, wait.sleep.switched_in), (at(4_000), Some(at(9_000))));
        assert_eq!(wait.sleep.unnamed, Span::from_nanos(5_000), "nobody remembers who had the CPUs");
        assert_eq!(wait.policy.unwrap().to_string(), "fifo:80");
        assert_eq!(wait.late, Span::from_nanos(5_000));
        assert!(Late::parse(&bytes[..150]).is_none(), "it is cut short");
    }

    // 2000       2600       2610   2620    2700                9000
    // |----------|----------|------|-------|-------------------|
    // expected   interrupt  first  served  waits for its CPU   ran
    #[test]
    fn who_is_woken_by_a_timer_is_late_by_its_time() {
        let timer = [2_000, 2_600, 2_610, 2_620, 0];
        let bytes = woken_by_timer(timer, [9_000, 6_300, 6_300, 77], [8, 7, 0, 1, 0, 1, 80, 0], &[]);
        let late = Late::parse(&bytes).unwrap();
        let at = MonotonicTime::from_nanos;
        assert_eq!((late.late(), late.began()), (Span::from_nanos(7_000), at(2_700)));
        let wait = late.alone();
        assert_eq!((wait.sleep.waking, wait.sleep.runnable), (at(2_620), at(2_700)));
        let WakeSource::Timer(timer) = wait.sleep.woken_by else { panic!("{wait:?}") };
        assert_eq!((timer.soft, timer.hard, timer.interrupt), (at(2_000), at(2_000), Some(at(2_600))));
        assert_eq!((timer.interrupted.name.as_str(), timer.interrupted.pid), ("busy", Some(5)));
    }

    #[test]
    fn one_that_stayed_waited_for_one_cpu() {
        let late = Late::parse(&record([9_000, 5_000, 5_000, 77], [8, 7, 0, 1, 0, 0, 0, 5], &[])).unwrap();
        assert_eq!(late.rings_wanted(), [(1, MonotonicTime::from_nanos(4_000))]);
    }

    #[test]
    fn a_loop_that_stayed_away_is_told_apart_by_its_length() {
        let layouts = Layouts::of("late");
        let mut record = layouts.record("away");
        record.set_all("", &[("from", 1_000), ("until", 9_000), ("running", 6_000), ("ready", 500)]);
        record.set_all(
            "whose",
            &[("cgroup", 77), ("tid", 8), ("tgid", 7), ("uid", 1_000), ("cpu", 1), ("nice", 5)],
        );
        record.name("whose.comm", "loop");
        record.name("whose.process", "server");
        let bytes = record.bytes();
        let Some(Sent::Away(away)) = Sent::parse(&bytes) else { panic!("{}", bytes.len()) };
        assert_eq!((away.length(), away.blocked()), (Span::from_nanos(8_000), Span::from_nanos(1_500)));
        assert_eq!((away.name.as_str(), away.process.as_str(), away.tid, away.pid), ("loop", "server", 8, 7));
        assert_eq!(away.policy.unwrap().to_string(), "nice:5");
        assert!(Sent::parse(&bytes[..90]).is_none(), "it is cut short");
    }

    /// Its ring was written over before it was read; who had the CPU came with it, the last first.
    #[test]
    fn what_a_ring_has_forgotten_came_with_the_wait() {
        let turn = |until, id, kind| Event {
            until: MonotonicTime::from_nanos(until),
            id,
            kind,
            name: *b"hog\0\0\0\0\0\0\0\0\0\0\0\0\0",
        };
        let turns =
            [turn(9_000_000, 5, 6), turn(4_500_000, 0, 3), turn(4_400_000, 5, 6), turn(2_900_000, 8, 0x100)];
        let late = |turns: &[Event]| {
            let numbers = [8, 7, 0, 1, 0, 0, 0, 0];
            Late::parse(&record([9_000_000, 6_000_000, 6_000_000, 0], numbers, turns)).unwrap()
        };
        let told = |turns: &[Event]| {
            let mut quotas = Quotas::new(Root::at("/nonexistent"));
            late(turns).with(&Rings::none(), &mut Interrupts::default(), &mut quotas)
        };
        let whole = told(&turns);
        let took: Vec<u64> = whole.sleep.occupants.iter().map(|one| one.ns.as_nanos()).collect();
        assert_eq!(took, [1_400_000, 100_000, 4_500_000]);
        assert_eq!((whole.sleep.unnamed, whole.preempted), (Span::ZERO, true));
        assert_eq!(late(&turns).rings_wanted(), []);
        let cut = told(&turns[..2]);
        assert_eq!((cut.sleep.unnamed, cut.preempted), (Span::from_nanos(1_500_000), false));
        assert_eq!(late(&turns[..2]).rings_wanted(), [(1, MonotonicTime::from_nanos(3_000_000))]);
    }
}
