//! Parses the records of sleeps, laid out in `bpf/record.h`.

use howlate_linux::wait_syscall_table::call_name;
use howlate_model::{
    CpuHolder, DeferredTimers, Expiry, HolderKind, Occupant, SleepSite, SleepState, Span, TracedSleep,
    WakeSource,
};

use crate::fields::FieldReader;
use crate::irq_names::InterruptNames;
use crate::occupant::{OccupantKind, nameless, thread};
use crate::preemption::{LossInterval, LossReason};

const BY_TIMER: u32 = 1;
const BY_INTERRUPT: u32 = 2;
const BY_SOFTIRQ: u32 = 4;
const MIGRATED: u32 = 8;
const THROTTLED: u32 = 16;
const RT_THROTTLED: u32 = 32;
const REAL_TIME_THREAD: u32 = 64;
const OUT_OF_RUNTIME: u32 = 128;
const BPF_SCHEDULED: u32 = 256;

/// Stopped by a signal, by a tracer, or by the freezer of its control group: `__TASK_STOPPED | __TASK_TRACED | TASK_FROZEN` of the
/// kernel's `sched.h`.
const STOPPED: u32 = 4 | 8 | 0x8000;

/// Added to the kind of an occupant that used the CPU while the timer waited for its softirq.
const BEFORE: u32 = 16;

/// Times the number of a loss, from 1: added to the kind of an occupant that used the CPU during that loss.
const LOST_TO: u32 = 32;

/// Added to the kind of an occupant that stands for several threads of one name.
const SEVERAL: u32 = 0x1_0000;

/// Names that fit into a record.
const NAMES: u32 = 10;

/// From this bit on, a stretch holds what is added to the kind of its occupant.
const WAITED_BITS: u32 = 8;

/// Instead of a system call's number: the thread slept in none, it was not seen, or it was started.
const NO_CALL: u32 = u32::MAX;
const UNSEEN_CALL: u32 = u32::MAX - 1;
const STARTED: u32 = u32::MAX - 2;

/// CPU losses that fit into a record.
const LOSSES: usize = 4;

/// `None`: another kind of record.
pub(super) fn parse(bytes: &[u8], interrupts: &mut InterruptNames) -> Option<TracedSleep> {
    let mut fields = FieldReader(bytes);
    let asleep_since = fields.optional_time()?;
    let (soft, hard) = (fields.time()?, fields.time()?);
    let (interrupt, first_served, served) = (fields.optional_time()?, fields.time()?, fields.time()?);
    let (waking, runnable, switched_in) = (fields.time()?, fields.time()?, fields.optional_time()?);
    let (first_fault, asleep_again) = (fields.optional_time()?, fields.optional_time()?);
    let (unnamed, others) = (fields.span()?, fields.span()?);
    let (deferred, idle_since) = (fields.optional_time()?, fields.optional_time()?);
    let (called, next_timer, stolen) = (fields.optional_time()?, fields.optional_time()?, fields.span()?);
    let rearmed = fields.optional_time()?.filter(|at| *at > soft);
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
    let read_losses = read_losses(&mut fields, losses)?;
    let real_time = flags & REAL_TIME_THREAD != 0;
    let wait_occupants =
        WaitOccupants::read(&mut fields, occupants, stretches, others, interrupts, real_time)?;
    let by_number = (LOST_TO..).step_by(LOST_TO as usize).zip(read_losses);
    let split =
        by_number.filter_map(|(number, stretch)| Some(stretch?.split_by(wait_occupants.during(number))));
    let lost = split.flatten().collect();
    let deferred = deferred.map(|at| DeferredTimers {
        interrupt: at,
        interrupted: by.clone(),
        occupants: wait_occupants.during(BEFORE),
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
        slept_in: sleep_location(slept_in),
        woken_by,
        waking,
        runnable,
        unnamed,
        switched_in,
        cpu,
        migrated: flags & MIGRATED != 0,
        throttled: flags & THROTTLED != 0,
        rt_throttled: flags & RT_THROTTLED != 0,
        out_of_runtime: flags & OUT_OF_RUNTIME != 0,
        bpf_scheduled: flags & BPF_SCHEDULED != 0,
        called,
        next_timer,
        stolen: Some(stolen),
        others_stood_still: Vec::new(),
        lost,
        lost_more: losses.saturating_sub(4),
        first_fault,
        asleep_again,
        occupants: wait_occupants.during(0),
    })
}

/// Where the thread slept, from the number of a system call.
fn sleep_location(call: u32) -> Option<SleepSite> {
    let named = |call| call_name(call).map_or_else(|| format!("system call {call}"), str::to_owned);
    match call {
        UNSEEN_CALL => None,
        NO_CALL => Some(SleepSite::PageFault),
        STARTED => Some(SleepSite::Start),
        call => Some(SleepSite::Call(named(call))),
    }
}

/// Current name of a thread whose name was not seen; empty if it has ended.
fn name_of(pid: u32) -> String {
    howlate_procfs::Root::live().read(&format!("/proc/{pid}/comm")).unwrap_or_default()
}

/// The first losses of the CPU; the record always has room for four. `None` in the list: the end of the loss is not known.
fn read_losses(fields: &mut FieldReader<'_>, losses: u32) -> Option<Vec<Option<LossInterval>>> {
    let mut all = Vec::new();
    for number in 0..LOSSES {
        let (from, until) = (fields.time()?, fields.time()?);
        let (reason, _) = (LossReason::from_number(fields.u32()?), fields.u32()?);
        let is_known = number < losses as usize && until > from;
        all.push(is_known.then_some(LossInterval { from, until, reason }));
    }
    Some(all)
}

/// Occupants of the CPU during all waits of a record.
struct WaitOccupants(Vec<(u32, Occupant)>);

/// One occupant: the wait it belongs to, whether it is several threads, and its CPU time without a start time.
struct NamedOccupant {
    during: u32,
    who: CpuHolder,
    several: bool,
    left: Span,
}

impl WaitOccupants {
    /// Reads names and stretches; `others` is the time of occupants without room for their name, in the wait of the thread.
    fn read(
        fields: &mut FieldReader<'_>,
        names: u32,
        stretches: u32,
        others: Span,
        interrupts: &mut InterruptNames,
        real_time: bool,
    ) -> Option<Self> {
        let mut read_name = |_| name(fields, interrupts, real_time);
        let mut all = (0..names).map(&mut read_name).collect::<Option<Vec<_>>>()?;
        if stretches > 0 {
            (names..NAMES).try_for_each(|number| read_name(number).map(drop))?;
        }
        let mut others =
            NamedOccupant { during: 0, who: nameless(HolderKind::Others), several: true, left: others };
        let mut placed = Vec::new();
        for _ in 0..stretches {
            let (from, until, id, who) = (fields.time()?, fields.time()?, fields.u32()?, fields.u32()?);
            let (index, during) = (who & ((1 << WAITED_BITS) - 1), who >> WAITED_BITS);
            let ns = until.since(from);
            let name = all.get_mut(index as usize).unwrap_or(&mut others);
            if name.during == during {
                name.left = name.left.minus(ns);
            }
            let pid = name.who.pid.map(|_| id);
            placed.push((
                during,
                Occupant { who: CpuHolder { pid, ..name.who.clone() }, ns, from: Some(from) },
            ));
        }
        placed.sort_by_key(|(_, occupant)| occupant.from);
        let unplaced = all.into_iter().chain([others]).filter(|name| !name.left.is_zero()).map(|name| {
            let pid = name.who.pid.filter(|_| !name.several);
            (name.during, Occupant { who: CpuHolder { pid, ..name.who }, ns: name.left, from: None })
        });
        Some(Self(unplaced.chain(placed).collect()))
    }

    /// The occupants of one wait: [`BEFORE`], the number of a loss times [`LOST_TO`], or 0 for the wait of the thread itself.
    fn during(&self, wait: u32) -> Vec<Occupant> {
        let selected = self.0.iter().filter(|(during, _)| *during == wait);
        // Exact capacity: tens of thousands of records may be pending at once.
        let mut occupants = Vec::with_capacity(selected.clone().count());
        occupants.extend(selected.map(|(_, occupant)| occupant.clone()));
        occupants
    }
}

/// That a thread ran ahead of real-time threads matters only to `real_time` ones.
fn name(
    fields: &mut FieldReader<'_>,
    interrupts: &mut InterruptNames,
    real_time: bool,
) -> Option<NamedOccupant> {
    let (left, id, kind, comm) = (fields.span()?, fields.u32()?, fields.u32()?, fields.comm()?);
    let several = kind & SEVERAL != 0;
    let occupant = match OccupantKind::from_number(kind & (BEFORE - 1)) {
        OccupantKind::Server if !real_time => OccupantKind::Thread,
        occupant => occupant,
    };
    let comm = if occupant.is_thread() && comm.is_empty() { name_of(id) } else { comm };
    let who = occupant.who(id, comm, interrupts);
    Some(NamedOccupant { during: kind & !SEVERAL & !(BEFORE - 1), who, several, left })
}

#[cfg(test)]
mod tests {
    use howlate_model::MonotonicTime;

    use super::*;
    use crate::layout::BtfTypes;

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

    /// A record of `times`, `numbers`, occupants and losses, without `others` and without stretches.
    fn record(times: [u64; 18], numbers: [u32; 8], occupants: &[(u64, u32, u32, &str)]) -> Vec<u8> {
        with_stretches(times, 0, numbers, occupants, &[])
    }

    /// As [`record`], with `others` and stretches: from, until, id, who.
    fn with_stretches(
        times: [u64; 18],
        others: u64,
        numbers: [u32; 8],
        occupants: &[(u64, u32, u32, &str)],
        stretches: &[(u64, u64, u32, u32)],
    ) -> Vec<u8> {
        let layouts = BtfTypes::of("wakeups");
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

    /// Of 100 ns `herd` had 60, of which 40 are listed: 25 by one thread, 15 by another; a softirq 10 in between, and those beyond the
    /// tenth name 30, of which 20 are listed. The thread lost its CPU to a softirq, a thread, and the softirq again.
    #[test]
    fn stretches_keep_their_time_and_pid() {
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
        let sleep = parse(&bytes, &mut InterruptNames::default()).unwrap();
        let fields_of = |occupant: &Occupant| {
            let from = occupant.from.map(|from| from.as_nanos());
            (occupant.who.holder, occupant.who.name.clone(), occupant.who.pid, from, occupant.ns.as_nanos())
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
        assert_eq!(sleep.occupants.iter().map(fields_of).collect::<Vec<_>>(), expected);
        let lost = sleep
            .lost
            .iter()
            .map(|lost| (lost.from.as_nanos(), lost.until.as_nanos(), lost.to.name.as_str(), lost.merged));
        let expected = [
            (1_250, 1_251, "NET_RX", false),
            (1_251, 1_252, "", false),
            (1_252, 1_255, "thief", false),
            (1_255, 1_256, "NET_RX", false),
        ];
        assert_eq!(lost.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_thread_that_is_woken_without_runtime_is_known() {
        let is_out = |flags: u32| {
            let bytes = record([1; 18], [7, 1, 0, flags, 1, 0, 0, 1], &[(30, 9, 0, "batch")]);
            parse(&bytes, &mut InterruptNames::default()).unwrap().out_of_runtime
        };
        assert_eq!((is_out(BY_TIMER), is_out(BY_TIMER | OUT_OF_RUNTIME)), (false, true));
    }

    #[test]
    fn a_thread_that_a_program_of_bpf_schedules_is_known() {
        let is_one = |flags: u32| {
            let bytes = record([1; 18], [7, 1, 0, flags, 1, 0, 0, 1], &[(30, 9, 0, "batch")]);
            parse(&bytes, &mut InterruptNames::default()).unwrap().bpf_scheduled
        };
        assert_eq!((is_one(BY_TIMER), is_one(BY_TIMER | BPF_SCHEDULED)), (false, true));
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
        let sleep = parse(&bytes, &mut InterruptNames::default()).unwrap();
        let at = MonotonicTime::from_nanos;
        assert_eq!(
            (sleep.tid, sleep.cpu, sleep.asleep_since, sleep.switched_in),
            (7, 1, Some(at(100)), Some(at(1_200)))
        );
        let WakeSource::Timer(expiry) = &sleep.woken_by else { panic!("{sleep:?}") };
        assert_eq!(
            (expiry.soft, expiry.hard, expiry.interrupted.holder),
            (at(1_000), at(1_050), HolderKind::Idle)
        );
        assert_eq!(
            (sleep.first_fault, sleep.asleep_again, sleep.unnamed),
            (None, Some(at(1_300)), Span::from_nanos(5))
        );
        assert_eq!((sleep.migrated, sleep.throttled, sleep.called), (true, false, Some(at(1_180))));
        let lost = sleep.lost.iter().map(|lost| (lost.from, lost.until, lost.to.name.as_str(), lost.merged));
        let expected =
            [(1_250, 1_253, "thief", true), (1_253, 1_255, "NET_RX", true), (1_255, 1_256, "", false)];
        let expected = expected.map(|(from, until, name, merged)| (at(from), at(until), name, merged));
        assert_eq!(lost.collect::<Vec<_>>(), expected, "nobody knows in which order");
        assert_eq!((sleep.next_timer, sleep.stolen), (Some(at(1_140)), Some(Span::from_nanos(30))));
        let names: Vec<_> = sleep
            .occupants
            .iter()
            .map(|occupant| (occupant.who.holder, occupant.who.name.as_str()))
            .collect();
        assert_eq!(names, [(HolderKind::Thread, "hog"), (HolderKind::Softirq, "NET_RX")]);
        assert_eq!((expiry.deferred.as_ref(), expiry.idle_since), (None, Some(at(90))));
        assert_eq!(expiry.rearmed, Some(at(1_060)));
    }

    #[test]
    fn occupants_before_the_softirq_are_kept_apart() {
        let times =
            [100, 1_000, 1_050, 0, 1_480, 1_490, 1_495, 1_495, 1_600, 0, 1_700, 0, 1_100, 0, 0, 0, 0, 0];
        let numbers = [7, 1, 9, BY_TIMER, 1, 0, 0, 3];
        let waited = [(30, 15, 0, "ktimers/0"), (380, 9, BEFORE, "hog"), (10, 8, BEFORE | 2, "")];
        let sleep = parse(&record(times, numbers, &waited), &mut InterruptNames::default()).unwrap();
        let WakeSource::Timer(Expiry { deferred: Some(deferred), interrupt: None, .. }) = &sleep.woken_by
        else {
            panic!("{sleep:?}")
        };
        assert_eq!(
            (deferred.interrupt, deferred.interrupted.pid),
            (MonotonicTime::from_nanos(1_100), Some(9))
        );
        let names =
            |all: &[Occupant]| all.iter().map(|occupant| occupant.who.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&deferred.occupants), ["hog", "HRTIMER"]);
        assert_eq!(names(&sleep.occupants), ["ktimers/0"]);
    }

    #[test]
    fn a_server_thread_is_one_only_for_real_time_threads() {
        let holder = |flags: u32| {
            let bytes = record([1; 18], [7, 1, 0, flags, 1, 0, 0, 1], &[(30, 9, 5, "batch")]);
            let sleep = parse(&bytes, &mut InterruptNames::default()).unwrap();
            (sleep.occupants[0].who.holder, sleep.occupants[0].who.name.clone())
        };
        assert_eq!(holder(BY_TIMER | REAL_TIME_THREAD), (HolderKind::Server, "batch".to_owned()));
        assert_eq!(holder(BY_TIMER), (HolderKind::Thread, "batch".to_owned()));
    }

    #[test]
    fn real_time_threads_are_distinguished() {
        let bytes =
            record([1; 18], [7, 1, 0, BY_TIMER, 1, 0, 0, 2], &[(30, 9, 6, "audio"), (20, 8, 0, "cc1")]);
        let sleep = parse(&bytes, &mut InterruptNames::default()).unwrap();
        let holders: Vec<_> =
            sleep.occupants.iter().map(|occupant| (occupant.who.holder, occupant.who.pid)).collect();
        assert_eq!(holders, [(HolderKind::RealTimeThread, Some(9)), (HolderKind::Thread, Some(8))]);
    }

    #[test]
    fn a_stop_names_who_sent_it() {
        let numbers = [7, 1, 44, 0, 0x104, 0, 44, 0];
        let sleep = parse(&record([1; 18], numbers, &[]), &mut InterruptNames::default()).unwrap();
        let SleepState::Stopped(Some(who)) = sleep.asleep else { panic!() };
        assert_eq!((who.pid, who.name.as_str()), (Some(44), "stopper"));
        let WakeSource::Other(who) = sleep.woken_by else { panic!() };
        assert_eq!(who.name, "waker");
    }

    #[test]
    fn what_is_cut_short_is_no_record() {
        let bytes = record([1; 18], [7, 1, 0, 1, 1, 0, 0, 2], &[(30, 9, 0, "hog")]);
        assert_eq!(parse(&bytes, &mut InterruptNames::default()), None);
        assert_eq!(parse(&bytes[..50], &mut InterruptNames::default()), None);
    }
}
