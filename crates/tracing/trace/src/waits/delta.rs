//! Differences between two readings: the BPF side counts from the first event of a thread on.

use std::collections::HashMap;

use howlate_model::{OngoingWait, ReasonWaits, Span, ThreadWaits, Waits};

use super::record::{PendingWait, ReasonRecord, RivalRecord, WaitRecord, WaitSum};

/// The last record of each thread.
#[derive(Debug, Default)]
pub(super) struct LastRecords(HashMap<u32, WaitRecord>);

impl LastRecords {
    /// Waits since the last record of the thread, which this one replaces. An ended thread is removed.
    pub(super) fn new_waits(&mut self, record: WaitRecord) -> ThreadWaits {
        // The id of an ended thread may be reused.
        let last = self.0.get(&record.tid).filter(|last| last.since == record.since);
        let waits = difference(&record, last);
        match record.ended {
            true => drop(self.0.remove(&record.tid)),
            false => drop(self.0.insert(record.tid, record)),
        }
        waits
    }

    /// Removes threads that were not read at `now` or later: they have ended.
    pub(super) fn forget_before(&mut self, now: u64) {
        self.0.retain(|_, record| record.now >= now);
    }
}

fn difference(record: &WaitRecord, last: Option<&WaitRecord>) -> ThreadWaits {
    let from = last.map_or(record.since, |last| last.now);
    let before = |index: usize| last.and_then(|last| last.reasons.get(index));
    let reasons = record
        .reasons
        .iter()
        .enumerate()
        .filter_map(|(index, reason_record)| reason(reason_record, before(index)));
    let last_rival = |index: usize| last.and_then(|last| last.rivals.get(index));
    let rivals = record
        .rivals
        .iter()
        .enumerate()
        .filter_map(|(index, rival_record)| rival(rival_record, last_rival(index)));
    let more_rivals = record.more_rivals - last.map_or(0, |last| last.more_rivals.min(record.more_rivals));
    ThreadWaits {
        tid: record.tid,
        pid: record.pid,
        name: record.name.clone(),
        process: record.process.clone(),
        of_kernel: record.of_kernel,
        ended: record.ended,
        seen: Span::from_nanos(record.now.saturating_sub(from)),
        cpu: waits(record.cpu, last.map(|last| last.cpu)),
        rivals: rivals.collect(),
        more_rivals: Span::from_nanos(more_rivals),
        reasons: reasons.collect(),
        more_reasons: waits(record.more_reasons, last.map(|last| last.more_reasons)),
        ongoing: match record.pending {
            PendingWait::None => None,
            PendingWait::Cpu(lasts) => Some(OngoingWait { stack: None, lasts }),
            PendingWait::At(stack, lasts) => Some(OngoingWait { stack: Some(stack), lasts }),
        },
    }
}

fn waits(now: WaitSum, last: Option<WaitSum>) -> Waits {
    let last = last.unwrap_or_default();
    Waits {
        time: Span::from_nanos(now.ns.saturating_sub(last.ns)),
        count: now.count.saturating_sub(last.count),
        longest: Span::from_nanos(now.longest),
    }
}

/// A place that a new reason has reused starts at 0.
fn reason(now: &ReasonRecord, last: Option<&ReasonRecord>) -> Option<ReasonWaits> {
    let last = last.filter(|last| last.stack == now.stack && last.sum.count <= now.sum.count);
    let waits = waits(now.sum, last.map(|last| last.sum));
    let looked_at = now.looked_at.saturating_sub(last.map_or(0, |last| last.looked_at));
    (waits.count > 0).then_some(ReasonWaits { stack: now.stack, waits, sampled: looked_at })
}

fn rival(now: &RivalRecord, last: Option<&RivalRecord>) -> Option<howlate_model::CompetingProcess> {
    let last = last.filter(|last| last.pid == now.pid && last.ns <= now.ns).map_or(0, |last| last.ns);
    let time = Span::from_nanos(now.ns - last);
    (!time.is_zero()).then_some(howlate_model::CompetingProcess { pid: now.pid, time })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(now: u64, cpu: (u64, u64), reasons: &[(u64, u64, u64)]) -> WaitRecord {
        let sum = |(ns, count): (u64, u64)| WaitSum { ns, count, longest: ns };
        let reason = |&(stack, ns, count): &(u64, u64, u64)| ReasonRecord {
            stack,
            sum: sum((ns, count)),
            looked_at: count,
        };
        WaitRecord {
            since: 100,
            now,
            tid: 7,
            pid: 7,
            of_kernel: false,
            ended: false,
            name: "loop".into(),
            process: "loop".into(),
            pending: PendingWait::None,
            cpu: sum(cpu),
            rivals: vec![RivalRecord { pid: 9, ns: cpu.0 }],
            more_rivals: 0,
            more_reasons: WaitSum::default(),
            reasons: reasons.iter().map(reason).collect(),
        }
    }

    #[test]
    fn new_waits_are_the_difference() {
        let mut last_records = LastRecords::default();
        let first = last_records.new_waits(record(600, (40, 4), &[(11, 300, 3)]));
        assert_eq!(
            (first.seen, first.cpu.count, first.reasons[0].waits.count),
            (Span::from_nanos(500), 4, 3)
        );
        let second = last_records.new_waits(record(1_000, (50, 5), &[(11, 300, 3), (12, 70, 1)]));
        assert_eq!((second.seen, second.cpu.time), (Span::from_nanos(400), Span::from_nanos(10)));
        assert_eq!(second.rivals, [howlate_model::CompetingProcess { pid: 9, time: Span::from_nanos(10) }]);
        let stacks: Vec<u64> = second.reasons.iter().map(|reason| reason.stack).collect();
        assert_eq!(stacks, [12], "nothing new came to the other");
    }

    #[test]
    fn a_reused_place_starts_at_0() {
        let mut last_records = LastRecords::default();
        last_records.new_waits(record(600, (0, 0), &[(11, 300, 3)]));
        let second = last_records.new_waits(record(1_000, (0, 0), &[(12, 400, 4)]));
        assert_eq!(second.reasons[0].waits.count, 4);
    }

    #[test]
    fn a_reused_thread_id_starts_at_0() {
        let mut last_records = LastRecords::default();
        let mut ended = record(600, (40, 4), &[]);
        ended.ended = true;
        assert_eq!(last_records.new_waits(ended).cpu.count, 4);
        assert_eq!(last_records.new_waits(record(700, (41, 4), &[])).cpu.count, 4);
        let mut other = record(900, (50, 5), &[]);
        other.since = 800;
        assert_eq!(last_records.new_waits(other).seen, Span::from_nanos(100));
        last_records.forget_before(901);
        assert_eq!(last_records.0.len(), 0);
    }
}
