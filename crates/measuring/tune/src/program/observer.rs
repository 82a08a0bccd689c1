//! Observes the wake-ups of a program's threads and how late they were.

use std::collections::{BTreeMap, HashMap};

use howlate_analyse::watch::{LoopTurns, WakeupChains};
use howlate_linux::clock;
use howlate_model::{Activation, LifeEventKind, MonotonicTime, Span, Wakeup};
use howlate_procfs::Root;
use howlate_trace::{Tracer, TracerMissing};
use howlate_watched_program::{MarkedLoops, MarkedTurn, WatchTarget, WatchedThread, WatchedThreads};

use crate::options::ProgramOptions;

/// A wake-up of a chosen thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObservedWakeup {
    pub(super) activation: Activation,
    pub(super) wakeup: Wakeup,
    /// Settings must be unchanged since this time for the wake-up to count: a timer keeps the slack with which it was armed.
    pub(super) settings_since: MonotonicTime,
}

/// Thread id and process id.
pub(super) type ThreadOfProcess = (u32, u32);

/// Observes the threads of a program with a tracer and marked loops.
pub struct ProgramObserver {
    tracer: Option<Box<dyn Tracer>>,
    loops: Option<MarkedLoops>,
    threads: WatchedThreads,
    /// Names or ids of the chosen threads; empty: all.
    chosen: Vec<String>,
    chains: WakeupChains,
    /// Marked loops by number: thread id, whether it was chosen, turns.
    marked: BTreeMap<usize, (u32, bool, LoopTurns)>,
    /// Ended threads about which reports may still arrive.
    ending: Vec<u32>,
    /// Wake-ups lost because of full buffers.
    pub(super) lost: u64,
}

impl ProgramObserver {
    /// Begins to observe a program; `tracer` is not started yet.
    ///
    /// # Errors
    ///
    /// When the tracer cannot be started.
    pub fn begin(
        mut tracer: Option<Box<dyn Tracer>>,
        subject: &mut WatchTarget,
        options: &ProgramOptions,
    ) -> Result<Self, TracerMissing> {
        if let Some(tracer) = &mut tracer {
            let tier = tracer.tier();
            let refused = |refusal| TracerMissing { tier, refusal };
            if options.follow {
                tracer.with_children().map_err(refused)?;
            }
            tracer.start().map_err(refused)?;
        }
        let threads = threads_of(subject.pid(), options.follow);
        Ok(Self {
            tracer: tracer.filter(|tracer| tracer.tier().sees_wakers()),
            loops: subject.take_loops(),
            threads,
            chosen: options.threads.clone(),
            chains: WakeupChains::default(),
            marked: BTreeMap::new(),
            ending: Vec::new(),
            lost: 0,
        })
    }

    /// Whether a tracer sees more than marked loops.
    pub const fn is_traced(&self) -> bool {
        self.tracer.is_some()
    }

    pub(super) const fn threads(&self) -> &WatchedThreads {
        &self.threads
    }

    /// The chosen threads that existed at the last look.
    pub(super) fn chosen_threads(&mut self) -> Vec<ThreadOfProcess> {
        let mut tids = self.threads.all();
        tids.sort_unstable();
        tids.retain(|tid| self.is_chosen(*tid));
        tids.into_iter().map(|tid| (tid, self.threads.process_of(tid))).collect()
    }

    fn is_chosen(&mut self, tid: u32) -> bool {
        let is_chosen_name = |name: String| self.chosen.contains(&name);
        self.chosen.is_empty()
            || self.chosen.contains(&tid.to_string())
            || self.threads.name(tid).is_some_and(is_chosen_name)
    }

    /// Wake-ups since the last call.
    pub(super) fn look(&mut self) -> Vec<ObservedWakeup> {
        let changes = self.threads.update();
        self.follow(&changes.started);
        self.read();
        self.ending.extend(changes.ended);
        let wakeups = self.settle(clock::now());
        let ended = std::mem::take(&mut self.ending);
        ended.iter().for_each(|tid| self.chains.forget(*tid));
        let (ending, finished) = ended.into_iter().partition(|tid| self.chains.is_followed(*tid));
        self.ending = ending;
        finished.into_iter().for_each(|tid: u32| self.threads.forget_name(tid));
        wakeups
    }

    fn follow(&mut self, come: &[WatchedThread]) {
        let Some(tracer) = &mut self.tracer else { return };
        for thread in come {
            // Fails if the thread has ended meanwhile.
            drop(tracer.follow(thread.tid, Span::ZERO));
            self.chains.follow(thread.tid, thread.pid);
        }
    }

    /// Reads turns before sleeps: the sleep of a turn is reported after it.
    fn read(&mut self) {
        let Self { tracer, loops, threads, chosen, chains, marked, ending, lost } = self;
        let is_traced = tracer.is_some();
        if let Some(loops) = loops {
            *lost += loops.read(&mut |MarkedTurn { number, marked_loop, turn, .. }| {
                let is_chosen = chosen.is_empty() || chosen.contains(&marked_loop.name);
                let new = || (marked_loop.tid, is_chosen, LoopTurns::new(marked_loop.period, is_traced));
                marked.entry(number).or_insert_with(new).2.record_turn(turn);
            });
        }
        let Some(tracer) = tracer else { return };
        let mut sleeps = Vec::new();
        *lost += tracer.read(&mut |sleep| sleeps.push(sleep));
        for life in tracer.lives().unwrap_or_default() {
            match life.happened {
                LifeEventKind::Born => chains.follow(life.tid, life.process),
                LifeEventKind::Named => {}
                LifeEventKind::Ended => ending.push(life.tid),
            }
            threads.note_life(life);
        }
        for sleep in sleeps {
            let process = threads.process_of(sleep.tid);
            chains.record_sleep(sleep, process);
        }
    }

    /// Complete wake-ups of chosen threads.
    fn settle(&mut self, now: MonotonicTime) -> Vec<ObservedWakeup> {
        let mut chosen_by_tid: HashMap<u32, bool> = HashMap::new();
        let mut observed = Vec::new();
        let mut chains = std::mem::take(&mut self.chains);
        let mut marked = std::mem::take(&mut self.marked);
        chains.settle(now, |past, awakening| {
            let sleep = &past.sleep;
            let of_thread = marked.values_mut().filter(|(tid, ..)| *tid == sleep.tid);
            of_thread.for_each(|(_, _, turns)| turns.record_sleep(past.clone()));
            let mut is_chosen =
                || *chosen_by_tid.entry(sleep.tid).or_insert_with(|| self.is_chosen(sleep.tid));
            let Some(awakening) = awakening.filter(|_| is_chosen()) else { return };
            let (activation, wakeup) = (awakening.activation, awakening.wakeup);
            let is_own_timer = activation == Activation::Timer;
            let settings_since = sleep.asleep_since.filter(|_| is_own_timer).unwrap_or(wakeup.expected);
            observed.push(ObservedWakeup { activation, wakeup, settings_since });
        });
        (self.chains, self.marked) = (chains, marked);
        for (_, is_chosen, turns) in self.marked.values_mut() {
            let turns = turns.settle(now).into_iter().filter(|_| *is_chosen);
            let wakeups = turns.filter_map(|turn| Some(turn.awakening?.wakeup));
            let loop_wakeup = |wakeup: Wakeup| ObservedWakeup {
                activation: Activation::Loop,
                wakeup,
                settings_since: wakeup.expected,
            };
            observed.extend(wakeups.map(loop_wakeup));
        }
        observed
    }
}

pub(super) fn threads_of(pid: u32, with_children: bool) -> WatchedThreads {
    WatchedThreads::new(Root::live(), pid, with_children)
}
