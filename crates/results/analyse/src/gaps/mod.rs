//! Gaps of spinning threads joined with the kernel's events: what had the CPUs meanwhile.

mod cpu_state;
mod split;
mod stalls;
mod tally;

use std::collections::BTreeMap;

use howlate_model::{
    CpuChange, CpuEvent, CpuGap, CpuSet, GapCause, GapKind, MonotonicTime, Policy, Span, SpinCount,
    TracerRefusal,
};

pub use split::GapPart;
pub use stalls::Stall;
pub use tally::{CpuGaps, ExplainedGap, GapAccount, GapShare};

use cpu_state::droppable_before;
use split::split;
use stalls::Overlaps;
use tally::{GapTally, WORST};

/// Intervals in which all measured CPUs stood still at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Number of stalls.
    pub count: u64,
    /// Their sum.
    pub total: Span,
    /// The longest ones, the longest first.
    pub worst: Vec<Stall>,
}

impl Stalls {
    fn add(&mut self, stall: Stall) {
        (self.count, self.total) = (self.count + 1, self.total.plus(stall.length));
        let place = self.worst.partition_point(|other| other.length >= stall.length);
        if place < WORST {
            self.worst.insert(place, stall);
            self.worst.truncate(WORST);
        }
    }
}

/// The result of a whole run.
#[derive(Clone, Debug)]
pub struct GapRun {
    /// Each measured CPU.
    pub cpus: Vec<CpuGaps>,
    /// Gaps common to all of them.
    pub stalls: Stalls,
    /// The shortest time between two readings that is a gap.
    pub above: Span,
    /// Policy of the spinning threads.
    pub policy: Policy,
    /// Whether they read the processor's counter rather than the kernel's clock.
    pub reads_ticks: bool,
    /// Ticks of the counter or clock per microsecond.
    pub megahertz: u64,
    /// Why the kernel's events could not be traced.
    pub not_traced: Option<TracerRefusal>,
    /// Number of events that were not recorded.
    pub events_lost: u64,
    /// Whether one CPU was left for everything else.
    pub leaves_one: bool,
    /// When it began.
    pub began: MonotonicTime,
    /// Whether it was stopped before its time.
    pub interrupted: bool,
}

impl GapRun {
    /// CPUs whose threads were moved elsewhere.
    pub fn moved(&self) -> CpuSet {
        self.cpus.iter().map(|cpu| cpu.counted).filter(|count| count.moved).map(|count| count.cpu).collect()
    }
}

/// State of one CPU while its gaps come in.
#[derive(Debug, Default)]
struct CpuJoin {
    spinner: u32,
    events: Vec<CpuEvent>,
    waiting: Vec<CpuGap>,
    tally: GapTally,
}

/// Most events stored for a gap that is not over: minutes of a busy CPU.
const MOST_EVENTS: usize = 1 << 18;

impl CpuJoin {
    /// Drops the events that no later gap needs.
    fn drop_old_events(&mut self, until: MonotonicTime) {
        let needed =
            self.waiting.first().map_or(until, |gap| gap.from.min(until)).minus(Span::from_millis(1));
        let over = droppable_before(&self.events, self.spinner, needed);
        self.events.drain(..over);
        if self.events.len() > MOST_EVENTS {
            let rest = self.events.split_off(self.events.len() - MOST_EVENTS / 2);
            self.events = rest;
            self.events.iter_mut().take(1).for_each(|first| first.what = CpuChange::Missed);
        }
    }
}

/// Joins gaps with events as both come in.
#[derive(Debug)]
pub struct GapJoin {
    cpus: BTreeMap<u32, CpuJoin>,
    is_traced: bool,
    /// Events up to this time may be incomplete.
    doubtful_until: MonotonicTime,
    overlaps: Overlaps,
    stalls: Stalls,
}

impl GapJoin {
    /// For threads on these CPUs, each with its id.
    pub fn new(threads: &[(u32, u32)], is_traced: bool) -> Self {
        let cpu_join =
            |(cpu, spinner): &(u32, u32)| (*cpu, CpuJoin { spinner: *spinner, ..CpuJoin::default() });
        Self {
            cpus: threads.iter().map(cpu_join).collect(),
            is_traced,
            doubtful_until: MonotonicTime::from_nanos(i64::MIN),
            overlaps: Overlaps::for_cpus(threads.iter().map(|(cpu, _)| *cpu)),
            stalls: Stalls::default(),
        }
    }

    /// Takes a gap, later than all others of its CPU.
    pub fn record_gap(&mut self, gap: CpuGap) {
        if let Some(cpu) = self.cpus.get_mut(&gap.cpu) {
            cpu.waiting.push(gap);
        }
    }

    /// Takes events, by time; some may be missing up to `lost_until`.
    pub fn record_events(&mut self, events: Vec<CpuEvent>, lost_until: Option<MonotonicTime>) {
        self.doubtful_until = self.doubtful_until.max(lost_until.unwrap_or(self.doubtful_until));
        for event in events {
            if let Some(cpu) = self.cpus.get_mut(&event.cpu) {
                cpu.events.push(event);
            }
        }
    }

    /// Explains the gaps that ended before `until`; all events up to then must have been recorded.
    pub fn settle(&mut self, until: MonotonicTime) {
        for cpu in self.cpus.values_mut() {
            let settled = cpu.waiting.partition_point(|gap| gap.until() < until);
            for gap in cpu.waiting.drain(..settled) {
                let is_known = self.is_traced && gap.from > self.doubtful_until;
                let parts = match is_known {
                    true => split(&gap, &cpu.events, cpu.spinner),
                    false => {
                        vec![GapPart { cause: GapCause::unnamed(GapKind::NotTraced), length: gap.length }]
                    }
                };
                self.overlaps.add(&gap);
                cpu.tally.add(gap, parts);
            }
            cpu.drop_old_events(until);
        }
        let stalls = &mut self.stalls;
        self.overlaps.settle(&mut |stall| stalls.add(stall));
    }

    /// The result, with each thread's own counts and the kernel's accounts.
    pub fn end(mut self, counts: Vec<(SpinCount, GapAccount)>) -> (Vec<CpuGaps>, Stalls) {
        self.settle(MonotonicTime::from_nanos(i64::MAX));
        let end = |(count, account): (SpinCount, GapAccount)| {
            Some(self.cpus.remove(&count.cpu)?.tally.end(count, account))
        };
        (counts.into_iter().filter_map(end).collect(), self.stalls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(micros * 1_000)
    }

    fn gap(cpu: u32, from: i64, micros: u64) -> CpuGap {
        CpuGap { cpu, from: at(from), length: Span::from_micros(micros) }
    }

    fn runs(micros: i64, tid: u32) -> CpuEvent {
        CpuEvent { at: at(micros), cpu: 0, what: CpuChange::Runs { tid, name: "rival".into() } }
    }

    fn count(cpu: u32) -> (SpinCount, GapAccount) {
        (SpinCount { cpu, ..SpinCount::default() }, GapAccount::default())
    }

    fn kinds(gaps: &CpuGaps) -> Vec<(GapKind, u64)> {
        gaps.by.iter().map(|share| (share.cause.kind, share.gaps)).collect()
    }

    #[test]
    fn a_gap_waits_for_its_events() {
        let mut join = GapJoin::new(&[(0, 7)], true);
        join.record_gap(gap(0, 1_000, 100));
        join.settle(at(1_050));
        join.record_events(vec![runs(1_001, 9), runs(1_099, 7)], None);
        join.settle(at(2_000));
        let (gaps, _) = join.end(vec![count(0)]);
        assert_eq!(kinds(&gaps[0]), [(GapKind::Thread, 1)]);
    }

    #[test]
    fn without_a_tracer_and_where_events_are_lost_nothing_is_claimed() {
        let mut join = GapJoin::new(&[(0, 7)], false);
        join.record_gap(gap(0, 1_000, 100));
        assert_eq!(kinds(&join.end(vec![count(0)]).0[0]), [(GapKind::NotTraced, 1)]);
        let mut join = GapJoin::new(&[(0, 7)], true);
        join.record_gap(gap(0, 1_000, 100));
        join.record_gap(gap(0, 3_000, 50));
        join.record_events(Vec::new(), Some(at(1_500)));
        let (gaps, _) = join.end(vec![count(0)]);
        assert_eq!(kinds(&gaps[0]), [(GapKind::NotTraced, 1), (GapKind::NoEvent, 1)]);
    }

    #[test]
    fn what_all_cpus_have_in_common_is_a_stall() {
        let mut join = GapJoin::new(&[(0, 7), (1, 8)], false);
        join.record_gap(gap(0, 1_000, 100));
        join.record_gap(gap(1, 1_060, 100));
        let (_, stalls) = join.end(vec![count(0), count(1)]);
        let worst = Stall { from: at(1_060), length: Span::from_micros(40) };
        assert_eq!(stalls, Stalls { count: 1, total: worst.length, worst: vec![worst] });
    }

    #[test]
    fn events_that_no_gap_needs_any_more_are_forgotten() {
        let mut join = GapJoin::new(&[(0, 7)], true);
        join.record_events((0..1_000).map(|micros| runs(micros, 7)).collect(), None);
        join.settle(at(10_000));
        assert!(join.cpus[&0].events.is_empty());
        join.record_events((0..600_000).map(|micros| runs(micros + 10_000, 9)).collect(), None);
        join.settle(at(1_000_000));
        assert!(join.cpus[&0].events.len() <= MOST_EVENTS);
    }

    #[test]
    fn a_gap_that_goes_on_for_many_looks_keeps_its_beginning() {
        let mut join = GapJoin::new(&[(0, 7)], true);
        join.record_events(vec![runs(1_001, 9)], None);
        (1..5).for_each(|look| join.settle(at(look * 100_000)));
        join.record_gap(gap(0, 1_000, 500_000));
        join.record_events(vec![runs(500_999, 7)], None);
        let (gaps, _) = join.end(vec![count(0)]);
        assert_eq!(kinds(&gaps[0]), [(GapKind::Thread, 1)]);
    }
}
