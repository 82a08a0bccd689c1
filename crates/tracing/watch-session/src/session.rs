//! The watch of a program, from its start to the last line of the recording.

use std::collections::BTreeMap;
use std::mem::{replace, take};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use howlate_analyse::Analysis;
use howlate_analyse::watch::ThreadSummary;
use howlate_linux::clock;
use howlate_model::{
    Caveat, EndReason, Header, Iteration, Latency, LifeEvent, LifeEventKind, Line, Mark, MonotonicTime,
    NO_TRACER, Request, Span, TracedSleep as Sleep, TurnFinished, block_length,
};
use howlate_session::{LateActions, Recorder, Timelines, is_known};
use howlate_watched_program::{MarkedLoops, ThreadChanges, UnmeasuredSpans, WatchTarget, WatchedThreads};

use crate::attachment::{Attachment, Visibility, follow};
use crate::background_priority::WatchPriority;
use crate::chosen_tracer::AttachError;
use crate::followed_threads::FollowedThreads;
use crate::requests::RequestObserver;
use crate::schedstats::SchedstatReader;

/// How often events and new threads are read.
const UPDATE_EVERY: Span = Span::from_millis(50);
/// How often the names of many threads are read again, and a display that is not live changes.
const NAMES_EVERY: Span = Span::from_secs(1);
/// Early, because some programs end soon.
const FIRST_FACTS: Span = Span::from_millis(200);
/// Up to this many threads, names are read at every update.
const FEW_THREADS: usize = 64;
/// How often causes are recorded: a crash loses at most this much.
const REASONS_EVERY: Span = Span::from_secs(60);
/// How often a live display changes. It gets causes first after `FIRST_REASONS`, then after a quarter of the elapsed time.
const LIVE_EVERY: Span = Span::from_millis(250);
const FIRST_REASONS: Span = Span::from_secs(1);
/// Time for the last sleeps to be reported.
const SETTLING: Span = Span::from_millis(10);
/// Longer than any event is waited for.
const END_OF_TIME: Span = Span::from_secs(3_600);

/// Shows the progress of a watch.
pub trait WatchDisplay {
    /// Replaces what was shown: the time since the start, each thread with its name, and the analysis so far.
    fn show(&mut self, since: Span, threads: &[(&str, &ThreadSummary)], so_far: &Analysis);
    /// Whether it changes several times a second, and shows causes as they are found.
    fn is_live(&self) -> bool {
        false
    }
    /// Times that the user has marked since the last call.
    fn marks(&mut self) -> Vec<MonotonicTime> {
        Vec::new()
    }
    fn clear(&mut self);
}

/// A query of another thread: reads the analysis so far.
pub type AnalysisQuery = Box<dyn FnOnce(&Analysis) + Send>;

/// The watch of a program.
pub struct WatchSession {
    attachment: Attachment,
    recorder: Recorder<Analysis>,
    next_facts: MonotonicTime,
    /// Queries of other threads.
    queries: Option<Receiver<AnalysisQuery>>,
    priority: WatchPriority,
    /// Activity of all CPUs around late wake-ups, if it is recorded.
    timelines: Option<Timelines>,
    /// What is done about late wake-ups.
    late_actions: Option<LateActions>,
    /// Whether one of them has ended the watch.
    has_stopped: bool,
    display: Option<Box<dyn WatchDisplay>>,
    began: MonotonicTime,
    /// Earlier events of the process are of howlate itself, before the `execve`.
    own_since: MonotonicTime,
    /// Start of the current block, of the current causes and names.
    blocks_since: MonotonicTime,
    reasons_since: MonotonicTime,
    names_since: MonotonicTime,
    shown_at: MonotonicTime,
    lost: u64,
    /// Lost events that the blocks of each condition have reported.
    reported_lost: BTreeMap<u32, u64>,
    /// Threads found in `/proc`, because the tracer does not report new threads.
    found_late: u64,
    /// Whether the result is precise enough to stop.
    is_precise: bool,
}

impl WatchSession {
    /// A started program does not run yet. `refused`: caveats of the machine.
    pub fn new(mut attachment: Attachment, mut recorder: Recorder<Analysis>, refused: &[Caveat]) -> Self {
        let caveats = take(&mut attachment.caveats).into_iter();
        caveats.chain(refused.iter().cloned()).for_each(|caveat| recorder.caveat(caveat));
        let now = clock::now();
        Self {
            attachment,
            recorder,
            next_facts: now.plus(FIRST_FACTS),
            queries: None,
            priority: WatchPriority::new(now),
            timelines: None,
            late_actions: None,
            has_stopped: false,
            display: None,
            began: now,
            own_since: now,
            blocks_since: now,
            reasons_since: now,
            names_since: now,
            shown_at: now,
            lost: 0,
            reported_lost: BTreeMap::new(),
            found_late: 0,
            is_precise: false,
        }
    }

    /// A watch of which nothing is saved.
    pub fn unrecorded(attachment: Attachment, header: Header) -> Self {
        Self::new(attachment, Recorder::keeping(header, None, &Arc::default()), &[])
    }

    #[must_use]
    pub fn with_display(mut self, display: Option<Box<dyn WatchDisplay>>) -> Self {
        self.display = display;
        self
    }

    /// What is visible of the program.
    pub fn visibility(&self) -> Visibility {
        self.attachment.visibility()
    }

    #[must_use]
    pub fn with_queries(mut self, queries: Receiver<AnalysisQuery>) -> Self {
        self.queries = Some(queries);
        self
    }

    /// Records timelines of late wake-ups, or the caveat why not.
    #[must_use]
    pub fn with_timelines(mut self, timelines: Result<Timelines, Box<Caveat>>) -> Self {
        let started = timelines.and_then(|mut timelines| timelines.start().map(|()| timelines));
        match started {
            Ok(timelines) => {
                self.timelines = Some(timelines);
                // At low priority the thread would read too late, when the activity of the CPUs is overwritten.
                self.priority.restore();
            }
            Err(caveat) => self.recorder.caveat(*caveat),
        }
        self.set_late_threshold();
        self
    }

    /// Does something about each late wake-up.
    #[must_use]
    pub fn with_late_actions(mut self, actions: Option<LateActions>) -> Self {
        self.late_actions = actions;
        self.set_late_threshold();
        self
    }

    /// Shows every request to `observer`, if requests are measured.
    #[must_use]
    pub fn with_request_observer(mut self, observer: Box<dyn RequestObserver>) -> Self {
        self.attachment.followed.observe_requests(observer);
        self
    }

    /// Watches until the program ends, the time is up, an action ends it, or the user interrupts.
    pub fn run(mut self, target: &mut WatchTarget, interrupted: &AtomicBool) -> WatchOutcome {
        self.began = clock::now();
        self.own_since = self.began;
        let until = self.attachment.duration.map(|duration| self.began.plus(duration));
        let is_short =
            || until.is_some_and(|until| interrupted.load(Ordering::Relaxed) && clock::now() < until);
        while !interrupted.load(Ordering::Relaxed) && until.is_none_or(|until| clock::now() < until) {
            let has_ended = target.has_ended(&self.attachment.threads);
            let began = clock::now();
            self.update();
            self.priority.update(clock::now(), began);
            if has_ended || self.is_precise || self.has_stopped {
                break;
            }
            let left = until.map_or(UPDATE_EVERY, |until| until.since(clock::now()).min(UPDATE_EVERY));
            let planned = clock::now().plus(left);
            // A signal ends the pause early.
            drop(clock::sleep_for(left));
            self.priority.update(clock::now(), planned);
        }
        // Without a duration, the user ends a complete watch.
        let how = match is_short() {
            _ if self.has_stopped => EndReason::StoppedAbove,
            true => EndReason::Interrupted,
            false => EndReason::Done,
        };
        self.end(how)
    }

    /// Reads and records what has happened since the last update.
    fn update(&mut self) {
        let ThreadChanges { started, ended } = self.attachment.threads.update();
        if let Some(tracer) = &mut self.attachment.tracer {
            // A thread that has ended meanwhile cannot be followed.
            started.iter().for_each(|thread| drop(follow(tracer.as_mut(), thread)));
            started.iter().for_each(|thread| self.attachment.followed.follow(thread));
        }
        if self.attachment.followed.len() <= FEW_THREADS {
            self.attachment.followed.update_names(&mut self.attachment.threads);
        }
        if !self.read() {
            self.found_late += started.len() as u64;
        }
        self.read_schedstats();
        for tid in ended {
            self.attachment.schedstats.iter_mut().for_each(|schedstats| schedstats.forget(tid));
            self.attachment.followed.note_end(tid);
        }
        self.record_due(clock::now());
        for query in self.queries.iter().flat_map(Receiver::try_iter) {
            query(self.recorder.analysis());
        }
    }

    /// Reads turns before sleeps, since the sleep of a turn is reported after it. Returns whether the tracer reports new threads.
    fn read(&mut self) -> bool {
        let Self { attachment: Attachment { tracer, loops, followed, .. }, recorder, .. } = self;
        let is_traced = tracer.as_ref().is_some_and(|tracer| tracer.tier().sees_wakers());
        if let Some(loops) = loops {
            let lost = loops.read(&mut |turn| {
                followed.add_turn(&turn, is_traced).iter().for_each(|line| recorder.keep(line));
            });
            self.lost = self.lost.saturating_add(lost);
        }
        let mut reports_threads = true;
        for _ in 0..MAX_BATCHES {
            let is_more;
            (reports_threads, is_more) = self.read_tracer(is_traced);
            if !is_more {
                break;
            }
        }
        reports_threads
    }

    /// Reads a batch of events; returns whether the tracer reports new threads, and whether there are more events.
    fn read_tracer(&mut self, is_traced: bool) -> (bool, bool) {
        let Self { attachment, recorder, own_since, .. } = self;
        let Attachment { tracer: Some(tracer), threads, followed, held_pid, .. } = attachment else {
            return (true, false);
        };
        let mut sleeps = Vec::new();
        let (lost, is_more) = tracer.read_some(&mut |sleep| sleeps.push(sleep));
        let mut lives = tracer.lives();
        // `execve` renames the process.
        let is_exec =
            |life: &&LifeEvent| Some(life.tid) == *held_pid && life.happened == LifeEventKind::Named;
        if let Some(life) = lives.iter().flatten().find(is_exec) {
            (*own_since, *held_pid) = (life.at, None);
        }
        lives.iter().for_each(|lives| threads.note_end(lives));
        let is_own = |tid, at: MonotonicTime| at >= *own_since && !threads.is_of_another(tid, at);
        sleeps.retain(|sleep| is_own(sleep.tid, sleep.waking));
        let mut iterations = tracer.iterations();
        iterations.retain(|iteration| is_own(iteration.tid, iteration.from));
        lives.iter_mut().for_each(|lives| lives.retain(|life| !threads.is_of_another(life.tid, life.at)));
        let mut requests = tracer.requests();
        requests.retain(|request| is_own(request.tid, request.answered));
        let reports_threads = lives.is_some();
        match is_traced {
            true => {
                let events = in_order(sleeps, iterations, requests, lives.unwrap_or_default());
                process(events, followed, threads).iter().for_each(|line| recorder.keep(line));
            }
            false => sleeps
                .iter()
                .flat_map(|sleep| followed.add_unseen_sleep(sleep, threads))
                .for_each(|line| recorder.keep(&line)),
        }
        self.lost = self.lost.saturating_add(lost);
        if lost > 0 {
            self.priority.restore();
        }
        (reports_threads, is_more)
    }

    /// Reads schedstat where no tracer sees wake-ups.
    fn read_schedstats(&mut self) {
        let Self { attachment, recorder, .. } = self;
        let Attachment { schedstats: Some(schedstats), threads, followed, .. } = attachment else { return };
        for tid in threads.all() {
            let lines = schedstats.read(tid).map(|schedstat| followed.add_schedstat(tid, schedstat, threads));
            lines.iter().flatten().for_each(|line| recorder.keep(line));
        }
    }

    /// Records what is complete by now; at the end, everything.
    fn settle(&mut self, now: MonotonicTime, is_end: bool) {
        let until = if is_end { now.plus(END_OF_TIME) } else { now };
        let mut lines = self.attachment.followed.settle_sleeps(until, &mut self.attachment.threads);
        // Turns need the sleeps to know what they waited for.
        self.attachment.followed.settle_turns(now, is_end);
        // Iterations need the kind of wake-up of their thread.
        lines.extend(self.attachment.followed.settle_iterations(
            self.attachment.loop_above,
            until,
            &mut self.attachment.threads,
        ));
        lines.extend(self.attachment.followed.settle_requests(until));
        lines.iter().for_each(|line| self.recorder.keep(line));
    }

    /// Wake-ups later than the current threshold get a timeline, and actions. With both, the two thresholds are the same.
    fn set_late_threshold(&mut self) {
        let of_timelines = self.timelines.as_ref().map(Timelines::late_above);
        let above = of_timelines.or_else(|| self.late_actions.as_ref().map(LateActions::above));
        let above = above.map(Latency::from_span);
        above.into_iter().for_each(|above| self.attachment.followed.report_late_above(above));
    }

    /// Acts on late wake-ups, and records timelines that are due; at the end, all.
    fn handle_late(&mut self, now: MonotonicTime, is_end: bool) {
        let Self { attachment, late_actions, has_stopped, timelines, .. } = self;
        for late in attachment.followed.take_late(&mut attachment.threads) {
            *has_stopped |= late_actions.as_mut().is_some_and(|actions| actions.take(&late, now));
            for timelines in timelines.iter_mut() {
                timelines.saw(late.clone(), now);
            }
        }
        late_actions.iter_mut().for_each(|actions| actions.look(now));
        let Some(timelines) = timelines else { return };
        let mut lines = timelines.look(now);
        if is_end {
            lines.extend(timelines.stop(now));
        }
        lines.iter().for_each(|line| self.recorder.keep(line));
        self.set_late_threshold();
    }

    /// Records blocks, causes and names when they are due.
    fn record_due(&mut self, now: MonotonicTime) {
        self.settle(now, false);
        self.handle_late(now, false);
        if now.since(self.blocks_since) >= block_length(now.since(self.began)) {
            self.blocks_since = now;
            self.record_blocks(now);
            self.is_precise = is_known(self.recorder.analysis());
        }
        if now.since(self.reasons_since) >= self.reasons_every(now) {
            self.reasons_since = now;
            self.record_reasons(now);
        }
        if now >= self.next_facts {
            self.next_facts = now.plus(NAMES_EVERY);
            self.attachment.facts.update(now, &mut self.attachment.threads);
        }
        if now.since(self.names_since) >= NAMES_EVERY {
            self.names_since = now;
            self.attachment.followed.update_names(&mut self.attachment.threads);
        }
        if now.since(self.shown_at) >= if self.is_live() { LIVE_EVERY } else { NAMES_EVERY } {
            self.shown_at = now;
            self.show(now);
        }
    }

    /// A lost event may have been a late wake-up of any thread: in a search for rare ones it counts for each.
    fn record_blocks(&mut self, now: MonotonicTime) {
        let is_search = self.recorder.analysis().header.until.is_some();
        for mut line in self.attachment.followed.take_blocks(now) {
            if let (Line::Block(block), true) = (&mut line, is_search) {
                let reported = self.reported_lost.entry(block.condition).or_default();
                block.lost = self.lost.saturating_sub(replace(reported, self.lost));
            }
            self.recorder.keep(&line);
        }
    }

    fn is_live(&self) -> bool {
        self.display.as_ref().is_some_and(|display| display.is_live())
    }

    /// A live display gets causes sooner at first, and then as rarely as the recording needs.
    fn reasons_every(&self, now: MonotonicTime) -> Span {
        match self.is_live() {
            true => {
                Span::from_nanos(now.since(self.began).as_nanos() / 4).clamp(FIRST_REASONS, REASONS_EVERY)
            }
            false => REASONS_EVERY,
        }
    }

    fn record_reasons(&mut self, now: MonotonicTime) {
        let tracer = self.attachment.tracer.as_ref().filter(|tracer| tracer.tier().sees_wakers());
        let tracer = tracer.map_or(NO_TRACER, |tracer| tracer.tier().name());
        self.attachment.followed.take_reasons(now, tracer).iter().for_each(|line| self.recorder.keep(line));
    }

    fn show(&mut self, now: MonotonicTime) {
        let Some(display) = &mut self.display else { return };
        let threads: Vec<_> = self.attachment.followed.all().collect();
        display.show(now.since(self.began), &threads, self.recorder.analysis());
        let marks = display.marks();
        marks.into_iter().for_each(|at| self.recorder.keep(&Line::Mark(Mark { at })));
    }

    /// Detaches from the program, and returns the result.
    fn end(mut self, how: EndReason) -> WatchOutcome {
        self.priority.restore();
        drop(clock::sleep_for(SETTLING));
        self.attachment.tracer.iter_mut().for_each(|tracer| tracer.stop());
        self.read();
        self.read_schedstats();
        self.settle(clock::now(), true);
        self.handle_late(clock::now(), true);
        self.display.iter_mut().for_each(|display| display.clear());
        let now = clock::now();
        self.record_blocks(now);
        self.record_reasons(now);
        let conditions = self.recorder.analysis().outcomes().len();
        for condition in (0..conditions).filter_map(|place| u32::try_from(place).ok()) {
            self.recorder.keep(&finished(condition, now));
        }
        self.recorder.keep(&Line::Program(Box::new(self.attachment.facts.program())));
        self.attachment.freezes.caveats().into_iter().for_each(|caveat| self.recorder.caveat(caveat));
        self.attachment.quotas.used_up().into_iter().for_each(|caveat| self.recorder.caveat(caveat));
        if self.lost > 0 {
            self.recorder.caveat(Caveat::SamplesLost { count: self.lost });
        }
        let timelines = self.timelines.as_ref().and_then(Timelines::missing);
        timelines.into_iter().for_each(|caveat| self.recorder.caveat(caveat));
        let missed = self.attachment.tracer.as_ref().map_or(0, |tracer| tracer.missed());
        if missed > 0 {
            self.recorder.caveat(Caveat::WakeupsNotSeen { count: missed });
        }
        if self.found_late > 0 {
            self.recorder.caveat(Caveat::ThreadsFoundLate { count: self.found_late, every_ns: UPDATE_EVERY });
        }
        let limited_waits = self.attachment.schedstats.as_ref().map_or(0, SchedstatReader::limited_waits);
        if limited_waits > 0 {
            self.recorder.caveat(Caveat::WaitsBounded { count: limited_waits });
        }
        if self.attachment.followed.lacks_requests() {
            self.recorder.caveat(Caveat::NoRequests);
        }
        if self.attachment.followed.joined() > 0 {
            self.recorder.caveat(Caveat::ThreadsJoined { count: self.attachment.followed.joined() });
        }
        let unmeasured_loops = self.attachment.loops.as_ref().map_or(0, MarkedLoops::unmeasured_loops);
        if unmeasured_loops > 0 {
            self.recorder.caveat(Caveat::LoopsNotMeasured { count: unmeasured_loops });
        }
        let spans = self.attachment.loops.as_ref().map_or_else(Vec::new, MarkedLoops::unmeasured_spans);
        span_caveats(&spans).into_iter().for_each(|caveat| self.recorder.caveat(caveat));
        let commands = self.late_actions.as_ref().and_then(LateActions::left_out);
        commands.into_iter().for_each(|caveat| self.recorder.caveat(caveat));
        let analysis = self.recorder.end(Some(how));
        self.late_actions.iter_mut().for_each(LateActions::finish);
        let no_data_reason = self.attachment.no_tracer_reason.filter(|_| analysis.outcomes().is_empty());
        WatchOutcome { analysis, no_data_reason }
    }
}

/// Caveats about spans within turns.
fn span_caveats(spans: &[UnmeasuredSpans]) -> Vec<Caveat> {
    let count = spans.iter().map(|spans| spans.lost).fold(0, u64::saturating_add);
    let lost = (count > 0).then_some(Caveat::SpansLost { count });
    let first = |UnmeasuredSpans { name, first, kept, .. }: &UnmeasuredSpans| {
        Some(Caveat::SpansNotMeasured { name: name.clone(), first: first.clone()?, kept: *kept })
    };
    lost.into_iter().chain(spans.iter().filter_map(first)).collect()
}

fn finished(condition: u32, at: MonotonicTime) -> Line {
    let (usage, load, error) = (None, None, None);
    Line::Finished(TurnFinished { condition, round: 0, at, usage, unfinished: false, load, error })
}

/// Result of a watch.
pub struct WatchOutcome {
    pub analysis: Analysis,
    /// Why there is no data: there was no tracer, and the program has marked no loop.
    pub no_data_reason: Option<AttachError>,
}

/// Events in the order of time, so that each belongs to the thread that had the id then.
fn in_order(
    sleeps: Vec<Sleep>,
    iterations: Vec<Iteration>,
    requests: Vec<Request>,
    lives: Vec<LifeEvent>,
) -> Vec<(MonotonicTime, ThreadEvent)> {
    let sleeps = sleeps.into_iter().map(|sleep| (sleep.waking, ThreadEvent::Sleep(Box::new(sleep))));
    let iterations =
        iterations.into_iter().map(|iteration| (iteration.until, ThreadEvent::Iteration(iteration)));
    let mut events: Vec<(MonotonicTime, ThreadEvent)> = sleeps
        .chain(iterations)
        .chain(requests.into_iter().map(|request| (request.answered, ThreadEvent::Request(request))))
        .chain(lives.into_iter().map(|life| (life.at, ThreadEvent::Life(life))))
        .collect();
    events.sort_by_key(|(at, _)| *at);
    events
}

/// Takes events in; returns the first lines of new conditions.
fn process(
    events: Vec<(MonotonicTime, ThreadEvent)>,
    followed: &mut FollowedThreads,
    threads: &mut WatchedThreads,
) -> Vec<Line> {
    let mut lines = Vec::new();
    for (at, event) in events {
        match event {
            ThreadEvent::Sleep(sleep) => followed.add_sleep(*sleep, threads),
            ThreadEvent::Iteration(iteration) => followed.add_iteration(iteration, threads),
            ThreadEvent::Request(request) => followed.add_request(&request, threads),
            ThreadEvent::Life(life) => {
                let has_ended = life.happened == LifeEventKind::Ended;
                followed.note_life(life, threads);
                // Its number may go to the next thread of its name.
                if has_ended {
                    lines.extend(followed.settle_sleeps(at, threads));
                }
            }
        }
    }
    lines
}

/// Batches of events that an update reads: more than a ring holds. Later ones are left to the next update.
const MAX_BATCHES: u32 = 64;

/// A traced event of a thread.
enum ThreadEvent {
    Sleep(Box<Sleep>),
    Iteration(Iteration),
    Request(Request),
    Life(LifeEvent),
}
