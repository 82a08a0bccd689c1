//! A late wait, as it is kept: its parts and causes, by the same decomposition as everywhere.

use howlate_analyse::cause::decompose;
use howlate_model::{
    CauseKind, Explained, Incident, IncidentCause, IncidentKind, LateThread, LateWait, Segment, Wakeup,
};

use crate::thread_owner::Origins;

/// Of more parts than these, those of one cause are joined.
const PARTS: usize = 24;
/// Causes that are listed; what others took is one of them.
const CAUSES: usize = 12;

/// What is kept of a wait that ended `at`, as date and time. `None`: nothing was seen to split it by.
pub(crate) fn incident(wait: &LateWait, at: String, origins: &mut Origins) -> Option<Incident> {
    let ran = wait.sleep.switched_in?;
    let wakeup = Wakeup { expected: wait.sleep.waking, ran };
    let explained = decompose(wakeup, None, std::slice::from_ref(&wait.sleep), false)?.wakeup;
    let joined = |(part, times): (Segment, usize)| Segment { merged: part.merged || times > 1, ..part };
    let by_cause: Vec<Segment> = explained.by_cause().into_iter().map(joined).collect();
    let thread = LateThread {
        name: wait.name.clone(),
        process: wait.process.clone(),
        pid: wait.pid,
        tid: wait.sleep.tid,
        uid: wait.uid,
        group: origins.group(wait.cgroup, wait.pid),
        policy: wait.policy,
    };
    let causes = causes(&by_cause, wait, origins);
    let parts = parts(explained, by_cause);
    let kind = if wait.preempted { IncidentKind::Preempted } else { IncidentKind::Woken };
    let (latency, cpu) = (wait.waited, wait.sleep.cpu);
    Some(Incident {
        at,
        at_ns: ran,
        latency,
        thread,
        kind,
        cpu,
        parts,
        causes,
        late_above: None,
        timeline: None,
    })
}

fn parts(explained: Explained, by_cause: Vec<Segment>) -> Vec<Segment> {
    if explained.parts.len() <= PARTS { explained.parts } else { by_cause }
}

/// Who took the time, the longest first.
fn causes(by_cause: &[Segment], wait: &LateWait, origins: &mut Origins) -> Vec<IncidentCause> {
    let mut parts: Vec<&Segment> = by_cause.iter().collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.ns));
    let whole = wait.waited.as_nanos().max(1);
    let share = |ns: u64| ratio(ns, whole);
    let (named, others) = parts.split_at(parts.len().min(CAUSES));
    let mut causes: Vec<IncidentCause> = named
        .iter()
        .map(|part| {
            let origin = part.pid.and_then(|tid| origins.of_thread(tid));
            let is_group = part.cause.kind == CauseKind::Throttled;
            let name = Some(part.cause.name.clone()).filter(|name| !name.is_empty());
            let group =
                if is_group { name.clone() } else { origin.as_ref().and_then(|one| one.group.clone()) };
            IncidentCause {
                kind: part.cause.kind,
                name,
                pid: part.pid,
                policy: origin.as_ref().and_then(|one| one.policy),
                process: origin.map(|one| one.process),
                group,
                took: part.ns,
                share: share(part.ns.as_nanos()),
            }
        })
        .collect();
    let rest: u64 = others.iter().map(|part| part.ns.as_nanos()).sum();
    if rest > 0 {
        let took = howlate_model::Span::from_nanos(rest);
        let (name, pid, process, policy, group) = (None, None, None, None, None);
        let kind = CauseKind::Others;
        causes.push(IncidentCause { kind, name, pid, process, policy, group, took, share: share(rest) });
    }
    causes
}

/// To four digits: more would only be longer.
#[allow(clippy::cast_precision_loss, reason = "of a share, four digits are kept")]
fn ratio(part: u64, whole: u64) -> f64 {
    (part as f64 / whole as f64 * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use howlate_model::{Holder, MonotonicTime, Occupant, Span, TracedSleep, Who, WokenBy};
    use howlate_procfs::Root;

    use super::*;

    /// Waited from 1000 on; each had the CPU for so long.
    fn waited(occupants: &[(Holder, &str, u32, u64)]) -> LateWait {
        let whole: u64 = occupants.iter().map(|(.., ns)| ns).sum();
        let mut from = MonotonicTime::from_nanos(1_000);
        let mut occupant = |(holder, name, pid, ns): &(Holder, &str, u32, u64)| {
            let pid = (*pid > 0).then_some(*pid);
            let who = Who { holder: *holder, pid, name: (*name).to_owned() };
            let one = Occupant { who, ns: Span::from_nanos(*ns), from: Some(from) };
            from = from.plus(one.ns);
            one
        };
        let occupants = occupants.iter().map(&mut occupant).collect();
        let by = WokenBy::NotSeen { slack: Span::ZERO, runnable_known: true };
        let sleep = TracedSleep {
            occupants,
            switched_in: Some(from),
            cpu: 3,
            ..TracedSleep::woken(7, MonotonicTime::from_nanos(1_000), by)
        };
        LateWait {
            sleep,
            waited: Span::from_nanos(whole),
            pid: 6,
            name: "worker".into(),
            process: "server".into(),
            uid: 5,
            cgroup: 0,
            policy: None,
            preempted: true,
        }
    }

    fn told(wait: &LateWait) -> Incident {
        let folder = tempfile::tempdir().unwrap();
        howlate_testing::write_below(folder.path(), "proc/9/status", "Name:\thog\nTgid:\t8\n");
        howlate_testing::write_below(folder.path(), "proc/8/comm", "batch");
        let fields = ["0"; 36].join(" ");
        howlate_testing::write_below(folder.path(), "proc/9/stat", &format!("9 (hog) R {fields} 50 1 0"));
        howlate_testing::write_below(folder.path(), "proc/9/cgroup", "0::/system.slice/batch.service\n");
        incident(wait, "then".into(), &mut Origins::new(Root::at(folder.path()))).unwrap()
    }

    #[test]
    fn who_had_the_cpu_is_the_cause_with_process_and_group() {
        let ours = [(Holder::Thread, "hog", 9, 700_000), (Holder::Softirq, "NET_RX", 0, 200_000)];
        let found = told(&waited(&[&ours[..], &[(Holder::Thread, "hog", 9, 100_000)]].concat()));
        assert_eq!(
            (found.latency, found.cpu, found.kind),
            (Span::from_millis(1), 3, IncidentKind::Preempted)
        );
        let parts: Vec<u64> = found.parts.iter().map(|part| part.ns.as_nanos()).collect();
        assert_eq!(parts, [700_000, 200_000, 100_000], "in their order, without a gap");
        let [hog, softirq] = &found.causes[..] else { panic!("{found:?}") };
        assert_eq!((hog.kind, hog.name.as_deref(), hog.pid), (CauseKind::Thread, Some("hog"), Some(9)));
        assert_eq!(hog.process.as_deref(), Some("batch"));
        assert_eq!(hog.policy.map(|policy| policy.to_string()).as_deref(), Some("fifo:50"));
        assert_eq!(hog.group.as_deref(), Some("/system.slice/batch.service"));
        assert!((hog.share - 0.8).abs() < 1e-9 && hog.took == Span::from_micros(800), "{hog:?}");
        assert_eq!((softirq.kind, softirq.process.as_deref()), (CauseKind::Softirq, None));
    }

    #[test]
    fn many_stretches_are_joined_by_cause_and_add_up() {
        let two = [(Holder::Thread, "a", 1, 1_000), (Holder::Thread, "b", 2, 2_000)];
        let found = told(&waited(&two.repeat(200)));
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
            .map(|(name, ns)| (Holder::Thread, name.as_str(), 100, ns * 1_000))
            .collect();
        let found = told(&waited(&all));
        assert_eq!(found.causes.len(), CAUSES + 1);
        assert_eq!(found.causes[CAUSES].kind, CauseKind::Others);
        let whole: u64 = found.causes.iter().map(|one| one.took.as_nanos()).sum();
        assert_eq!(whole, found.latency.as_nanos());
    }
}
