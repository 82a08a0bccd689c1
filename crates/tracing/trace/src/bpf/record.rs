//! What the kernel's side sends, as `bpf/record.h` lays it out.

use howlate_linux::wait_syscall_table::call_name;
use howlate_model::{
    CpuHolder, DeferredTimers, Expiry, HolderKind, Occupant, SleepSite, SleepState, Span, TracedSleep,
    WakeSource,
};

use crate::fields::Fields;
use crate::irq_names::Interrupts;
use crate::occupant::{OccupantKind, nameless, thread};
use crate::preemption::{KeptOff, Loss};

const BY_TIMER: u32 = 1;
const BY_INTERRUPT: u32 = 2;
const BY_SOFTIRQ: u32 = 4;
const MIGRATED: u32 = 8;
const THROTTLED: u32 = 16;
const RT_THROTTLED: u32 = 32;
const REAL_TIME_THREAD: u32 = 64;

/// Stopped by a signal, by a tracer, or by the freezer of its control group: `__TASK_STOPPED | __TASK_TRACED | TASK_FROZEN` of the
/// kernel's `sched.h`.
const STOPPED: u32 = 4 | 8 | 0x8000;

/// Added to the kind of an occupant that had the CPU while the timer waited for its softirq.
const BEFORE: u32 = 16;

/// Times the number of a loss, from 1, added to the kind of an occupant that had the CPU then.
const LOST_TO: u32 = 32;

/// Added to the kind of an occupant that is several threads of one name.
const SEVERAL: u32 = 0x1_0000;

/// Names that a record has room for.
const NAMES: u32 = 10;

/// From this bit on a stretch has what is added to the kind of its occupant.
const WAITED_BITS: u32 = 8;

/// What stands for a system call's number where the thread slept in none, and where nobody saw.
const NO_CALL: u32 = u32::MAX;
const UNSEEN_CALL: u32 = u32::MAX - 1;

/// Losses of the CPU that a record has room for.
const LOSSES: usize = 4;

/// Reads one record; `None` if it is not one.
pub(super) fn parse(bytes: &[u8], interrupts: &mut Interrupts) -> Option<TracedSleep> {
    let mut fields = Fields(bytes);
    let asleep_since = fields.time_if_seen()?;
    let (soft, hard) = (fields.time()?, fields.time()?);
    let (interrupt, first_served, served) = (fields.time_if_seen()?, fields.time()?, fields.time()?);
    let (waking, runnable, switched_in) = (fields.time()?, fields.time()?, fields.time_if_seen()?);
    let (first_fault, asleep_again) = (fields.time_if_seen()?, fields.time_if_seen()?);
    let (unnamed, others) = (fields.span()?, fields.span()?);
    let (deferred, idle_since) = (fields.time_if_seen()?, fields.time_if_seen()?);
    let (called, next_timer, stolen) = (fields.time_if_seen()?, fields.time_if_seen()?, fields.span()?);
    let rearmed = fields.time_if_seen()?.filter(|at| *at > soft);
    let (tid, cpu, by, flags) = (fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()?);
    let (state, losses, stopper) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let (occupants, stretches, slept_in) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let (by_comm, stopper_comm) = (fields.comm()?, fields.comm()?);
    let kind_of_by = match flags {
        _ if flags & BY_INTERRUPT != 0 => OccupantKind::Interrupt,
        _ if flags & BY_SOFTIRQ != 0 => OccupantKind::Softirq,
        _ => OccupantKind::Thread,
    };
    let by = kind_of_by.who(by, by_comm, interrupts);
    let lost_in = lost_in(&mut fields, losses)?;
    let real_time = flags & REAL_TIME_THREAD != 0;
    let held = Held::read(&mut fields, occupants, stretches, others, interrupts, real_time)?;
    let by_number = (LOST_TO..).step_by(LOST_TO as usize).zip(lost_in);
    let known = by_number.filter_map(|(number, stretch)| Some(stretch?.split_by(held.during(number))));
    let lost = known.flatten().collect();
    let deferred = deferred.map(|at| DeferredTimers {
        interrupt: at,
        interrupted: by.clone(),
        occupants: held.during(BEFORE),
    });
    let woken_by = if flags & BY_TIMER != 0 {
        let interrupted = by;
        WakeSource::Timer(Expiry {
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
    } else {
        WakeSource::Other(by)
    };
    let stopped = || SleepState::Stopped((stopper != 0).then(|| thread(stopper, stopper_comm)));
    Some(TracedSleep {
        tid,
        asleep_since,
        asleep: if state & STOPPED != 0 { stopped() } else { SleepState::Waiting },
        slept_in: place(slept_in),
        woken_by,
        waking,
        runnable,
        unnamed,
        switched_in,
        cpu,
        migrated: flags & MIGRATED != 0,
        throttled: flags & THROTTLED != 0,
        rt_throttled: flags & RT_THROTTLED != 0,
        called,
        next_timer,
        stolen: Some(stolen),
        others_stood_still: Vec::new(),
        lost,
        lost_more: losses.saturating_sub(4),
        first_fault,
        asleep_again,
        occupants: held.during(0),
    })
}

/// Where it slept, by the number of a system call.
fn place(call: u32) -> Option<SleepSite> {
    let named = |call| call_name(call).map_or_else(|| format!("system call {call}"), str::to_owned);
    match call {
        UNSEEN_CALL => None,
        NO_CALL => Some(SleepSite::PageFault),
        call => Some(SleepSite::Call(named(call))),
    }
}

/// What a thread is called now, where its name was not seen at the time; empty if it is gone.
fn name_of(pid: u32) -> String {
    howlate_procfs::Root::live().read(&format!("/proc/{pid}/comm")).unwrap_or_default()
}

/// The first stretches in which the CPU was lost; the record has room for four, used or not. `None`: it is not known when
/// one ended.
fn lost_in(fields: &mut Fields<'_>, losses: u32) -> Option<Vec<Option<Loss>>> {
    let mut all = Vec::new();
    for number in 0..LOSSES {
        let (from, until) = (fields.time()?, fields.time()?);
        let (kept_off, _) = (KeptOff::from_number(fields.u32()?), fields.u32()?);
        let is_known = number < losses as usize && until > from;
        all.push(is_known.then_some(Loss { from, until, kept_off }));
    }
    Some(all)
}

/// Who had the CPU meanwhile, of all waits of a record.
struct Held(Vec<(u32, Occupant)>);

/// One name: what waited, who it is, whether it is several threads, and what it had of which nobody knows when.
struct Name {
    during: u32,
    who: CpuHolder,
    several: bool,
    left: Span,
}

impl Held {
    /// Reads names and stretches, and which names there was no room for: `others` of the wait of the thread that was woken.
    fn read(
        fields: &mut Fields<'_>,
        names: u32,
        stretches: u32,
        others: Span,
        interrupts: &mut Interrupts,
        real_time: bool,
    ) -> Option<Self> {
        let mut one = |_| name(fields, interrupts, real_time);
        let mut all = (0..names).map(&mut one).collect::<Option<Vec<_>>>()?;
        if stretches > 0 {
            (names..NAMES).try_for_each(|number| one(number).map(drop))?;
        }
        let mut others = Name { during: 0, who: nameless(HolderKind::Others), several: true, left: others };
        let mut placed = Vec::new();
        for _ in 0..stretches {
            let (from, until, id, who) = (fields.time()?, fields.time()?, fields.u32()?, fields.u32()?);
            let (place, during) = (who & ((1 << WAITED_BITS) - 1), who >> WAITED_BITS);
            let ns = until.since(from);
            let name = all.get_mut(place as usize).unwrap_or(&mut others);
            if name.during == during {
                name.left = name.left.minus(ns);
            }
            let pid = name.who.pid.map(|_| id);
            placed.push((
                during,
                Occupant { who: CpuHolder { pid, ..name.who.clone() }, ns, from: Some(from) },
            ));
        }
        placed.sort_by_key(|(_, one)| one.from);
        let together = all.into_iter().chain([others]).filter(|name| !name.left.is_zero()).map(|name| {
            let pid = name.who.pid.filter(|_| !name.several);
            (name.during, Occupant { who: CpuHolder { pid, ..name.who }, ns: name.left, from: None })
        });
        Some(Self(together.chain(placed).collect()))
    }

    /// While what waited: [`BEFORE`], the number of a loss times [`LOST_TO`], or 0 for the thread that was woken.
    fn during(&self, wanted: u32) -> Vec<Occupant> {
        let these = self.0.iter().filter(|(during, _)| *during == wanted);
        // Room for those there are: tens of thousands of records may wait at once.
        let mut all = Vec::with_capacity(these.clone().count());
        all.extend(these.map(|(_, one)| one.clone()));
        all
    }
}

/// That a thread ran ahead of real-time ones kept only `real_time` ones waiting.
fn name(fields: &mut Fields<'_>, interrupts: &mut Interrupts, real_time: bool) -> Option<Name> {
    let (left, id, kind, comm) = (fields.span()?, fields.u32()?, fields.u32()?, fields.comm()?);
    let several = kind & SEVERAL != 0;
    let occupant = match OccupantKind::from_number(kind & (BEFORE - 1)) {
        OccupantKind::Server if !real_time => OccupantKind::Thread,
        occupant => occupant,
    };
    let comm = if occupant.is_thread() && comm.is_empty() { name_of(id) } else { comm };
    let who = occupant.who(id, comm, interrupts);
    Some(Name { during: kind & !SEVERAL & !(BEFORE - 1), who, several, left })
}

#[cfg(test)]
mod tests {
    use howlate_model::MonotonicTime;

    use super::*;
    use crate::layout::Layouts;

    const TIMES: [&str; 18] = [
        "since",
        "soft",
        "hard",
        "interrupt",
        "first_served",
        "served",
        "waking",
        "runnable",
        "switched_in",
        "fault",
        "again",
        "older",
        "deferred",
        "idle_since",
        "called",
        "next_timer",
        "stolen",
        "rearmed",
    ];
    const NUMBERS: [&str; 8] = ["tid", "cpu", "by", "flags", "since_state", "losses", "stopper", "occupants"];

    /// A record as the kernel's side lays it out: `times`, `numbers`, names, losses, occupants; with no others, and without
    /// stretches.
    fn record(times: [u64; 18], numbers: [u32; 8], occupants: &[(u64, u32, u32, &str)]) -> Vec<u8> {
        with_stretches(times, 0, numbers, occupants, &[])
    }

    /// The same with `others` and stretches: from, until, id, who.
    fn with_stretches(
        times: [u64; 18],
        others: u64,
        numbers: [u32; 8],
        occupants: &[(u64, u32, u32, &str)],
        stretches: &[(u64, u64, u32, u32)],
    ) -> Vec<u8> {
        let layouts = Layouts::of("wakeups");
        let mut record = layouts.record("record");
        TIMES.iter().zip(times).for_each(|(field, time)| record.set(field, time));
        NUMBERS.iter().zip(numbers).for_each(|(field, number)| record.set(field, number));
        record.set("others", others);
        record.set("stretches", stretches.len() as u64);
        record.name("by_comm", "waker");
        record.name("stopper_comm", "stopper");
        for number in 0..4u64 {
            let part = format!("loss[{number}]");
            record.set_all(&part, &[("from", 1_250 + number * 10), ("until", 1_256 + number * 10)]);
        }
        for (number, (ns, id, kind, name)) in occupants.iter().enumerate() {
            let part = format!("occupant[{number}]");
            record.set_all(&part, &[("ns", *ns), ("id", (*id).into()), ("kind", (*kind).into())]);
            record.name(&format!("{part}.comm"), name);
        }
        for (number, (from, until, id, who)) in stretches.iter().enumerate() {
            let part = format!("stretch[{number}]");
            let numbers = [("from", *from), ("until", *until), ("id", (*id).into()), ("who", (*who).into())];
            record.set_all(&part, &numbers);
        }
        record.up_to(&match stretches.len() {
            0 => format!("occupant[{}]", occupants.len()),
            count => format!("stretch[{count}]"),
        })
    }

    /// Of 100 ns `herd` had 60, of which 40 are listed: 25 one of them, 15 another; a softirq 10 in between, and those beyond the
    /// tenth name 30, of which 20 are listed. It lost its CPU to a softirq, a thread, and the softirq again.
    #[test]
    fn stretches_lie_where_they_were_each_with_its_own_pid() {
        let times = [100, 1_000, 1_050, 0, 0, 0, 1_100, 1_100, 1_200, 0, 1_300, 0, 0, 0, 0, 0, 0, 0];
        let numbers = [7, 1, 9, 0, 1, 1, 0, 4];
        let names =
            [(60, 11, SEVERAL, "herd"), (10, 3, 2, ""), (2, 3, LOST_TO | 2, ""), (3, 9, LOST_TO, "thief")];
        let lost = LOST_TO << WAITED_BITS;
        let stretches = [
            (1_255, 1_256, 3, 2 | lost),
            (1_252, 1_255, 9, 3 | lost),
            (1_250, 1_251, 3, 2 | lost),
            (1_175, 1_200, 11, 0),
            (1_165, 1_175, 3, 1),
            (1_145, 1_165, 13, NAMES),
            (1_130, 1_145, 12, 0),
        ];
        let bytes = with_stretches(times, 30, numbers, &names, &stretches);
        let one = parse(&bytes, &mut Interrupts::default()).unwrap();
        let told = |one: &Occupant| {
            let from = one.from.map(|from| from.as_nanos());
            (one.who.holder, one.who.name.clone(), one.who.pid, from, one.ns.as_nanos())
        };
        let herd = |pid, from, ns| (HolderKind::Thread, "herd".to_owned(), pid, from, ns);
        let others = |from, ns| (HolderKind::Others, String::new(), None, from, ns);
        let expected = [
            herd(None, None, 20),
            others(None, 10),
            herd(Some(12), Some(1_130), 15),
            others(Some(1_145), 20),
            (HolderKind::Softirq, "NET_RX".to_owned(), None, Some(1_165), 10),
            herd(Some(11), Some(1_175), 25),
        ];
        assert_eq!(one.occupants.iter().map(told).collect::<Vec<_>>(), expected);
        let lost = one
            .lost
            .iter()
            .map(|one| (one.from.as_nanos(), one.until.as_nanos(), one.to.name.as_str(), one.merged));
        let expected = [
            (1_250, 1_251, "NET_RX", false),
            (1_251, 1_252, "", false),
            (1_252, 1_255, "thief", false),
            (1_255, 1_256, "NET_RX", false),
        ];
        assert_eq!(lost.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_record_is_read_field_by_field() {
        let times = [
            100, 1_000, 1_050, 1_100, 1_120, 1_130, 1_135, 1_150, 1_200, 0, 1_300, 5, 0, 90, 1_180, 1_140,
            30, 1_060,
        ];
        let numbers = [7, 1, 0, BY_TIMER | MIGRATED, 1, 1, 0, 5];
        let lost = [(3, 9, LOST_TO, "thief"), (2, 3, LOST_TO | 2, ""), (5, 9, 2 * LOST_TO, "none")];
        let occupants = [&[(30, 9, 0, "hog"), (20, 3, 2, "")][..], &lost].concat();
        let bytes = record(times, numbers, &occupants);
        let one = parse(&bytes, &mut Interrupts::default()).unwrap();
        let at = MonotonicTime::from_nanos;
        assert_eq!(
            (one.tid, one.cpu, one.asleep_since, one.switched_in),
            (7, 1, Some(at(100)), Some(at(1_200)))
        );
        let WakeSource::Timer(expiry) = &one.woken_by else { panic!("{one:?}") };
        assert_eq!(
            (expiry.soft, expiry.hard, expiry.interrupted.holder),
            (at(1_000), at(1_050), HolderKind::Idle)
        );
        assert_eq!(
            (one.first_fault, one.asleep_again, one.unnamed),
            (None, Some(at(1_300)), Span::from_nanos(5))
        );
        assert_eq!((one.migrated, one.throttled, one.called), (true, false, Some(at(1_180))));
        let lost = one.lost.iter().map(|one| (one.from, one.until, one.to.name.as_str(), one.merged));
        let expected =
            [(1_250, 1_253, "thief", true), (1_253, 1_255, "NET_RX", true), (1_255, 1_256, "", false)];
        let expected = expected.map(|(from, until, name, merged)| (at(from), at(until), name, merged));
        assert_eq!(lost.collect::<Vec<_>>(), expected, "nobody knows in which order");
        assert_eq!((one.next_timer, one.stolen), (Some(at(1_140)), Some(Span::from_nanos(30))));
        let names: Vec<_> = one.occupants.iter().map(|one| (one.who.holder, one.who.name.as_str())).collect();
        assert_eq!(names, [(HolderKind::Thread, "hog"), (HolderKind::Softirq, "NET_RX")]);
        assert_eq!((expiry.deferred.as_ref(), expiry.idle_since), (None, Some(at(90))));
        assert_eq!(expiry.rearmed, Some(at(1_060)));
    }

    #[test]
    fn who_kept_a_timer_from_its_softirq_is_told_apart() {
        let times =
            [100, 1_000, 1_050, 0, 1_480, 1_490, 1_495, 1_495, 1_600, 0, 1_700, 0, 1_100, 0, 0, 0, 0, 0];
        let numbers = [7, 1, 9, BY_TIMER, 1, 0, 0, 3];
        let waited = [(30, 15, 0, "ktimers/0"), (380, 9, BEFORE, "hog"), (10, 8, BEFORE | 2, "")];
        let one = parse(&record(times, numbers, &waited), &mut Interrupts::default()).unwrap();
        let WakeSource::Timer(Expiry { deferred: Some(deferred), interrupt: None, .. }) = &one.woken_by
        else {
            panic!("{one:?}")
        };
        assert_eq!(
            (deferred.interrupt, deferred.interrupted.pid),
            (MonotonicTime::from_nanos(1_100), Some(9))
        );
        let names = |all: &[Occupant]| all.iter().map(|one| one.who.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&deferred.occupants), ["hog", "HRTIMER"]);
        assert_eq!(names(&one.occupants), ["ktimers/0"]);
    }

    #[test]
    fn who_ran_ahead_of_real_time_threads_did_so_for_them_alone() {
        let holder = |flags: u32| {
            let bytes = record([1; 18], [7, 1, 0, flags, 1, 0, 0, 1], &[(30, 9, 5, "batch")]);
            let one = parse(&bytes, &mut Interrupts::default()).unwrap();
            (one.occupants[0].who.holder, one.occupants[0].who.name.clone())
        };
        assert_eq!(holder(BY_TIMER | REAL_TIME_THREAD), (HolderKind::Server, "batch".to_owned()));
        assert_eq!(holder(BY_TIMER), (HolderKind::Thread, "batch".to_owned()));
    }

    #[test]
    fn a_thread_of_real_time_priority_is_told_apart() {
        let bytes =
            record([1; 18], [7, 1, 0, BY_TIMER, 1, 0, 0, 2], &[(30, 9, 6, "audio"), (20, 8, 0, "cc1")]);
        let one = parse(&bytes, &mut Interrupts::default()).unwrap();
        let holders: Vec<_> = one.occupants.iter().map(|one| (one.who.holder, one.who.pid)).collect();
        assert_eq!(holders, [(HolderKind::RealTimeThread, Some(9)), (HolderKind::Thread, Some(8))]);
    }

    #[test]
    fn a_stop_names_who_sent_it() {
        let numbers = [7, 1, 44, 0, 0x104, 0, 44, 0];
        let one = parse(&record([1; 18], numbers, &[]), &mut Interrupts::default()).unwrap();
        let SleepState::Stopped(Some(who)) = one.asleep else { panic!() };
        assert_eq!((who.pid, who.name.as_str()), (Some(44), "stopper"));
        let WakeSource::Other(who) = one.woken_by else { panic!() };
        assert_eq!(who.name, "waker");
    }

    #[test]
    fn what_is_cut_short_is_no_record() {
        let bytes = record([1; 18], [7, 1, 0, 1, 1, 0, 0, 2], &[(30, 9, 0, "hog")]);
        assert_eq!(parse(&bytes, &mut Interrupts::default()), None);
        assert_eq!(parse(&bytes[..50], &mut Interrupts::default()), None);
    }
}
