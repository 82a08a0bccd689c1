//! The threads of a watched program, each with what its part of the recording is about.

use std::collections::{BTreeMap, HashMap, HashSet};

use howlate_analyse::cause::PastSleep;
use howlate_analyse::watch::{Awakening, Chains, CompletedTurn, ThreadSummary, TimerIterations, Turns};
use howlate_linux::{clock, sched};
use howlate_model::{
    Activation, CauseKind, Condition, Explained, Happened, InForce, Iteration, Latency, Life, Line,
    MonotonicTime, Policy, Priority, Segment, Span, Started, TracedSleep, Work,
};
use howlate_procfs::Schedstat;
use howlate_watched_program::{
    Identities, Identity, MarkedTurn, ThreadStart, Threads, WatchedThread, in_force,
};

use crate::event_loops::{Belongs, EventLoops, Seen};

/// What a thread is called that had ended before anybody asked for its name.
const GONE: &str = "(ended)";

/// Late wake-ups that are told of by themselves, between two looks.
const LATE: usize = 1_024;

/// Threads whose priority is remembered.
const PRIORITIES_KEPT: usize = 1_024;

/// An event loop belongs to the first of these that its thread has.
const WITH_EVENT_LOOPS: [Activation; 3] = [Activation::Timer, Activation::HandedOn, Activation::Event];

/// The threads of a watched program.
pub(crate) struct Followed {
    kernel: String,
    identities: Identities,
    chains: Chains,
    /// Threads that have ended, of which something is still to be told.
    ending: Vec<u32>,
    places: HashMap<(Identity, Activation), usize>,
    /// Those of the threads there are that have been counted as one of their place's.
    counted: HashSet<(u32, Activation)>,
    threads: Vec<ThreadSummary>,
    names: Vec<String>,
    /// Loops that the program has marked, by their number.
    loops: BTreeMap<usize, Loop>,
    iterations: TimerIterations,
    /// Of threads that made others late.
    priorities: HashMap<u32, Option<Priority>>,
    event_loops: EventLoops,
    /// Late wake-ups that are to be told of by themselves, and later than what.
    late: Vec<Late>,
    late_above: Option<Latency>,
}

/// A late wake-up of a thread of the program.
pub(crate) struct Late {
    pub(crate) condition: u32,
    pub(crate) tid: u32,
    /// What the thread was called when it was.
    pub(crate) thread: String,
    pub(crate) wakeup: Explained,
}

/// A loop that the program has marked: the thread that turns it, and its place among the threads.
struct Loop {
    tid: u32,
    place: usize,
    turns: Turns,
}

impl Followed {
    /// Of a machine with this kernel.
    pub(crate) fn new(chosen: &[String], kernel: &str) -> Self {
        Self {
            kernel: kernel.to_owned(),
            identities: Identities::choosing(chosen),
            chains: Chains::default(),
            ending: Vec::new(),
            places: HashMap::new(),
            counted: HashSet::new(),
            threads: Vec::new(),
            names: Vec::new(),
            loops: BTreeMap::new(),
            iterations: TimerIterations::default(),
            priorities: HashMap::new(),
            event_loops: EventLoops::default(),
            late: Vec::new(),
            late_above: None,
        }
    }

    /// There is a thread of which something may be seen.
    pub(crate) fn follow(&mut self, thread: &WatchedThread) {
        self.ending.retain(|tid| *tid != thread.tid);
        self.chains.follow(thread.tid, thread.pid);
    }

    /// Takes what was told of a thread's life.
    pub(crate) fn lived(&mut self, life: Life, known: &mut Threads) {
        let (tid, happened) = (life.tid, life.happened);
        let thread = WatchedThread { tid, pid: life.process };
        let is_another =
            happened == Happened::Born || self.identities.name(tid).is_some_and(|name| name != life.name);
        if is_another {
            self.is_called_otherwise(tid);
        }
        known.tell(life);
        match happened {
            Happened::Born => self.follow(&thread),
            Happened::Named => {}
            Happened::Ended => self.ended(tid),
        }
    }

    /// Takes what was seen of one sleep.
    pub(crate) fn saw(&mut self, one: TracedSleep, known: &mut Threads) {
        // It may have ended by the time at which all is known.
        self.identities.identify(one.tid, || name_of(one.tid, known));
        self.event_loops.slept(&one);
        let process = known.process_of(one.tid);
        self.chains.saw(one, process);
    }

    /// Enters the sleeps of which all is known by now; returns the lines that conditions begin with which are new.
    pub(crate) fn settle_sleeps(&mut self, now: MonotonicTime, known: &mut Threads) -> Vec<Line> {
        let (mut chains, mut lines) = (std::mem::take(&mut self.chains), Vec::new());
        // Of a crowd, all at once would be most of what there is in memory.
        chains.settle(now, |one, awakening| lines.extend(self.settled(one, awakening, known)));
        self.chains = chains;
        let chains = &self.chains;
        let (ending, ended) = self.ending.drain(..).partition(|tid| chains.knows(*tid));
        self.ending = ending;
        for tid in ended {
            self.is_called_otherwise(tid);
            known.forget(tid);
        }
        lines
    }

    /// Enters one sleep of which all is known.
    fn settled(
        &mut self,
        one: &PastSleep,
        mut awakening: Option<Awakening>,
        known: &mut Threads,
    ) -> Vec<Line> {
        let tid = one.sleep.tid;
        self.loops.values_mut().filter(|of| of.tid == tid).for_each(|of| of.turns.saw(one.clone()));
        awakening.iter_mut().for_each(|awakening| self.tell_own(&mut awakening.parts.wakeup.parts));
        let iteration = self.iterations.saw(one, awakening.as_ref());
        let mut lines: Vec<Line> =
            awakening.iter().flat_map(|awakening| self.woke(tid, awakening, known)).collect();
        if let Some(iteration) = iteration {
            lines.extend(self.enter(tid, Activation::Timer, known, |thread| thread.completed(iteration)));
        }
        lines
    }

    /// Says more of the threads that made it late: of several of one name together it is the name that tells whether they are the
    /// program's own, and priorities are read now.
    fn tell_own(&mut self, parts: &mut [Segment]) {
        for part in parts.iter_mut().filter(|part| part.cause.kind == CauseKind::Thread) {
            match part.pid {
                None => part.cause.own |= self.identities.all().any(|(_, name)| name == part.cause.name),
                Some(tid) if part.cause.real_time => part.cause.priority = self.priority(tid),
                Some(_) => {}
            }
        }
    }

    fn priority(&mut self, tid: u32) -> Option<Priority> {
        let has_room = self.priorities.len() < PRIORITIES_KEPT;
        let read = || sched::policy(tid).ok().and_then(Policy::priority);
        match self.priorities.get(&tid) {
            Some(known) => *known,
            None if has_room => *self.priorities.entry(tid).or_insert_with(read),
            None => None,
        }
    }

    fn woke(&mut self, tid: u32, awakening: &Awakening, known: &mut Threads) -> Vec<Line> {
        let mut condition = None;
        let lines = self.enter(tid, awakening.activation, known, |thread| {
            condition = Some(thread.condition());
            thread.woke(awakening);
        });
        condition.into_iter().for_each(|condition| self.note_late(condition, tid, awakening));
        lines
    }

    /// From now on, wake-ups that are later than this are told of by themselves.
    pub(crate) fn tell_above(&mut self, above: Latency) {
        self.late_above = Some(above);
    }

    /// Those since the last call.
    pub(crate) fn take_late(&mut self) -> Vec<Late> {
        std::mem::take(&mut self.late)
    }

    fn note_late(&mut self, condition: u32, tid: u32, awakening: &Awakening) {
        let wakeup = &awakening.parts.wakeup;
        if self.late_above.is_some_and(|above| wakeup.latency > above) && self.late.len() < LATE {
            let name =
                self.identities.name(tid).or_else(|| Some(self.names.get(condition as usize)?.as_str()));
            let thread = name.unwrap_or_default().to_owned();
            self.late.push(Late { condition, tid, thread, wakeup: wakeup.clone() });
        }
    }

    /// Takes a sleep of which nobody saw what ended it; returns the lines that a condition begins with, where it is a new one.
    pub(crate) fn slept(&mut self, one: &TracedSleep, known: &mut Threads) -> Vec<Line> {
        let Some(at) = one.switched_in else { return Vec::new() };
        // The last one of a thread that has ended is told when nobody knows its name any more.
        if self.identities.name(one.tid).is_none() && known.name(one.tid).is_none() {
            return Vec::new();
        }
        let preempted = one.lost.len() as u64 + u64::from(one.lost_more);
        self.enter(one.tid, Activation::Unseen, known, |thread| thread.slept(at, preempted))
    }

    /// Takes what a thread got of CPUs; returns the same.
    pub(crate) fn got(&mut self, tid: u32, got: Schedstat, known: &mut Threads) -> Vec<Line> {
        self.enter(tid, Activation::Unseen, known, |thread| thread.got(got.turns, got.waited))
    }

    /// Hands a thread to `entry`, if it is one that is measured; returns the lines that a condition begins with, where it is
    /// a new one.
    fn enter(
        &mut self,
        tid: u32,
        activation: Activation,
        known: &mut Threads,
        entry: impl FnOnce(&mut ThreadSummary),
    ) -> Vec<Line> {
        let identity = self.identities.identify(tid, || name_of(tid, known));
        let Some(identity) = identity else { return Vec::new() };
        self.enter_as(identity, tid, activation, known, entry)
    }

    /// The same of a thread whose identity is known.
    fn enter_as(
        &mut self,
        identity: Identity,
        tid: u32,
        activation: Activation,
        known: &Threads,
        entry: impl FnOnce(&mut ThreadSummary),
    ) -> Vec<Line> {
        let is_joined = identity.is_joined;
        let (place, lines) = match self.places.get(&(identity.clone(), activation)) {
            Some(place) => (*place, Vec::new()),
            None => self.add(tid, identity, activation, known.find(tid)),
        };
        let thread = &mut self.threads[place];
        if self.counted.insert((tid, activation)) {
            thread.begins();
        }
        entry(thread);
        // The next one may be another's: from this to that is no interval of either.
        if is_joined {
            thread.is_another();
        }
        lines
    }

    /// Takes a turn of a marked loop; returns the lines that a condition begins with, where it is a new one.
    pub(crate) fn turned(&mut self, one: &MarkedTurn<'_>, traced: bool) -> Vec<Line> {
        let MarkedTurn { number, of, turn, spans } = *one;
        if let Some(known) = self.loops.get_mut(&number) {
            known.turns.turned(turn);
            self.threads[known.place].spent(turn, spans);
            return Vec::new();
        }
        if !self.identities.is_chosen(&of.name) {
            return Vec::new();
        }
        let namesakes = self.loops.values().filter(|one| self.names[one.place] == of.name).count();
        let identity = Identity {
            name: of.name.clone(),
            number: u32::try_from(namesakes).unwrap_or(u32::MAX),
            is_joined: false,
        };
        let (place, lines) = self.add(of.tid, identity, Activation::Loop, None);
        self.threads[place].begins();
        self.threads[place].turns_every(of.period);
        self.threads[place].spent(turn, spans);
        let mut turns = Turns::new(of.period, traced);
        turns.turned(turn);
        self.loops.insert(number, Loop { tid: of.tid, place, turns });
        lines
    }

    /// Takes an iteration of an event loop, and looks at once what it was doing, and whose it was: that may change soon.
    pub(crate) fn iterated(&mut self, one: Iteration, known: &mut Threads) {
        let identity = self.identities.identify(one.tid, || name_of(one.tid, known));
        let Some(identity) = identity else { return };
        let process = known.process_of(one.tid);
        self.event_loops.saw(one, identity, process);
    }

    /// Enters iterations of threads whose wake-ups are known, and whatever there is at the end; those `above` are long. Returns
    /// the lines that a condition begins with, where it is a new one: that of a thread that never slept.
    pub(crate) fn settle_iterations(
        &mut self,
        above: Span,
        now: MonotonicTime,
        known: &mut Threads,
    ) -> Vec<Line> {
        let (mut lines, mut too_early) = (Vec::new(), Vec::new());
        for mut one in self.event_loops.take() {
            let has = |of: &&Activation| self.places.contains_key(&(one.identity.clone(), **of));
            let awake = WITH_EVENT_LOOPS.iter().find(has).copied();
            let of = match self.event_loops.belongs_to(&mut one, awake, above, now) {
                Belongs::To(of) => of,
                Belongs::ToNone => continue,
                Belongs::NotKnown => {
                    too_early.push(one);
                    continue;
                }
            };
            let Seen { iteration, identity, function, shared_by } = one;
            let entry = |thread: &mut ThreadSummary| thread.iterated(&iteration, above, function, shared_by);
            lines.extend(self.enter_as(identity, iteration.tid, of, known, entry));
        }
        self.event_loops.put_back(too_early);
        lines
    }

    /// Enters the turns of which all is known by now; all of them at the end.
    pub(crate) fn settle(&mut self, now: MonotonicTime, is_end: bool) {
        let Self { loops, threads, .. } = self;
        let mut late = Vec::new();
        for Loop { place, turns, tid } in loops.values_mut() {
            let settled: Vec<CompletedTurn> = if is_end { turns.end() } else { turns.settle(now) };
            settled.iter().for_each(|one| threads[*place].turned(one));
            let condition = threads[*place].condition();
            late.extend(settled.into_iter().filter_map(|one| Some((condition, *tid, one.awakening?))));
        }
        late.iter().for_each(|(condition, tid, awakening)| self.note_late(*condition, *tid, awakening));
    }

    fn add(
        &mut self,
        tid: u32,
        identity: Identity,
        activation: Activation,
        told: Option<&ThreadStart>,
    ) -> (usize, Vec<Line>) {
        let place = self.threads.len();
        let number = u32::try_from(place).unwrap_or(u32::MAX);
        let now = clock::now();
        let in_force = in_force(tid, told);
        let condition = Condition {
            policy: in_force.policy,
            cpu: Some(&in_force.cpus)
                .filter(|cpus| cpus.len() == 1 && !identity.is_joined)
                .and_then(|cpus| cpus.iter().next()),
            thread: identity.number,
            name: Some(identity.name.clone()),
            ..Condition::new(Work::Watch { mechanism: activation }, &self.kernel)
        };
        self.threads.push(ThreadSummary::new(number, now));
        self.names.push(identity.name.clone());
        self.places.insert((identity, activation), place);
        (place, vec![Line::Condition(Box::new(condition)), started(number, now, in_force)])
    }

    /// A thread has ended.
    pub(crate) fn ended(&mut self, tid: u32) {
        self.chains.forget(tid);
        self.iterations.forget(tid);
        self.event_loops.forget(tid);
        self.ending.push(tid);
    }

    /// Nothing more will come of a thread by the name that it had.
    fn is_called_otherwise(&mut self, tid: u32) {
        let Some(identity) = self.identities.forget(tid) else { return };
        for activation in Activation::ALL {
            self.counted.remove(&(tid, activation));
            if let Some(place) = self.places.get(&(identity.clone(), activation)) {
                self.threads[*place].is_another();
            }
        }
    }

    /// Threads that were counted together with others so far.
    pub(crate) const fn joined(&self) -> u64 {
        self.identities.joined()
    }

    /// How many threads there are.
    pub(crate) fn len(&self) -> usize {
        self.identities.all().count()
    }

    /// Looks what threads are called now: a program that executes another gets its name.
    pub(crate) fn look_for_new_names(&mut self, known: &mut Threads) {
        let renamed = |(tid, name): (u32, &str)| known.name(tid).filter(|now| now != name).map(|_| tid);
        let renamed: Vec<u32> = self.identities.all().filter_map(renamed).collect();
        renamed.into_iter().for_each(|tid| self.is_called_otherwise(tid));
    }

    /// How late they were since the last time.
    pub(crate) fn blocks(&mut self, now: MonotonicTime) -> Vec<Line> {
        self.threads.iter_mut().filter_map(|thread| thread.block(now)).collect()
    }

    /// Why, and their rhythm, since the last time.
    pub(crate) fn reasons(&mut self, now: MonotonicTime, tracer: &str) -> Vec<Line> {
        self.threads.iter_mut().flat_map(|thread| thread.reasons(now, tracer)).collect()
    }

    /// Each with its name, for a display.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &ThreadSummary)> {
        self.names.iter().map(String::as_str).zip(&self.threads)
    }
}

fn name_of(tid: u32, known: &mut Threads) -> String {
    known.name(tid).unwrap_or_else(|| GONE.to_owned())
}

fn started(condition: u32, at: MonotonicTime, in_force: InForce) -> Line {
    let (sender_in_force, runtime, warm_up, caveats) = (None, None, None, Vec::new());
    Line::Started(Started { condition, round: 0, at, in_force, sender_in_force, runtime, warm_up, caveats })
}
