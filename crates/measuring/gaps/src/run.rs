//! A run: threads spin, gaps and events are collected, and joined.

use std::sync::atomic::{AtomicBool, Ordering};

use howlate_analyse::gaps::{GapAccount, GapJoin, GapRun};
use howlate_linux::clock;
use howlate_measure::{Counted, NotStarted, SpinPlan, Spinners};
use howlate_model::{CpuGap, MonotonicTime, Span, SpinCount};
use howlate_procfs::Root;
use howlate_trace::CpuEventReader;

use crate::account::Accounts;
use crate::watcher::{GapProgress, GapWatcher};

/// How often gaps and events are collected.
const EVERY: Span = Span::from_millis(50);
/// Events of the last gap can be read this much later.
const SETTLED: Span = Span::from_millis(2);

/// A run under way.
pub(crate) struct Run {
    spinners: Spinners,
    reader: Option<CpuEventReader>,
    join: GapJoin,
    accounts: Accounts,
    began: MonotonicTime,
    events_lost: u64,
    gaps: u64,
    worst: Option<CpuGap>,
}

impl Run {
    /// Starts the threads.
    pub(crate) fn begin(plan: &SpinPlan, reader: Option<CpuEventReader>) -> Result<Self, NotStarted> {
        let accounts = Accounts::begin(Root::live(), &plan.cpus);
        let spinners = Spinners::begin(plan)?;
        let join = GapJoin::new(spinners.tids(), reader.is_some());
        let began = clock::now();
        Ok(Self { spinners, reader, join, accounts, began, events_lost: 0, gaps: 0, worst: None })
    }

    /// Collects until it is over.
    pub(crate) fn collect(
        mut self,
        plan: &SpinPlan,
        interrupted: &AtomicBool,
        watcher: &mut dyn GapWatcher,
    ) -> GapRun {
        let mut is_interrupted = false;
        while !self.spinners.are_over() && !is_interrupted {
            // A signal makes the look come earlier.
            drop(clock::sleep_for(EVERY));
            self.look(watcher);
            is_interrupted = watcher.progress(&self.progress()) || interrupted.load(Ordering::Relaxed);
        }
        let is_over = self.spinners.are_over();
        self.end(plan, watcher, is_interrupted && !is_over)
    }

    fn progress(&self) -> GapProgress {
        GapProgress { passed: clock::now().since(self.began), gaps: self.gaps, worst: self.worst }
    }

    /// Gaps first: their events are there by then.
    fn look(&mut self, watcher: &mut dyn GapWatcher) {
        let drained = clock::now();
        let Self { spinners, join, gaps, worst, .. } = self;
        spinners.drain(&mut |gap| take(gap, join, gaps, worst, watcher));
        let known = self.read_events().min(drained.minus(SETTLED));
        self.join.settle(known);
    }

    /// Up to when all events are known.
    fn read_events(&mut self) -> MonotonicTime {
        let Some(reader) = &mut self.reader else { return clock::now() };
        let read = reader.read();
        self.events_lost += read.lost;
        self.join.record_events(read.events, (read.lost > 0).then_some(read.until));
        read.until
    }

    fn end(self, plan: &SpinPlan, watcher: &mut dyn GapWatcher, interrupted: bool) -> GapRun {
        let Self { spinners, mut join, accounts, reader, mut gaps, mut worst, mut events_lost, began } = self;
        let megahertz = spinners.megahertz();
        let counts = spinners.end(&mut |gap| take(gap, &mut join, &mut gaps, &mut worst, watcher));
        drop(clock::sleep_for(SETTLED));
        let read = reader.map(|mut reader| reader.read()).unwrap_or_default();
        events_lost += read.lost;
        join.record_events(read.events, (read.lost > 0).then_some(read.until));
        let (cpus, stalls) = join.end(with_accounts(counts, &accounts.end()));
        GapRun {
            cpus,
            stalls,
            above: plan.above,
            policy: plan.policy,
            megahertz,
            reads_ticks: plan.counted == Counted::Ticks,
            not_traced: None,
            events_lost,
            leaves_one: true,
            began,
            interrupted,
        }
    }
}

fn take(
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

fn with_accounts(counts: Vec<SpinCount>, accounts: &[(u32, GapAccount)]) -> Vec<(SpinCount, GapAccount)> {
    let account = |cpu: u32| accounts.iter().find(|(other, _)| *other == cpu);
    counts
        .into_iter()
        .map(|one| (one, account(one.cpu).map_or_else(GapAccount::default, |one| one.1)))
        .collect()
}
