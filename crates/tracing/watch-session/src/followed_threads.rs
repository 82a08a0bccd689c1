//! The threads of a watched program, and what is recorded of each.

use std::collections::{BTreeMap, HashMap, HashSet};

use howlate_analyse::cause::PastSleep;
use howlate_analyse::watch::{
    Awakening, CompletedTurn, LoopTurns, ThreadSummary, TimerIterations, WakeupChains,
};
use howlate_linux::{clock, sched};
use howlate_model::{
    Activation, CauseKind, Condition, EffectiveSettings, Iteration, LateWakeup, Latency, LifeEvent,
    LifeEventKind, Line, MonotonicTime, Policy, Priority, Request, Segment, ServerSocket, SleepSite, Span,
    TracedSleep, TurnStarted, WakeupBreakdown, Work,
};
use howlate_procfs::Schedstat;
use howlate_watched_program::{
    MarkedTurn, ThreadIdentities, ThreadIdentity, ThreadStart, WatchedThread, WatchedThreads, in_force,
};

use crate::event_loops::{EventLoops, IterationOwner, PendingIteration};
use crate::requests::{AnswererNames, RequestObserver, Requests, SettledRequest};

/// Name of a thread that had ended before its name was read.
const ENDED_NAME: &str = "(ended)";

/// Late wake-ups between two updates.
const MAX_LATE: usize = 1_024;

/// Threads whose priority is cached.
const MAX_PRIORITIES: usize = 1_024;

/// An event loop is recorded with the first of these conditions that its thread has.
const WITH_EVENT_LOOPS: [Activation; 3] = [Activation::Timer, Activation::HandedOn, Activation::Event];

pub(crate) struct FollowedThreads {
    kernel: String,
    identities: ThreadIdentities,
    chains: WakeupChains,
    /// Ended threads of which events are still pending.
    ending: Vec<u32>,
    conditions: HashMap<(ThreadIdentity, Activation), usize>,
    /// Threads and kinds of wake-ups that are counted in their condition.
    counted: HashSet<(u32, Activation)>,
    threads: Vec<ThreadSummary>,
    names: Vec<String>,
    /// Marked loops by number.
    loops: BTreeMap<usize, LoopState>,
    iterations: TimerIterations,
    /// Of threads that made others late; `None`: not a real-time thread.
    priorities: HashMap<u32, Option<Priority>>,
    event_loops: EventLoops,
    /// Requests to its servers, where these are measured.
    requests: Option<Requests>,
    /// Wake-ups above `late_above`.
    late: Vec<LateWakeup>,
    late_above: Option<Latency>,
}

/// A marked loop: its thread, and its index in `threads`.
struct LoopState {
    tid: u32,
    index: usize,
    turns: LoopTurns,
}

impl FollowedThreads {
    /// On a machine with this kernel.
    pub(crate) fn new(selected: &[String], kernel: &str) -> Self {
        Self {
            kernel: kernel.to_owned(),
            identities: ThreadIdentities::for_names(selected),
            chains: WakeupChains::default(),
            ending: Vec::new(),
            conditions: HashMap::new(),
            counted: HashSet::new(),
            threads: Vec::new(),
            names: Vec::new(),
            loops: BTreeMap::new(),
            iterations: TimerIterations::default(),
            priorities: HashMap::new(),
            event_loops: EventLoops::default(),
            requests: None,
            late: Vec::new(),
            late_above: None,
        }
    }

    /// Measures requests to servers in the network namespace of `process` as well.
    pub(crate) fn with_requests(&mut self, process: u32) {
        self.requests = Some(Requests::new(process));
    }

    /// A thread has started.
    pub(crate) fn follow(&mut self, thread: &WatchedThread) {
        self.ending.retain(|tid| *tid != thread.tid);
        self.chains.follow(thread.tid, thread.pid);
    }

    /// A tracer's event of a thread.
    pub(crate) fn note_life(&mut self, life: LifeEvent, watched: &mut WatchedThreads) {
        let (tid, happened) = (life.tid, life.happened);
        let thread = WatchedThread { tid, pid: life.process };
        let is_another = happened == LifeEventKind::Born
            || self.identities.name(tid).is_some_and(|name| name != life.name);
        if is_another {
            self.forget_identity(tid);
        }
        watched.note_life(life);
        match happened {
            LifeEventKind::Born => self.follow(&thread),
            LifeEventKind::Named => {}
            LifeEventKind::Ended => self.note_end(tid),
        }
    }

    /// A traced sleep.
    pub(crate) fn add_sleep(&mut self, sleep: TracedSleep, watched: &mut WatchedThreads) {
        // The thread may have ended by the time the sleep is complete.
        self.identities.identify(sleep.tid, || name_of(sleep.tid, watched));
        if sleep.slept_in != Some(SleepSite::Start) {
            self.event_loops.add_sleep(&sleep);
        }
        let process = watched.process_of(sleep.tid);
        self.chains.record_sleep(sleep, process);
    }

    /// Records the sleeps that are complete by now; returns the first lines of new conditions.
    pub(crate) fn settle_sleeps(&mut self, now: MonotonicTime, watched: &mut WatchedThreads) -> Vec<Line> {
        let (mut chains, mut lines) = (std::mem::take(&mut self.chains), Vec::new());
        // One at a time: with many threads, all sleeps at once would take most of the memory.
        chains.settle(now, |sleep, awakening| lines.extend(self.record_sleep(sleep, awakening, watched)));
        self.chains = chains;
        let chains = &self.chains;
        let (ending, ended) = self.ending.drain(..).partition(|tid| chains.is_followed(*tid));
        self.ending = ending;
        for tid in ended {
            self.forget_identity(tid);
            watched.forget_name(tid);
        }
        lines
    }

    /// Records a complete sleep.
    fn record_sleep(
        &mut self,
        sleep: &PastSleep,
        mut awakening: Option<Awakening>,
        watched: &mut WatchedThreads,
    ) -> Vec<Line> {
        let tid = sleep.sleep.tid;
        if sleep.sleep.slept_in == Some(SleepSite::Start) {
            self.requests.iter_mut().for_each(|requests| requests.add_past_sleep(sleep));
            return Vec::new();
        }
        self.loops
            .values_mut()
            .filter(|state| state.tid == tid)
            .for_each(|state| state.turns.record_sleep(sleep.clone()));
        awakening.iter_mut().for_each(|awakening| self.complete_causes(&mut awakening.parts.wakeup.parts));
        self.event_loops.add_past_sleep(sleep);
        self.requests.iter_mut().for_each(|requests| requests.add_past_sleep(sleep));
        let iteration = self.iterations.record_sleep(sleep, awakening.as_ref());
        let mut lines: Vec<Line> =
            awakening.iter().flat_map(|awakening| self.record_wakeup(tid, awakening, watched)).collect();
        if let Some(iteration) = iteration {
            lines.extend(
                self.record(tid, Activation::Timer, watched, |thread| thread.record_iteration(iteration)),
            );
        }
        lines
    }

    /// Completes the causes of a late wake-up: several threads of one name are the program's own if one of its threads has that name, and
    /// priorities are read now.
    fn complete_causes(&mut self, parts: &mut [Segment]) {
        for part in parts.iter_mut().filter(|part| part.cause.kind == CauseKind::Thread) {
            match part.pid {
                None => part.cause.own |= self.identities.all().any(|(_, name)| name == part.cause.name),
                Some(tid) if part.cause.real_time => part.cause.priority = self.priority(tid),
                Some(_) => {}
            }
        }
    }

    fn priority(&mut self, tid: u32) -> Option<Priority> {
        let has_room = self.priorities.len() < MAX_PRIORITIES;
        let read = || sched::policy(tid).ok().and_then(Policy::priority);
        match self.priorities.get(&tid) {
            Some(priority) => *priority,
            None if has_room => *self.priorities.entry(tid).or_insert_with(read),
            None => None,
        }
    }

    fn record_wakeup(&mut self, tid: u32, awakening: &Awakening, watched: &mut WatchedThreads) -> Vec<Line> {
        let mut condition = None;
        let lines = self.record(tid, awakening.activation, watched, |thread| {
            condition = Some(thread.condition());
            thread.record_wakeup(awakening);
        });
        condition.into_iter().for_each(|condition| self.note_late(condition, tid, &awakening.parts.wakeup));
        lines
    }

    /// An answer of a thread.
    pub(crate) fn add_request(&mut self, request: &Request, watched: &mut WatchedThreads) {
        let thread = self.identities.name(request.tid).unwrap_or_default();
        let is_selected = thread.is_empty() || self.identities.is_selected(thread);
        let Some(requests) = self.requests.as_mut().filter(|_| is_selected) else { return };
        requests.add(request, clock::now(), || {
            let pid = watched.process_of(request.tid);
            let process = watched.name(pid).unwrap_or_default();
            let name = if thread.is_empty() { process.clone() } else { thread.to_owned() };
            AnswererNames { pid, process, name }
        });
    }

    /// Records the requests of which all is known by now; returns the first lines of new conditions.
    pub(crate) fn settle_requests(&mut self, now: MonotonicTime) -> Vec<Line> {
        let Some(mut requests) = self.requests.take() else { return Vec::new() };
        let mut lines = Vec::new();
        for SettledRequest { tid, mut request, late } in requests.settle(now) {
            let (index, new) = self.service(tid, request.socket);
            lines.extend(new);
            if let Ok(breakdown) = &mut request.parts {
                self.complete_causes(&mut breakdown.parts);
            }
            self.threads[index].record_request(&request);
            if let Ok(breakdown) = &request.parts {
                self.note_late(self.threads[index].condition(), tid, breakdown);
            }
            if let Some(observer) = requests.observer() {
                observer.answered(request.socket, request.latency());
                late.into_iter().for_each(|thread| observer.late(thread, request.clone()));
            }
        }
        for (tid, socket, omitted) in requests.take_omitted() {
            let (index, new) = self.service(tid, socket);
            lines.extend(new);
            self.threads[index].record_omitted_answers(&omitted);
            if let Some(observer) = requests.observer() {
                observer.omitted(socket, &omitted);
            }
        }
        self.requests = Some(requests);
        lines
    }

    /// Shows every request to `observer` from now on.
    pub(crate) fn observe_requests(&mut self, observer: Box<dyn RequestObserver>) {
        if let Some(requests) = &mut self.requests {
            requests.observe(observer);
        }
    }

    /// Whether requests are measured, and there was none.
    pub(crate) fn lacks_requests(&self) -> bool {
        self.requests.is_some() && !self.conditions.keys().any(|(_, kind)| *kind == Activation::Request)
    }

    /// The index of a server's end of connections, which a thread has answered at, and the first lines of a new condition.
    fn service(&mut self, tid: u32, socket: ServerSocket) -> (usize, Vec<Line>) {
        let identity = ThreadIdentity { name: socket.to_string(), number: 0, is_joined: true };
        let (index, lines) = match self.conditions.get(&(identity.clone(), Activation::Request)) {
            Some(index) => (*index, Vec::new()),
            None => self.add(tid, identity, Activation::Request, None),
        };
        if self.counted.insert((tid, Activation::Request)) {
            self.threads[index].add_thread();
        }
        (index, lines)
    }

    /// From now on, later wake-ups than `above` get a timeline.
    pub(crate) fn report_late_above(&mut self, above: Latency) {
        self.late_above = Some(above);
    }

    /// Late wake-ups since the last call.
    pub(crate) fn take_late(&mut self, watched: &mut WatchedThreads) -> Vec<LateWakeup> {
        let mut late = std::mem::take(&mut self.late);
        for wakeup in &mut late {
            wakeup.pid = watched.process_of(wakeup.tid);
            wakeup.process = watched.name(wakeup.pid).unwrap_or_default();
        }
        late
    }

    fn note_late(&mut self, condition: u32, tid: u32, wakeup: &WakeupBreakdown) {
        if self.late_above.is_some_and(|above| wakeup.latency > above) && self.late.len() < MAX_LATE {
            let name =
                self.identities.name(tid).or_else(|| Some(self.names.get(condition as usize)?.as_str()));
            let thread = name.unwrap_or_default().to_owned();
            let (pid, process, idle_cpu, wakeup) = (0, String::new(), None, wakeup.clone());
            self.late.push(LateWakeup { condition, tid, pid, thread, process, idle_cpu, wakeup });
        }
    }

    /// A sleep whose waker was not seen; returns the first lines of a new condition.
    pub(crate) fn add_unseen_sleep(
        &mut self,
        sleep: &TracedSleep,
        watched: &mut WatchedThreads,
    ) -> Vec<Line> {
        let Some(at) = sleep.switched_in else { return Vec::new() };
        // The last sleep of an ended thread is reported when its name can no longer be read.
        if self.identities.name(sleep.tid).is_none() && watched.name(sleep.tid).is_none() {
            return Vec::new();
        }
        let preempted = sleep.lost.len() as u64 + u64::from(sleep.lost_more);
        self.record(sleep.tid, Activation::Unseen, watched, |thread| {
            thread.record_untraced_sleep(at, preempted)
        })
    }

    /// A thread's CPU time and waits; returns the first lines of a new condition.
    pub(crate) fn add_schedstat(
        &mut self,
        tid: u32,
        schedstat: Schedstat,
        watched: &mut WatchedThreads,
    ) -> Vec<Line> {
        self.record(tid, Activation::Unseen, watched, |thread| {
            thread.record_run_queue(schedstat.timeslices, schedstat.waited)
        })
    }

    /// Passes the summary of a thread to `update`, if the thread is selected; returns the first lines of a new condition.
    fn record(
        &mut self,
        tid: u32,
        activation: Activation,
        watched: &mut WatchedThreads,
        update: impl FnOnce(&mut ThreadSummary),
    ) -> Vec<Line> {
        let identity = self.identities.identify(tid, || name_of(tid, watched));
        let Some(identity) = identity else { return Vec::new() };
        self.record_as(identity, tid, activation, watched, update)
    }

    /// As `record`, of a thread whose identity is known.
    fn record_as(
        &mut self,
        identity: ThreadIdentity,
        tid: u32,
        activation: Activation,
        watched: &WatchedThreads,
        update: impl FnOnce(&mut ThreadSummary),
    ) -> Vec<Line> {
        let is_joined = identity.is_joined;
        let (index, lines) = match self.conditions.get(&(identity.clone(), activation)) {
            Some(index) => (*index, Vec::new()),
            None => self.add(tid, identity, activation, watched.start_of(tid)),
        };
        let thread = &mut self.threads[index];
        if self.counted.insert((tid, activation)) {
            thread.add_thread();
        }
        update(thread);
        // The next event may be of another thread of the group: the time between them is no interval.
        if is_joined {
            thread.switch_thread();
        }
        lines
    }

    /// A turn of a marked loop; returns the first lines of a new condition.
    pub(crate) fn add_turn(&mut self, turn: &MarkedTurn<'_>, traced: bool) -> Vec<Line> {
        let MarkedTurn { number, marked_loop, turn, spans } = *turn;
        if let Some(state) = self.loops.get_mut(&number) {
            state.turns.record_turn(turn);
            self.threads[state.index].record_spans(turn, spans);
            return Vec::new();
        }
        if !self.identities.is_selected(&marked_loop.name) {
            return Vec::new();
        }
        let namesakes =
            self.loops.values().filter(|state| self.names[state.index] == marked_loop.name).count();
        let identity = ThreadIdentity {
            name: marked_loop.name.clone(),
            number: u32::try_from(namesakes).unwrap_or(u32::MAX),
            is_joined: false,
        };
        let (index, lines) = self.add(marked_loop.tid, identity, Activation::Loop, None);
        self.threads[index].add_thread();
        self.threads[index].set_loop_period(marked_loop.period);
        self.threads[index].record_spans(turn, spans);
        let mut turns = LoopTurns::new(marked_loop.period, traced);
        turns.record_turn(turn);
        self.loops.insert(number, LoopState { tid: marked_loop.tid, index, turns });
        lines
    }

    /// An iteration of an event loop. Its stack and file are looked up now, before they change.
    pub(crate) fn add_iteration(&mut self, iteration: Iteration, watched: &mut WatchedThreads) {
        let identity = self.identities.identify(iteration.tid, || name_of(iteration.tid, watched));
        let Some(identity) = identity else { return };
        let process = watched.process_of(iteration.tid);
        self.event_loops.add_iteration(iteration, identity, process);
    }

    /// Records iterations of threads whose wake-ups are known, and all of them at the end; those longer than `above` are long. Returns
    /// the first lines of a new condition: of a thread that never slept.
    pub(crate) fn settle_iterations(
        &mut self,
        above: Span,
        now: MonotonicTime,
        watched: &mut WatchedThreads,
    ) -> Vec<Line> {
        let (mut lines, mut too_early) = (Vec::new(), Vec::new());
        for mut pending in self.event_loops.take() {
            let has =
                |owner: &&Activation| self.conditions.contains_key(&(pending.identity.clone(), **owner));
            let activation = WITH_EVENT_LOOPS.iter().find(has).copied();
            let owner = match self.event_loops.owner_of(&mut pending, activation, above, now) {
                IterationOwner::EventLoop(owner) => owner,
                IterationOwner::NotAnEventLoop => continue,
                IterationOwner::Unknown => {
                    too_early.push(pending);
                    continue;
                }
            };
            let PendingIteration { iteration, identity, function, shared_by } = pending;
            let update = |thread: &mut ThreadSummary| {
                thread.record_loop_iteration(&iteration, above, function, shared_by)
            };
            lines.extend(self.record_as(identity.clone(), iteration.tid, owner, watched, update));
            if let Some(index) = self.conditions.get(&(identity, owner)) {
                self.event_loops.set_index(iteration.tid, *index);
            }
        }
        for (index, ledger) in self.event_loops.take_ledgers(now) {
            self.threads[index].record_loop_ledger(&ledger, above);
        }
        self.event_loops.put_back(too_early);
        lines
    }

    /// Records the turns that are complete by now; at the end, all.
    pub(crate) fn settle_turns(&mut self, now: MonotonicTime, is_end: bool) {
        let Self { loops, threads, .. } = self;
        let mut late = Vec::new();
        for LoopState { index, turns, tid } in loops.values_mut() {
            let completed: Vec<CompletedTurn> = if is_end { turns.end() } else { turns.settle(now) };
            completed.iter().for_each(|turn| threads[*index].record_turn(turn));
            let condition = threads[*index].condition();
            let awakenings = completed.into_iter().filter_map(|turn| turn.awakening);
            late.extend(awakenings.map(|awakening| (condition, *tid, awakening.parts.wakeup)));
        }
        late.iter().for_each(|(condition, tid, wakeup)| self.note_late(*condition, *tid, wakeup));
    }

    fn add(
        &mut self,
        tid: u32,
        identity: ThreadIdentity,
        activation: Activation,
        start: Option<&ThreadStart>,
    ) -> (usize, Vec<Line>) {
        let index = self.threads.len();
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let now = clock::now();
        let in_force = in_force(tid, start);
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
        self.conditions.insert((identity, activation), index);
        (index, vec![Line::Condition(Box::new(condition)), started(number, now, in_force)])
    }

    /// A thread has ended.
    pub(crate) fn note_end(&mut self, tid: u32) {
        self.chains.forget(tid);
        self.iterations.forget(tid);
        self.event_loops.forget(tid);
        self.requests.iter_mut().for_each(|requests| requests.forget(tid));
        self.ending.push(tid);
    }

    /// A thread was renamed, or its id is reused.
    fn forget_identity(&mut self, tid: u32) {
        let Some(identity) = self.identities.forget(tid) else { return };
        for activation in Activation::ALL {
            self.counted.remove(&(tid, activation));
            if let Some(index) = self.conditions.get(&(identity.clone(), activation)) {
                self.threads[*index].switch_thread();
            }
        }
    }

    /// Threads that were counted together with others.
    pub(crate) const fn joined(&self) -> u64 {
        self.identities.joined()
    }

    pub(crate) fn len(&self) -> usize {
        self.identities.all().count()
    }

    /// Reads the current names: a program that executes another one is renamed.
    pub(crate) fn update_names(&mut self, watched: &mut WatchedThreads) {
        let renamed = |(tid, name): (u32, &str)| watched.name(tid).filter(|now| now != name).map(|_| tid);
        let renamed: Vec<u32> = self.identities.all().filter_map(renamed).collect();
        renamed.into_iter().for_each(|tid| self.forget_identity(tid));
    }

    /// Latencies since the last call.
    pub(crate) fn take_blocks(&mut self, now: MonotonicTime) -> Vec<Line> {
        self.threads.iter_mut().filter_map(|thread| thread.block(now)).collect()
    }

    /// Causes and rhythm since the last call.
    pub(crate) fn take_reasons(&mut self, now: MonotonicTime, tracer: &str) -> Vec<Line> {
        self.threads.iter_mut().flat_map(|thread| thread.reasons(now, tracer)).collect()
    }

    /// Each thread with its name, for a display.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &ThreadSummary)> {
        self.names.iter().map(String::as_str).zip(&self.threads)
    }
}

fn name_of(tid: u32, watched: &mut WatchedThreads) -> String {
    watched.name(tid).unwrap_or_else(|| ENDED_NAME.to_owned())
}

fn started(condition: u32, at: MonotonicTime, in_force: EffectiveSettings) -> Line {
    let (sender_in_force, runtime, warm_up, caveats) = (None, None, None, Vec::new());
    Line::Started(TurnStarted {
        condition,
        round: 0,
        at,
        in_force,
        sender_in_force,
        runtime,
        warm_up,
        caveats,
    })
}
