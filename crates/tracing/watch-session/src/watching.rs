//! Watching from the first look to the last line of the recording.

use std::collections::BTreeMap;
use std::mem::replace;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use howlate_analyse::Analysis;
use howlate_analyse::watch::ThreadSummary;
use howlate_linux::clock;
use howlate_model::{
    Caveat, Finished, Happened, HowEnded, Iteration, Latency, Life, Line, Mark, MonotonicTime, NO_TRACER,
    Span, TracedSleep as Sleep, block_length,
};
use howlate_session::{Recorder, Timelines, is_known};
use howlate_system::{GroupFreezes, GroupQuotas};
use howlate_trace::Tracer;
use howlate_watched_program::{Looked, Loops, SpansLeftOut, Subject, Threads};

use crate::accounts::Accounts;
use crate::attached::{Attached, Seen, follow, seen};
use crate::background_priority::WatchPriority;
use crate::error::NotWatched;
use crate::followed::{Followed, Late};
use crate::program_facts::ProgramFacts;

/// How often it is looked for what was seen, and for threads that have come or gone.
const LOOK_EVERY: Span = Span::from_millis(50);
/// How often many threads are asked for their names again, and the display changes.
const NAMES_EVERY: Span = Span::from_secs(1);
/// Programs that end soon are looked at earlier.
const FIRST_FACTS: Span = Span::from_millis(200);
/// So many are asked at each look.
const FEW: usize = 64;
/// Causes are handed on this often, so that a crash costs no more.
const REASONS_EVERY: Span = Span::from_secs(60);
/// A live display changes this often; causes come to it first after this much, then after a quarter of the time that has passed.
const LIVE_EVERY: Span = Span::from_millis(250);
const FIRST_REASONS: Span = Span::from_secs(1);
/// Time for the last sleeps to be told.
const SETTLING: Span = Span::from_millis(10);
/// Nobody waits so long for anything to be told.
const LONG_PAST: Span = Span::from_secs(3_600);
/// Where it is shown what is known so far.
pub trait Display {
    /// Shows each thread with its name, this long after the beginning, and what has been recorded of all; in place of what was shown
    /// before.
    fn show(&mut self, since: Span, threads: &[(&str, &ThreadSummary)], so_far: &Analysis);
    /// Whether it shows the recording while it grows: several times a second, and with causes as they come.
    fn is_live(&self) -> bool {
        false
    }
    /// Moments that somebody who watched it has marked since the last time.
    fn marks(&mut self) -> Vec<MonotonicTime> {
        Vec::new()
    }
    /// Removes what was shown.
    fn clear(&mut self);
}

/// Takes a look at what is known so far.
pub type Look = Box<dyn FnOnce(&Analysis) + Send>;

/// A program that is being watched.
pub struct Watching {
    /// None where nothing but marked loops is measured.
    tracer: Option<Box<dyn Tracer>>,
    /// Why there is none.
    untraced: Option<NotWatched>,
    /// Where no tracer sees what wakes threads.
    accounts: Option<Accounts>,
    loops: Option<Loops>,
    loop_above: Span,
    threads: Threads,
    followed: Followed,
    recorder: Recorder<Analysis>,
    /// Those of the program's control groups.
    quotas: GroupQuotas,
    facts: ProgramFacts,
    next_facts: MonotonicTime,
    freezes: GroupFreezes,
    /// Who else wants to know meanwhile.
    looks: Option<Receiver<Look>>,
    priority: WatchPriority,
    /// What all CPUs did around late wake-ups, where that is kept.
    timelines: Option<Timelines>,
    display: Option<Box<dyn Display>>,
    duration: Option<Span>,
    began: MonotonicTime,
    /// What is seen of it before is not its own.
    own_since: MonotonicTime,
    /// The process that was started for it, until a tracer has told that it has become the program.
    held: Option<u32>,
    /// When the current block, the current causes and the current names began.
    blocks: MonotonicTime,
    reasons: MonotonicTime,
    names: MonotonicTime,
    shown: MonotonicTime,
    lost: u64,
    /// How much of that the blocks of each condition have told.
    told: BTreeMap<u32, u64>,
    /// Threads that were found by looking, because the tracer does not see them come.
    found_late: u64,
    /// Whether all is known that it goes on until.
    is_known: bool,
}

impl Watching {
    /// Begins to watch. A program that was started for it does not run yet. What is to be said of the machine is `refused`.
    pub fn begin(attached: Attached, mut recorder: Recorder<Analysis>, refused: &[Caveat]) -> Self {
        let Attached {
            tracer,
            untraced,
            accounts,
            loops,
            loop_above,
            threads,
            followed,
            caveats,
            quotas,
            facts,
            freezes,
            duration,
            held,
        } = attached;
        caveats.into_iter().chain(refused.iter().cloned()).for_each(|one| recorder.caveat(one));
        let now = clock::now();
        Self {
            tracer,
            untraced,
            accounts,
            loops,
            loop_above,
            threads,
            followed,
            recorder,
            quotas,
            facts,
            next_facts: now.plus(FIRST_FACTS),
            freezes,
            looks: None,
            priority: WatchPriority::new(now),
            timelines: None,
            display: None,
            duration,
            began: now,
            own_since: now,
            held,
            blocks: now,
            reasons: now,
            names: now,
            shown: now,
            lost: 0,
            told: BTreeMap::new(),
            found_late: 0,
            is_known: false,
        }
    }

    /// The same, shown meanwhile.
    #[must_use]
    pub fn shown_on(mut self, display: Option<Box<dyn Display>>) -> Self {
        self.display = display;
        self
    }

    /// What is seen of it.
    pub fn seen(&self) -> Seen {
        seen(self.tracer.as_deref(), self.accounts.as_ref())
    }

    /// The same for others who look at it meanwhile.
    #[must_use]
    pub fn showing(mut self, looks: Receiver<Look>) -> Self {
        self.looks = Some(looks);
        self
    }

    /// The same, and what all CPUs did around late wake-ups is kept, or it is said why not.
    #[must_use]
    pub fn keeping(mut self, timelines: Result<Timelines, Box<Caveat>>) -> Self {
        let begun = timelines.and_then(|mut timelines| timelines.start().map(|()| timelines));
        match begun {
            Ok(timelines) => {
                self.timelines = Some(timelines);
                // While others go first, what their CPUs did is overwritten.
                self.priority.restore();
            }
            Err(caveat) => self.recorder.caveat(*caveat),
        }
        self.say_which_are_late();
        self
    }

    /// Watches until the program, the time or the patience of whoever started it ends.
    pub fn until_the_end(mut self, subject: &mut Subject, interrupted: &AtomicBool) -> Ended {
        self.began = clock::now();
        self.own_since = self.began;
        let until = self.duration.map(|duration| self.began.plus(duration));
        let is_short =
            || until.is_some_and(|until| interrupted.load(Ordering::Relaxed) && clock::now() < until);
        while !interrupted.load(Ordering::Relaxed) && until.is_none_or(|until| clock::now() < until) {
            let over = subject.is_over(&self.threads);
            let began = clock::now();
            self.look();
            self.priority.update(clock::now(), began);
            if over || self.is_known {
                break;
            }
            let left = until.map_or(LOOK_EVERY, |until| until.since(clock::now()).min(LOOK_EVERY));
            let planned = clock::now().plus(left);
            // A signal makes the look come earlier.
            drop(clock::pause(left));
            self.priority.update(clock::now(), planned);
        }
        // Without a length, whoever ends it has what was asked for.
        let how = if is_short() { HowEnded::Interrupted } else { HowEnded::Done };
        self.end(how)
    }

    /// Takes in what has come.
    fn look(&mut self) {
        let Looked { come, gone } = self.threads.look();
        if let Some(tracer) = &mut self.tracer {
            // One that has ended meanwhile cannot be followed any more.
            come.iter().for_each(|thread| drop(follow(tracer.as_mut(), thread)));
            come.iter().for_each(|thread| self.followed.follow(thread));
        }
        if self.followed.len() <= FEW {
            self.followed.look_for_new_names(&mut self.threads);
        }
        if !self.read() {
            self.found_late += come.len() as u64;
        }
        self.read_accounts();
        for tid in gone {
            self.accounts.iter_mut().for_each(|accounts| accounts.forget(tid));
            self.followed.ended(tid);
        }
        self.hand_on(clock::now());
        for look in self.looks.iter().flat_map(Receiver::try_iter) {
            look(self.recorder.analysis());
        }
    }

    /// Takes in turns before sleeps: what is told of a turn's sleep is told after it. Whether threads are seen to come, or there
    /// is nothing to be seen of them.
    fn read(&mut self) -> bool {
        let Self { tracer, loops, followed, recorder, .. } = self;
        let is_traced = tracer.as_ref().is_some_and(|tracer| tracer.tier().sees_wakers());
        if let Some(loops) = loops {
            let lost = loops.read(&mut |turn| {
                followed.turned(&turn, is_traced).iter().for_each(|line| recorder.keep(line));
            });
            self.lost = self.lost.saturating_add(lost);
        }
        let mut are_seen = true;
        for _ in 0..PARTS_OF_A_LOOK {
            let is_more;
            (are_seen, is_more) = self.read_tracer(is_traced);
            if !is_more {
                break;
            }
        }
        are_seen
    }

    /// Takes in a part of what was traced; whether threads are seen to come, as above, and whether there is more.
    fn read_tracer(&mut self, is_traced: bool) -> (bool, bool) {
        let Self { tracer: Some(tracer), threads, followed, recorder, own_since, held, .. } = self else {
            return (true, false);
        };
        let mut seen = Vec::new();
        let (lost, is_more) = tracer.read_some(&mut |one| seen.push(one));
        let mut lives = tracer.lives();
        // A process is called otherwise when it becomes another program.
        let becomes = |life: &&Life| Some(life.tid) == *held && life.happened == Happened::Named;
        if let Some(life) = lives.iter().flatten().find(becomes) {
            (*own_since, *held) = (life.at, None);
        }
        lives.iter().for_each(|lives| threads.note_end(lives));
        let is_own = |tid, at: MonotonicTime| at >= *own_since && !threads.is_of_another(tid, at);
        seen.retain(|one| is_own(one.tid, one.waking));
        let mut iterations = tracer.iterations();
        iterations.retain(|one| is_own(one.tid, one.from));
        lives.iter_mut().for_each(|lives| lives.retain(|life| !threads.is_of_another(life.tid, life.at)));
        let are_seen = lives.is_some();
        match is_traced {
            true => in_order(seen, iterations, lives.unwrap_or_default(), followed, threads)
                .iter()
                .for_each(|line| recorder.keep(line)),
            false => {
                seen.iter().flat_map(|one| followed.slept(one, threads)).for_each(|line| recorder.keep(&line))
            }
        }
        self.lost = self.lost.saturating_add(lost);
        if lost > 0 {
            self.priority.restore();
        }
        (are_seen, is_more)
    }

    /// Takes in what the kernel tells of each thread where no tracer tells more.
    fn read_accounts(&mut self) {
        let Self { accounts: Some(accounts), threads, followed, recorder, .. } = self else { return };
        for tid in threads.all() {
            let lines = accounts.read(tid).map(|got| followed.got(tid, got, threads));
            lines.iter().flatten().for_each(|line| recorder.keep(line));
        }
    }

    /// Enters what is known by now; at the end, whatever there is.
    fn settle(&mut self, now: MonotonicTime, is_end: bool) {
        let until = if is_end { now.plus(LONG_PAST) } else { now };
        let mut lines = self.followed.settle_sleeps(until, &mut self.threads);
        // What a turn waited for is told by the sleeps.
        self.followed.settle(now, is_end);
        // An event loop belongs to what woke its thread.
        lines.extend(self.followed.settle_iterations(self.loop_above, until, &mut self.threads));
        lines.iter().for_each(|line| self.recorder.keep(line));
    }

    /// Those that are worth a timeline are to be told of from now on.
    fn say_which_are_late(&mut self) {
        let above = self.timelines.as_ref().map(|timelines| Latency::from_span(timelines.late_above()));
        above.into_iter().for_each(|above| self.followed.tell_above(above));
    }

    /// Writes timelines that are due; at the end, those that there are.
    fn keep_timelines(&mut self, now: MonotonicTime, is_end: bool) {
        let Some(timelines) = &mut self.timelines else { return };
        for Late { condition, tid, thread, wakeup } in self.followed.take_late() {
            timelines.meet(tid, Some((self.threads.process_of(tid), &thread)));
            timelines.saw(condition, tid, &wakeup, now);
        }
        let mut lines = timelines.look(now);
        if is_end {
            lines.extend(timelines.stop(now));
        }
        lines.iter().for_each(|line| self.recorder.keep(line));
        self.say_which_are_late();
    }

    /// Hands on blocks, causes and names when it is time.
    fn hand_on(&mut self, now: MonotonicTime) {
        self.settle(now, false);
        self.keep_timelines(now, false);
        if now.since(self.blocks) >= block_length(now.since(self.began)) {
            self.blocks = now;
            self.keep_blocks(now);
            self.is_known = is_known(self.recorder.analysis());
        }
        if now.since(self.reasons) >= self.reasons_every(now) {
            self.reasons = now;
            self.keep_reasons(now);
        }
        if now >= self.next_facts {
            self.next_facts = now.plus(NAMES_EVERY);
            self.facts.look(now, &mut self.threads);
        }
        if now.since(self.names) >= NAMES_EVERY {
            self.names = now;
            self.followed.look_for_new_names(&mut self.threads);
        }
        if now.since(self.shown) >= if self.is_live() { LIVE_EVERY } else { NAMES_EVERY } {
            self.shown = now;
            self.show(now);
        }
    }

    /// What was lost may have been a late wake-up of any thread: where it is asked how rare those are, it counts for each.
    fn keep_blocks(&mut self, now: MonotonicTime) {
        let is_asked = self.recorder.analysis().header.until.is_some();
        for mut line in self.followed.blocks(now) {
            if let (Line::Block(block), true) = (&mut line, is_asked) {
                let told = self.told.entry(block.condition).or_default();
                block.lost = self.lost.saturating_sub(replace(told, self.lost));
            }
            self.recorder.keep(&line);
        }
    }

    fn is_live(&self) -> bool {
        self.display.as_ref().is_some_and(|display| display.is_live())
    }

    /// Where somebody looks, causes come sooner, and then as rarely as the recording needs.
    fn reasons_every(&self, now: MonotonicTime) -> Span {
        match self.is_live() {
            true => {
                Span::from_nanos(now.since(self.began).as_nanos() / 4).clamp(FIRST_REASONS, REASONS_EVERY)
            }
            false => REASONS_EVERY,
        }
    }

    fn keep_reasons(&mut self, now: MonotonicTime) {
        let tracer = self.tracer.as_ref().filter(|tracer| tracer.tier().sees_wakers());
        let tracer = tracer.map_or(NO_TRACER, |tracer| tracer.tier().name());
        self.followed.reasons(now, tracer).iter().for_each(|line| self.recorder.keep(line));
    }

    fn show(&mut self, now: MonotonicTime) {
        let Some(display) = &mut self.display else { return };
        let threads: Vec<_> = self.followed.all().collect();
        display.show(now.since(self.began), &threads, self.recorder.analysis());
        let marks = display.marks();
        marks.into_iter().for_each(|at| self.recorder.keep(&Line::Mark(Mark { at })));
    }

    /// Nothing is attached to the program any more; what came of it.
    fn end(mut self, how: HowEnded) -> Ended {
        self.priority.restore();
        drop(clock::pause(SETTLING));
        self.tracer.iter_mut().for_each(|tracer| tracer.stop());
        self.read();
        self.read_accounts();
        self.settle(clock::now(), true);
        self.keep_timelines(clock::now(), true);
        self.display.iter_mut().for_each(|display| display.clear());
        let now = clock::now();
        self.keep_blocks(now);
        self.keep_reasons(now);
        let conditions = self.recorder.analysis().outcomes().len();
        for condition in (0..conditions).filter_map(|place| u32::try_from(place).ok()) {
            self.recorder.keep(&finished(condition, now));
        }
        self.recorder.keep(&Line::Program(Box::new(self.facts.told())));
        self.freezes.caveats().into_iter().for_each(|one| self.recorder.caveat(one));
        self.quotas.used_up().into_iter().for_each(|one| self.recorder.caveat(one));
        if self.lost > 0 {
            self.recorder.caveat(Caveat::SamplesLost { count: self.lost });
        }
        let timelines = self.timelines.as_ref().and_then(Timelines::missing);
        timelines.into_iter().for_each(|one| self.recorder.caveat(one));
        let missed = self.tracer.as_ref().map_or(0, |tracer| tracer.missed());
        if missed > 0 {
            self.recorder.caveat(Caveat::WakeupsNotSeen { count: missed });
        }
        if self.found_late > 0 {
            self.recorder.caveat(Caveat::ThreadsFoundLate { count: self.found_late, every_ns: LOOK_EVERY });
        }
        let bounded = self.accounts.as_ref().map_or(0, Accounts::bounded);
        if bounded > 0 {
            self.recorder.caveat(Caveat::WaitsBounded { count: bounded });
        }
        if self.followed.joined() > 0 {
            self.recorder.caveat(Caveat::ThreadsJoined { count: self.followed.joined() });
        }
        let left_out = self.loops.as_ref().map_or(0, Loops::left_out);
        if left_out > 0 {
            self.recorder.caveat(Caveat::LoopsNotMeasured { count: left_out });
        }
        let spans = self.loops.as_ref().map_or_else(Vec::new, Loops::spans_left_out);
        spans_not_measured(&spans).into_iter().for_each(|one| self.recorder.caveat(one));
        let analysis = self.recorder.end(Some(how));
        let nothing = self.untraced.filter(|_| analysis.outcomes().is_empty());
        Ended { analysis, nothing }
    }
}

/// What is not known of spans within turns.
fn spans_not_measured(spans: &[SpansLeftOut]) -> Vec<Caveat> {
    let count = spans.iter().map(|one| one.lost).fold(0, u64::saturating_add);
    let lost = (count > 0).then_some(Caveat::SpansLost { count });
    let first = |SpansLeftOut { name, first, kept, .. }: &SpansLeftOut| {
        Some(Caveat::SpansNotMeasured { name: name.clone(), first: first.clone()?, kept: *kept })
    };
    lost.into_iter().chain(spans.iter().filter_map(first)).collect()
}

fn finished(condition: u32, at: MonotonicTime) -> Line {
    let (usage, load, error) = (None, None, None);
    Line::Finished(Finished { condition, round: 0, at, usage, unfinished: false, load, error })
}

/// What came of watching.
pub struct Ended {
    /// What is known of it.
    pub analysis: Analysis,
    /// Why nothing did: there was no tracer, and the program has marked no loop.
    pub nothing: Option<NotWatched>,
}

/// Takes sleeps, iterations and what became of threads in their order, so that each is of who the thread was then; returns the lines
/// that conditions begin with which are new.
fn in_order(
    sleeps: Vec<Sleep>,
    iterations: Vec<Iteration>,
    lives: Vec<Life>,
    followed: &mut Followed,
    threads: &mut Threads,
) -> Vec<Line> {
    let sleeps = sleeps.into_iter().map(|one| (one.waking, SeenThread::Slept(Box::new(one))));
    let iterations = iterations.into_iter().map(|one| (one.until, SeenThread::Iterated(one)));
    let mut all: Vec<(MonotonicTime, SeenThread)> = sleeps
        .chain(iterations)
        .chain(lives.into_iter().map(|life| (life.at, SeenThread::Lived(life))))
        .collect();
    all.sort_by_key(|(at, _)| *at);
    let mut lines = Vec::new();
    for (at, seen) in all {
        match seen {
            SeenThread::Slept(one) => followed.saw(*one, threads),
            SeenThread::Iterated(one) => followed.iterated(one, threads),
            SeenThread::Lived(life) => {
                let has_ended = life.happened == Happened::Ended;
                followed.lived(life, threads);
                // Its number among those of its name may be the next one's.
                if has_ended {
                    lines.extend(followed.settle_sleeps(at, threads));
                }
            }
        }
    }
    lines
}

/// Parts of what was traced that one look takes in: more than a ring holds. If more comes meanwhile, the next look is for it.
const PARTS_OF_A_LOOK: u32 = 64;

/// What a tracer saw of a thread.
enum SeenThread {
    Slept(Box<Sleep>),
    Iterated(Iteration),
    Lived(Life),
}
