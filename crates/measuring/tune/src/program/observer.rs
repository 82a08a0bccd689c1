//! What is seen of a program's threads: their wake-ups, each with how late it was.

use std::collections::{BTreeMap, HashMap};

use howlate_analyse::watch::{LoopTurns, WakeupChains};
use howlate_linux::clock;
use howlate_model::{Activation, LifeEventKind, MonotonicTime, Span, Wakeup};
use howlate_procfs::Root;
use howlate_trace::{Tracer, TracerMissing};
use howlate_watched_program::{MarkedLoops, MarkedTurn, WatchTarget, WatchedThread, WatchedThreads};

use super::options::ProgramOptions;

/// A wake-up of a thread that was chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObservedWakeup {
    pub(super) activation: Activation,
    pub(super) wakeup: Wakeup,
    /// Since when nothing may have changed for it to be of the settings that are in force now: a timer keeps the slack that
    /// it was set with.
    pub(super) since: MonotonicTime,
}

/// A thread, and its process.
pub(super) type OfProgram = (u32, u32);

/// The eyes on a program.
pub struct Sight {
    tracer: Option<Box<dyn Tracer>>,
    loops: Option<MarkedLoops>,
    threads: WatchedThreads,
    /// Threads of other names are left out, if there are any names.
    chosen: Vec<String>,
    chains: WakeupChains,
    /// Loops that the program has marked, by their number; whether they were chosen.
    marked: BTreeMap<usize, (u32, bool, LoopTurns)>,
    /// Threads that have ended, of which something may still be told.
    ending: Vec<u32>,
    /// Wake-ups that nobody saw because there were too many.
    pub(super) lost: u64,
}

impl Sight {
    /// Begins to look at a program, with a tracer that has not been started yet, if there is one.
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

    /// Whether anything but marked loops can be seen.
    pub const fn is_traced(&self) -> bool {
        self.tracer.is_some()
    }

    pub(super) const fn threads(&self) -> &WatchedThreads {
        &self.threads
    }

    /// The threads that were chosen of those that were there at the last look.
    pub(super) fn chosen(&mut self) -> Vec<OfProgram> {
        let mut all = self.threads.all();
        all.sort_unstable();
        all.retain(|tid| self.is_chosen(*tid));
        all.into_iter().map(|tid| (tid, self.threads.process_of(tid))).collect()
    }

    fn is_chosen(&mut self, tid: u32) -> bool {
        let is_named = |name: String| self.chosen.contains(&name);
        self.chosen.is_empty()
            || self.chosen.contains(&tid.to_string())
            || self.threads.name(tid).is_some_and(is_named)
    }

    /// What has been seen since the last look.
    pub(super) fn look(&mut self) -> Vec<ObservedWakeup> {
        let looked = self.threads.update();
        self.follow(&looked.started);
        self.read();
        self.ending.extend(looked.ended);
        let seen = self.settle(clock::now());
        let ended = std::mem::take(&mut self.ending);
        ended.iter().for_each(|tid| self.chains.forget(*tid));
        let (ending, over) = ended.into_iter().partition(|tid| self.chains.is_followed(*tid));
        self.ending = ending;
        over.into_iter().for_each(|tid: u32| self.threads.forget_name(tid));
        seen
    }

    fn follow(&mut self, come: &[WatchedThread]) {
        let Some(tracer) = &mut self.tracer else { return };
        for thread in come {
            // One that has ended meanwhile cannot be followed any more.
            drop(tracer.follow(thread.tid, Span::ZERO));
            self.chains.follow(thread.tid, thread.pid);
        }
    }

    /// Takes in turns before sleeps: what is told of a turn's sleep is told after it.
    fn read(&mut self) {
        let Self { tracer, loops, threads, chosen, chains, marked, ending, lost } = self;
        let is_traced = tracer.is_some();
        if let Some(loops) = loops {
            *lost += loops.read(&mut |MarkedTurn { number, marked_loop: of, turn, .. }| {
                let is_chosen = chosen.is_empty() || chosen.contains(&of.name);
                let new = || (of.tid, is_chosen, LoopTurns::new(of.period, is_traced));
                marked.entry(number).or_insert_with(new).2.record_turn(turn);
            });
        }
        let Some(tracer) = tracer else { return };
        let mut seen = Vec::new();
        *lost += tracer.read(&mut |one| seen.push(one));
        for life in tracer.lives().unwrap_or_default() {
            match life.happened {
                LifeEventKind::Born => chains.follow(life.tid, life.process),
                LifeEventKind::Named => {}
                LifeEventKind::Ended => ending.push(life.tid),
            }
            threads.note_life(life);
        }
        for one in seen {
            let process = threads.process_of(one.tid);
            chains.record_sleep(one, process);
        }
    }

    /// What is known by now, of threads that were chosen.
    fn settle(&mut self, now: MonotonicTime) -> Vec<ObservedWakeup> {
        let mut known: HashMap<u32, bool> = HashMap::new();
        let mut seen = Vec::new();
        let mut chains = std::mem::take(&mut self.chains);
        let mut marked = std::mem::take(&mut self.marked);
        chains.settle(now, |past, awakening| {
            let one = &past.sleep;
            let of_thread = marked.values_mut().filter(|(tid, ..)| *tid == one.tid);
            of_thread.for_each(|(_, _, turns)| turns.record_sleep(past.clone()));
            let mut is_chosen = || *known.entry(one.tid).or_insert_with(|| self.is_chosen(one.tid));
            let Some(awakening) = awakening.filter(|_| is_chosen()) else { return };
            let (activation, wakeup) = (awakening.activation, awakening.wakeup);
            let is_own_timer = activation == Activation::Timer;
            let since = one.asleep_since.filter(|_| is_own_timer).unwrap_or(wakeup.expected);
            seen.push(ObservedWakeup { activation, wakeup, since });
        });
        (self.chains, self.marked) = (chains, marked);
        for (_, is_chosen, turns) in self.marked.values_mut() {
            let turned = turns.settle(now).into_iter().filter(|_| *is_chosen);
            let wakeups = turned.filter_map(|one| Some(one.awakening?.wakeup));
            let of = |wakeup: Wakeup| ObservedWakeup {
                activation: Activation::Loop,
                wakeup,
                since: wakeup.expected,
            };
            seen.extend(wakeups.map(of));
        }
        seen
    }
}

/// The threads of a process that is to be looked at.
pub(super) fn threads_of(pid: u32, with_children: bool) -> WatchedThreads {
    WatchedThreads::new(Root::live(), pid, with_children)
}
