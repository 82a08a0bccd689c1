//! Late waits as incidents: parts and causes, by the common decomposition.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use howlate_analyse::cause::decompose;
use howlate_model::{
    Cause, CauseKind, EventLoopStall, Incident, IncidentCause, IncidentKind, LateThread, LateWait,
    MonotonicTime, Part, RunningThread, Segment, Span, WakeSource, Wakeup, WakeupBreakdown,
};

use crate::thread_owner::{ThreadOwner, ThreadOwners};

/// Maximum parts; above, parts of one cause are merged.
const PARTS: usize = 32;
/// Maximum listed causes; the rest is one cause.
const CAUSES: usize = 12;
/// Maximum threads of one name listed separately; the sum of more is more useful.
const APART: usize = 3;

/// Incident of a wait that ended `at`, as date and time; `None`: nothing was seen of its parts.
pub(crate) fn incident(wait: &LateWait, at: String, owners: &mut ThreadOwners) -> Option<Incident> {
    let ran = wait.sleep.switched_in?;
    let wakeup = Wakeup { expected: ran.minus(wait.late), ran };
    let explained = decompose(wakeup, None, std::slice::from_ref(&wait.sleep), false)?.wakeup;
    let thread = late_thread(&wait.thread, ran, owners);
    let causes = causes_of(&explained.parts, wait.late, owners);
    let parts = few_parts(explained);
    let kind = match wait.sleep.woken_by {
        WakeSource::Timer(_) => IncidentKind::Timer,
        _ if wait.preempted => IncidentKind::Preempted,
        _ => IncidentKind::Woken,
    };
    let (latency, cpu) = (wait.late, wait.sleep.cpu);
    Some(Incident {
        at,
        at_ns: ran,
        latency,
        thread,
        kind,
        cpu,
        parts,
        causes,
        idle_cpu: wait.idle_cpu,
        late_above: None,
        timeline: None,
        turn: None,
        server: None,
    })
}

/// The thread, which ran `at` that time, with what is known of its process.
fn late_thread(thread: &RunningThread, at: MonotonicTime, owners: &mut ThreadOwners) -> LateThread {
    LateThread {
        name: thread.name.clone(),
        process: thread.process.clone(),
        pid: thread.pid,
        tid: thread.tid,
        command: owners.command(thread.tid, &thread.name, at),
        uid: thread.uid,
        group: owners.group(thread.cgroup, thread.pid, at),
        policy: thread.policy,
    }
}

/// Incident of an event loop that returned `at`, as date and time. Its time is its own work, blocking, and waiting
/// for a CPU; their order is unknown.
pub(crate) fn incident_away(away: &EventLoopStall, at: String, owners: &mut ThreadOwners) -> Incident {
    let spent = [
        (Part::Arming, CauseKind::LongWork, away.running),
        (Part::Blocked, CauseKind::Unexplained, away.blocked()),
        (Part::Waiting, CauseKind::Unexplained, away.ready),
    ];
    let (mut from, whole) = (away.from, away.length());
    let mut parts = Vec::new();
    for (part, kind, ns) in spent.into_iter().filter(|(.., ns)| !ns.is_zero()) {
        let pid = (kind == CauseKind::LongWork).then_some(away.thread.tid);
        let cause = Cause::new(part, kind, String::new());
        parts.push(Segment { merged: true, ..Segment::new(cause, pid, from, ns) });
        from = from.plus(ns);
    }
    let thread = late_thread(&away.thread, away.until, owners);
    Incident {
        at,
        at_ns: away.until,
        latency: whole,
        thread,
        kind: IncidentKind::EventLoop,
        cpu: away.cpu,
        causes: by_kind(&parts, whole),
        parts,
        idle_cpu: None,
        late_above: None,
        timeline: None,
        turn: None,
        server: None,
    }
}

/// The parts; of many, those of one cause merged.
pub(crate) fn few_parts(explained: WakeupBreakdown) -> Vec<Segment> {
    if explained.parts.len() <= PARTS {
        return explained.parts;
    }
    let merged = |(part, times): (Segment, usize)| Segment { merged: part.merged || times > 1, ..part };
    explained.by_cause().into_iter().map(merged).collect()
}

/// What the parts of `whole` are due to, the longest first.
pub(crate) fn causes_of(parts: &[Segment], whole: Span, owners: &mut ThreadOwners) -> Vec<IncidentCause> {
    causes(by_thread(parts, owners), whole)
}

/// Causes by kind, for parts without a culprit, the longest first.
pub(crate) fn by_kind(parts: &[Segment], whole: Span) -> Vec<IncidentCause> {
    let mut by_kind: BTreeMap<CauseKind, Span> = BTreeMap::new();
    for part in parts {
        let took = by_kind.entry(part.cause.kind).or_default();
        *took = took.plus(part.ns);
    }
    let mut causes: Vec<_> = by_kind.into_iter().map(|(kind, took)| nameless(kind, took, whole)).collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.took));
    causes
}

fn nameless(kind: CauseKind, took: Span, whole: Span) -> IncidentCause {
    let share = ratio(took.as_nanos(), whole.as_nanos().max(1));
    IncidentCause {
        kind,
        name: None,
        pid: None,
        process_id: None,
        process: None,
        command: None,
        is_recorder: false,
        policy: None,
        group: None,
        took,
        share,
    }
}

/// Time taken by a thread, and the thread's owner.
struct ThreadTime {
    part: Segment,
    owner: ThreadOwner,
}

/// Owner of the thread that had the CPU in a part of a wait, which ended at `until`.
fn owner_of(part: &Segment, until: MonotonicTime, owners: &mut ThreadOwners) -> ThreadOwner {
    let Some(tid) = part.pid else { return ThreadOwner::default() };
    // Of a merged part it is not known when it was.
    let at = if part.merged { until } else { part.from };
    let owner = owners.of_seen_thread(tid, &part.cause.name, at);
    // Another policy than it had then is a new one.
    let policy = owner.policy.filter(|policy| policy.is_realtime() == part.cause.real_time);
    ThreadOwner { policy, ..owner }
}

/// Sums of the parts by cause and thread. Many threads of one name are summed by program.
///
/// A wait of a second on a busy machine has thousands of parts, of thousands of threads if some
/// are restarted again and again.
fn by_thread(parts: &[Segment], owners: &mut ThreadOwners) -> Vec<ThreadTime> {
    let until = parts.last().map_or(MonotonicTime::default(), |last| last.from.plus(last.ns));
    let (mut all, mut places): (Vec<Segment>, HashMap<_, usize>) = Default::default();
    for part in parts {
        match places.entry((&part.cause, part.pid)) {
            Entry::Occupied(place) => {
                let segment = &mut all[*place.get()];
                segment.ns = segment.ns.plus(part.ns);
            }
            Entry::Vacant(place) => {
                place.insert(all.len());
                all.push(part.clone());
            }
        }
    }
    let mut threads: HashMap<&Cause, usize> = HashMap::new();
    places.keys().for_each(|(cause, _)| *threads.entry(cause).or_default() += 1);
    let (mut sums, mut places): (Vec<ThreadTime>, HashMap<_, usize>) = Default::default();
    for segment in &all {
        let owner = owner_of(segment, until, owners);
        let has_many_threads = threads.get(&segment.cause).is_some_and(|threads| *threads > APART);
        let pid = segment.pid.filter(|_| !has_many_threads);
        // Equal process name and script mean one program.
        match places.entry((&segment.cause, pid, owner.process.clone(), owner.command.clone())) {
            Entry::Occupied(place) => {
                let sum = &mut sums[*place.get()];
                sum.part.ns = sum.part.ns.plus(segment.ns);
                sum.owner.keep_common(&owner);
            }
            Entry::Vacant(place) => {
                place.insert(sums.len());
                sums.push(ThreadTime { part: Segment { pid, ..segment.clone() }, owner });
            }
        }
    }
    sums
}

/// Causes of the wait, the longest first.
fn causes(mut thread_times: Vec<ThreadTime>, late: Span) -> Vec<IncidentCause> {
    thread_times.sort_by_key(|thread_time| std::cmp::Reverse(thread_time.part.ns));
    let rest_of_causes = thread_times.split_off(thread_times.len().min(CAUSES));
    let mut causes: Vec<IncidentCause> =
        thread_times.into_iter().map(|thread_time| thread_time.cause(late)).collect();
    let rest: u64 = rest_of_causes.iter().map(|thread_time| thread_time.part.ns.as_nanos()).sum();
    if rest > 0 {
        causes.push(nameless(CauseKind::Others, Span::from_nanos(rest), late));
    }
    causes
}

impl ThreadTime {
    fn cause(self, late: Span) -> IncidentCause {
        let Self { part, owner } = self;
        let name = Some(part.cause.name).filter(|name| !name.is_empty());
        let group = if part.cause.kind == CauseKind::Throttled { name.clone() } else { owner.group };
        IncidentCause {
            kind: part.cause.kind,
            name,
            pid: part.pid,
            process_id: owner.pid,
            process: owner.process,
            command: owner.command,
            is_recorder: owner.pid == Some(std::process::id()),
            policy: owner.policy,
            group,
            took: part.ns,
            share: ratio(part.ns.as_nanos(), late.as_nanos().max(1)),
        }
    }
}

/// Rounded to four digits, to keep lines short.
#[allow(clippy::cast_precision_loss, reason = "of a share, four digits are kept")]
fn ratio(part: u64, whole: u64) -> f64 {
    (part as f64 / whole as f64 * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use howlate_model::{CpuHolder, Expiry, HolderKind, MonotonicTime, Occupant, TracedSleep, WakeSource};
    use howlate_procfs::Root;

    use super::*;

    fn worker() -> RunningThread {
        let (name, process) = ("worker".into(), "server".into());
        RunningThread { tid: 7, pid: 6, uid: 5, cgroup: 0, name, process, policy: None }
    }

    /// A wait from 1000 ns on, with the occupants of the CPU and their times.
    fn waited(occupants: &[(HolderKind, &str, u32, u64)]) -> LateWait {
        let whole: u64 = occupants.iter().map(|(.., ns)| ns).sum();
        let mut from = MonotonicTime::from_nanos(1_000);
        let mut occupant = |(holder, name, pid, ns): &(HolderKind, &str, u32, u64)| {
            let pid = (*pid > 0).then_some(*pid);
            let who = CpuHolder { holder: *holder, pid, name: (*name).to_owned() };
            let occupant_of_cpu = Occupant { who, ns: Span::from_nanos(*ns), from: Some(from) };
            from = from.plus(occupant_of_cpu.ns);
            occupant_of_cpu
        };
        let occupants = occupants.iter().map(&mut occupant).collect();
        let by = WakeSource::NotSeen { slack: Span::ZERO, runnable_known: true };
        let sleep = TracedSleep {
            occupants,
            switched_in: Some(from),
            cpu: 3,
            ..TracedSleep::new(7, MonotonicTime::from_nanos(1_000), by)
        };
        LateWait { sleep, late: Span::from_nanos(whole), thread: worker(), preempted: true, idle_cpu: None }
    }

    fn incident_of(wait: &LateWait) -> Incident {
        let folder = tempfile::tempdir().unwrap();
        howlate_testing::write_below(folder.path(), "proc/9/status", "Name:\thog\nTgid:\t8\n");
        howlate_testing::write_below(folder.path(), "proc/9/comm", "hog");
        howlate_testing::write_below(folder.path(), "proc/8/comm", "python3");
        howlate_testing::write_below(folder.path(), "proc/8/cmdline", "python3\0batch.py\0--quick\0");
        let fields = ["0"; 36].join(" ");
        howlate_testing::write_below(folder.path(), "proc/9/stat", &format!("9 (hog) R {fields} 50 1 0"));
        howlate_testing::write_below(folder.path(), "proc/9/cgroup", "0::/system.slice/batch.service\n");
        incident(wait, "then".into(), &mut ThreadOwners::new(Root::at(folder.path()))).unwrap()
    }

    #[test]
    fn who_had_the_cpu_is_the_cause_with_process_and_group() {
        let hog = |ns| (HolderKind::RealTimeThread, "hog", 9, ns);
        let ours = [hog(700_000), (HolderKind::Softirq, "NET_RX", 0, 200_000), hog(100_000)];
        let found = incident_of(&waited(&ours));
        assert_eq!(
            (found.latency, found.cpu, found.kind),
            (Span::from_millis(1), 3, IncidentKind::Preempted)
        );
        let parts: Vec<u64> = found.parts.iter().map(|part| part.ns.as_nanos()).collect();
        assert_eq!(parts, [700_000, 200_000, 100_000], "in their order, without a gap");
        let [hog, softirq] = &found.causes[..] else { panic!("{found:?}") };
        assert_eq!((hog.kind, hog.name.as_deref(), hog.pid), (CauseKind::Thread, Some("hog"), Some(9)));
        assert_eq!((hog.process.as_deref(), hog.process_id), (Some("python3"), Some(8)));
        assert_eq!((hog.command.as_deref(), hog.is_recorder), (Some("batch.py"), false));
        assert_eq!(hog.policy.map(|policy| policy.to_string()).as_deref(), Some("fifo:50"));
        assert_eq!(hog.group.as_deref(), Some("/system.slice/batch.service"));
        assert!((hog.share - 0.8).abs() < 1e-9 && hog.took == Span::from_micros(800), "{hog:?}");
        assert_eq!((softirq.kind, softirq.process.as_deref()), (CauseKind::Softirq, None));
        let ordinary = incident_of(&waited(&[(HolderKind::Thread, "hog", 9, 700_000)]));
        assert_eq!(ordinary.causes[0].policy, None, "it had no real-time priority then");
    }

    #[test]
    fn an_event_loop_was_at_work_blocked_and_without_a_cpu() {
        let at = MonotonicTime::from_nanos;
        let (running, ready) = (Span::from_nanos(500), Span::from_nanos(100));
        let (from, until) = (at(1_000), at(2_000));
        let away = EventLoopStall { thread: worker(), from, until, running, ready, cpu: 3 };
        let found = incident_away(&away, "then".into(), &mut ThreadOwners::new(Root::at("/nonexistent")));
        let parts: Vec<_> = found
            .parts
            .iter()
            .map(|part| (part.cause.part, part.from.as_nanos(), part.ns.as_nanos()))
            .collect();
        assert_eq!(
            parts,
            [(Part::Arming, 1_000, 500), (Part::Blocked, 1_500, 400), (Part::Waiting, 1_900, 100)]
        );
        let causes: Vec<_> = found.causes.iter().map(|cause| (cause.kind, cause.took.as_nanos())).collect();
        assert_eq!(causes, [(CauseKind::LongWork, 500), (CauseKind::Unexplained, 500)]);
        assert_eq!(
            (found.latency, found.at_ns, found.kind),
            (Span::from_nanos(1_000), at(2_000), IncidentKind::EventLoop)
        );
    }

    /// A wait from 1000 ns on, after a timer due at 400.
    #[test]
    fn what_its_timer_was_late_is_a_part_of_it() {
        let at = MonotonicTime::from_nanos;
        let mut wait = waited(&[(HolderKind::Thread, "hog", 9, 700_000)]);
        let interrupted = CpuHolder { holder: HolderKind::Idle, pid: None, name: String::new() };
        let (first_served, served) = (at(950), at(970));
        wait.sleep.woken_by = WakeSource::Timer(Expiry {
            soft: at(400),
            hard: at(400),
            interrupt: Some(at(900)),
            interrupted,
            idle_since: None,
            rearmed: None,
            first_served,
            served,
            deferred: None,
        });
        (wait.sleep.waking, wait.late, wait.preempted) = (served, Span::from_nanos(700_600), false);
        let found = incident_of(&wait);
        assert_eq!((found.kind, found.latency), (IncidentKind::Timer, Span::from_nanos(700_600)));
        let parts: Vec<_> = found.parts.iter().map(|part| (part.cause.kind, part.ns.as_nanos())).collect();
        let expected = [
            (CauseKind::IdleExit, 500),
            (CauseKind::Kernel, 50),
            (CauseKind::OtherTimers, 20),
            (CauseKind::Kernel, 30),
            (CauseKind::Thread, 700_000),
        ];
        assert_eq!(parts, expected);
    }

    #[test]
    fn few_threads_of_one_name_are_told_apart() {
        let causes_of = |threads: u32| {
            let all: Vec<_> = (1..=threads)
                .map(|pid| (HolderKind::Thread, "burner", 100 + pid, 1_000 * u64::from(pid)))
                .collect();
            incident_of(&waited(&all))
                .causes
                .iter()
                .map(|cause| (cause.pid, cause.took.as_nanos()))
                .collect::<Vec<_>>()
        };
        assert_eq!(causes_of(2), [(Some(102), 2_000), (Some(101), 1_000)]);
        assert_eq!(causes_of(4), [(None, 10_000)]);
    }

    #[test]
    fn of_many_threads_of_one_name_those_of_a_program_are_together() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: String, text: &str| howlate_testing::write_below(folder.path(), &file, text);
        for (process, script) in [(50, "svc.py"), (60, "svc.py"), (70, "job.py")] {
            write(format!("proc/{process}/comm"), "python3");
            write(format!("proc/{process}/cmdline"), &format!("python3\0{script}\0"));
            (0..2).for_each(|thread| {
                write(
                    format!("proc/{}/status", process + thread),
                    &format!("Name:\tspin\nTgid:\t{process}\n"),
                );
            });
        }
        let of = |all: &[u32]| {
            let all: Vec<_> = all.iter().map(|tid| (HolderKind::Thread, "spin", *tid, 1_000)).collect();
            let found =
                incident(&waited(&all), "then".into(), &mut ThreadOwners::new(Root::at(folder.path())))
                    .unwrap();
            let fields = |cause: &IncidentCause| {
                (cause.command.clone().unwrap(), cause.process_id, cause.took.as_nanos())
            };
            found.causes.iter().map(fields).collect::<Vec<_>>()
        };
        let (service, job) = (|id, ns| ("svc.py".to_owned(), id, ns), ("job.py".to_owned(), Some(70), 2_000));
        assert_eq!(of(&[50, 51, 60, 61, 70, 71]), [service(None, 4_000), job.clone()]);
        assert_eq!(of(&[50, 51, 70, 71]), [service(Some(50), 2_000), job]);
    }

    #[test]
    fn many_stretches_are_joined_by_cause_and_add_up() {
        let two = [(HolderKind::Thread, "a", 1, 1_000), (HolderKind::Thread, "b", 2, 2_000)];
        let found = incident_of(&waited(&two.repeat(200)));
        assert_eq!(found.parts.len(), 2);
        assert_eq!(found.parts.iter().map(|part| part.ns.as_nanos()).sum::<u64>(), 600_000);
        assert!(found.parts.iter().all(|part| part.merged), "where each stretch was is not known");
    }

    #[test]
    fn of_many_causes_the_small_ones_are_one() {
        let names: Vec<String> = (0..30).map(|number| format!("thread {number}")).collect();
        let all: Vec<_> = names
            .iter()
            .zip(1..)
            .map(|(name, ns)| (HolderKind::Thread, name.as_str(), 100, ns * 1_000))
            .collect();
        let found = incident_of(&waited(&all));
        assert_eq!(found.causes.len(), CAUSES + 1);
        assert_eq!(found.causes[CAUSES].kind, CauseKind::Others);
        let whole: u64 = found.causes.iter().map(|cause| cause.took.as_nanos()).sum();
        assert_eq!(whole, found.latency.as_nanos());
    }
}
