//! A gap measurement: threads spin, and their gaps are joined with kernel events.

use std::sync::atomic::{AtomicBool, Ordering};

use howlate_analyse::gaps::{GapAccount, GapJoin, GapRun};
use howlate_linux::clock;
use howlate_measure::{SpinPlan, SpinStartError, Spinners, TickSource};
use howlate_model::{Caveat, CpuGap, MonotonicTime, Span, SpinCount};
use howlate_procfs::Root;
use howlate_trace::CpuEventReader;

use crate::counters::CpuCounters;

/// Interval between two collections of gaps and events.
const COLLECT_INTERVAL: Span = Span::from_millis(50);
/// After this time the events of a gap can be read.
const EVENT_DELAY: Span = Span::from_millis(2);

/// Progress of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct GapProgress {
    /// Time since the threads started.
    pub passed: Span,
    /// Number of gaps so far.
    pub gaps: u64,
    /// The longest one so far.
    pub worst: Option<CpuGap>,
}

/// Receives gaps and progress while the threads spin.
pub trait GapWatcher {
    /// Called for every gap as soon as it is collected; the gaps of a CPU come in order.
    fn gap(&mut self, _gap: &CpuGap) {}
    /// Called for every caveat before the measurement.
    fn caveat(&mut self, _caveat: &Caveat) {}
    /// Called after every collection; `true` ends the measurement.
    fn progress(&mut self, progress: &GapProgress) -> bool;
}

/// A running measurement.
pub(crate) struct GapMeasurement {
    spinners: Spinners,
    reader: Option<CpuEventReader>,
    join: GapJoin,
    counters: CpuCounters,
    began: MonotonicTime,
    events_lost: u64,
    gaps: u64,
    worst: Option<CpuGap>,
}

impl GapMeasurement {
    /// Starts the threads and reads the counters.
    pub(crate) fn begin(plan: &SpinPlan, reader: Option<CpuEventReader>) -> Result<Self, SpinStartError> {
        let counters = CpuCounters::begin(Root::live(), &plan.cpus);
        let spinners = Spinners::begin(plan)?;
        let join = GapJoin::new(spinners.tids(), reader.is_some());
        let began = clock::now();
        Ok(Self { spinners, reader, join, counters, began, events_lost: 0, gaps: 0, worst: None })
    }

    /// Collects gaps until the end of the measurement.
    pub(crate) fn collect(
        mut self,
        plan: &SpinPlan,
        interrupted: &AtomicBool,
        watcher: &mut dyn GapWatcher,
    ) -> GapRun {
        let mut is_interrupted = false;
        while !self.spinners.are_over() && !is_interrupted {
            // A signal only ends the sleep early.
            drop(clock::sleep_for(COLLECT_INTERVAL));
            self.collect_once(watcher);
            is_interrupted = watcher.progress(&self.progress()) || interrupted.load(Ordering::Relaxed);
        }
        let is_over = self.spinners.are_over();
        self.end(plan, watcher, is_interrupted && !is_over)
    }

    fn progress(&self) -> GapProgress {
        GapProgress { passed: clock::now().since(self.began), gaps: self.gaps, worst: self.worst }
    }

    /// Gaps are drained before events are read, so that the events of every drained gap are there.
    fn collect_once(&mut self, watcher: &mut dyn GapWatcher) {
        let drain_time = clock::now();
        let Self { spinners, join, gaps, worst, .. } = self;
        spinners.drain(&mut |gap| add_gap(gap, join, gaps, worst, watcher));
        let known_until = self.read_events().min(drain_time.minus(EVENT_DELAY));
        self.join.settle(known_until);
    }

    /// Joins new events; returns the time up to which all events are known.
    fn read_events(&mut self) -> MonotonicTime {
        let Some(reader) = &mut self.reader else { return clock::now() };
        let read = reader.read();
        self.events_lost += read.lost;
        self.join.record_events(read.events, (read.lost > 0).then_some(read.until));
        read.until
    }

    fn end(self, plan: &SpinPlan, watcher: &mut dyn GapWatcher, interrupted: bool) -> GapRun {
        let Self { spinners, mut join, counters, reader, mut gaps, mut worst, mut events_lost, began } = self;
        let megahertz = spinners.megahertz();
        let counts = spinners.end(&mut |gap| add_gap(gap, &mut join, &mut gaps, &mut worst, watcher));
        drop(clock::sleep_for(EVENT_DELAY));
        let read = reader.map(|mut reader| reader.read()).unwrap_or_default();
        events_lost += read.lost;
        join.record_events(read.events, (read.lost > 0).then_some(read.until));
        let (cpus, stalls) = join.end(join_counts(counts, &counters.end()));
        GapRun {
            cpus,
            stalls,
            above: plan.threshold,
            policy: plan.policy,
            megahertz,
            reads_ticks: plan.tick_source == TickSource::Ticks,
            not_traced: None,
            events_lost,
            leaves_one: true,
            began,
            interrupted,
        }
    }
}

fn add_gap(
    gap: CpuGap,
    join: &mut GapJoin,
    gaps: &mut u64,
    worst: &mut Option<CpuGap>,
    watcher: &mut dyn GapWatcher,
) {
    *gaps += 1;
    if worst.is_none_or(|worst| worst.length < gap.length) {
        *worst = Some(gap);
    }
    watcher.gap(&gap);
    join.record_gap(gap);
}

fn join_counts(counts: Vec<SpinCount>, counters: &[(u32, GapAccount)]) -> Vec<(SpinCount, GapAccount)> {
    let account = |cpu: u32| counters.iter().find(|(other, _)| *other == cpu);
    counts
        .into_iter()
        .map(|count| (count, account(count.cpu).map_or_else(GapAccount::default, |account| account.1)))
        .collect()
}
