//! What is new in a record: the kernel's side counts from the first sight of a thread.

use std::collections::HashMap;

use howlate_model::{OngoingWait, ReasonWaits, Span, ThreadWaits, Waits};

use super::record::{Pending, Reason, Record, Rival, Sum};

/// What was known of each thread when it was last read.
#[derive(Debug, Default)]
pub(super) struct Earlier(HashMap<u32, Record>);

impl Earlier {
    /// What is new, and known from now on. A thread that has ended is forgotten.
    pub(super) fn since(&mut self, record: Record) -> ThreadWaits {
        // A thread's number is another's when it has ended.
        let known = self.0.get(&record.tid).filter(|known| known.since == record.since);
        let new = news(&record, known);
        match record.ended {
            true => drop(self.0.remove(&record.tid)),
            false => drop(self.0.insert(record.tid, record)),
        }
        new
    }

    /// Only threads that were read at `now` or later are there still.
    pub(super) fn forget_before(&mut self, now: u64) {
        self.0.retain(|_, record| record.now >= now);
    }
}

fn news(record: &Record, known: Option<&Record>) -> ThreadWaits {
    let from = known.map_or(record.since, |known| known.now);
    let before = |place: usize| known.and_then(|known| known.reasons.get(place));
    let reasons = record.reasons.iter().enumerate().filter_map(|(place, one)| reason(one, before(place)));
    let earlier = |place: usize| known.and_then(|known| known.rivals.get(place));
    let rivals = record.rivals.iter().enumerate().filter_map(|(place, one)| rival(one, earlier(place)));
    let more_rivals = record.more_rivals - known.map_or(0, |known| known.more_rivals.min(record.more_rivals));
    ThreadWaits {
        tid: record.tid,
        pid: record.pid,
        name: record.name.clone(),
        process: record.process.clone(),
        of_kernel: record.of_kernel,
        ended: record.ended,
        seen: Span::from_nanos(record.now.saturating_sub(from)),
        cpu: waits(record.cpu, known.map(|known| known.cpu)),
        rivals: rivals.collect(),
        more_rivals: Span::from_nanos(more_rivals),
        reasons: reasons.collect(),
        more_reasons: waits(record.more_reasons, known.map(|known| known.more_reasons)),
        ongoing: match record.pending {
            Pending::None => None,
            Pending::Cpu(lasts) => Some(OngoingWait { stack: None, lasts }),
            Pending::At(stack, lasts) => Some(OngoingWait { stack: Some(stack), lasts }),
        },
    }
}

fn waits(now: Sum, known: Option<Sum>) -> Waits {
    let known = known.unwrap_or_default();
    Waits {
        time: Span::from_nanos(now.ns.saturating_sub(known.ns)),
        count: now.count.saturating_sub(known.count),
        longest: Span::from_nanos(now.longest),
    }
}

/// A place that is another reason's now begins anew.
fn reason(now: &Reason, known: Option<&Reason>) -> Option<ReasonWaits> {
    let known = known.filter(|known| known.stack == now.stack && known.sum.count <= now.sum.count);
    let waits = waits(now.sum, known.map(|known| known.sum));
    let looked_at = now.looked_at.saturating_sub(known.map_or(0, |known| known.looked_at));
    (waits.count > 0).then_some(ReasonWaits { stack: now.stack, waits, sampled: looked_at })
}

fn rival(now: &Rival, known: Option<&Rival>) -> Option<howlate_model::CompetingProcess> {
    let known = known.filter(|known| known.pid == now.pid && known.ns <= now.ns).map_or(0, |known| known.ns);
    let time = Span::from_nanos(now.ns - known);
    (!time.is_zero()).then_some(howlate_model::CompetingProcess { pid: now.pid, time })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(now: u64, cpu: (u64, u64), reasons: &[(u64, u64, u64)]) -> Record {
        let sum = |(ns, count): (u64, u64)| Sum { ns, count, longest: ns };
        let reason =
            |&(stack, ns, count): &(u64, u64, u64)| Reason { stack, sum: sum((ns, count)), looked_at: count };
        Record {
            since: 100,
            now,
            tid: 7,
            pid: 7,
            of_kernel: false,
            ended: false,
            name: "loop".into(),
            process: "loop".into(),
            pending: Pending::None,
            cpu: sum(cpu),
            rivals: vec![Rival { pid: 9, ns: cpu.0 }],
            more_rivals: 0,
            more_reasons: Sum::default(),
            reasons: reasons.iter().map(reason).collect(),
        }
    }

    #[test]
    fn what_is_new_is_the_difference() {
        let mut earlier = Earlier::default();
        let first = earlier.since(record(600, (40, 4), &[(11, 300, 3)]));
        assert_eq!(
            (first.seen, first.cpu.count, first.reasons[0].waits.count),
            (Span::from_nanos(500), 4, 3)
        );
        let second = earlier.since(record(1_000, (50, 5), &[(11, 300, 3), (12, 70, 1)]));
        assert_eq!((second.seen, second.cpu.time), (Span::from_nanos(400), Span::from_nanos(10)));
        assert_eq!(second.rivals, [howlate_model::CompetingProcess { pid: 9, time: Span::from_nanos(10) }]);
        let stacks: Vec<u64> = second.reasons.iter().map(|one| one.stack).collect();
        assert_eq!(stacks, [12], "nothing new came to the other");
    }

    #[test]
    fn a_place_that_became_anothers_begins_anew() {
        let mut earlier = Earlier::default();
        earlier.since(record(600, (0, 0), &[(11, 300, 3)]));
        let second = earlier.since(record(1_000, (0, 0), &[(12, 400, 4)]));
        assert_eq!(second.reasons[0].waits.count, 4);
    }

    #[test]
    fn a_number_that_became_another_threads_begins_anew() {
        let mut earlier = Earlier::default();
        let mut ended = record(600, (40, 4), &[]);
        ended.ended = true;
        assert_eq!(earlier.since(ended).cpu.count, 4);
        assert_eq!(earlier.since(record(700, (41, 4), &[])).cpu.count, 4);
        let mut other = record(900, (50, 5), &[]);
        other.since = 800;
        assert_eq!(earlier.since(other).seen, Span::from_nanos(100));
        earlier.forget_before(901);
        assert_eq!(earlier.0.len(), 0);
    }
}
