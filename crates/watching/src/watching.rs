//! Watching from the first look to the last line of the recording.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use howlate_analyse::Analysis;
use howlate_linux::clock;
use howlate_model::{
    Caveat, Finished, Happened, HowEnded, Life, Line, MonotonicTime, NO_TRACER, Span, TracedSleep as Sleep,
    block_length,
};
use howlate_procfs::Root;
use howlate_trace::{Refusal, Tracer, TracerMissing};
use howlate_watch::{Looked, Loops, Threads, WatchedThread};

use super::accounts::Accounts;
use super::background_priority::Courtesy;
use super::followed::Followed;
use super::subject::Subject;
use super::traced::{ChosenTracer, sees_wakers};
use crate::cli::Watch;
use crate::error::Error;
use crate::terminal::{InPlace, is_watched, tell};
use howlate_session::Environment;
use howlate_session::{Recorder, header};

/// How often it is looked for what was seen, and for threads that have come or gone.
const LOOK_EVERY: Span = Span::from_millis(50);
/// How often many threads are asked for their names again, and the display changes.
const NAMES_EVERY: Span = Span::from_secs(1);
/// So many are asked at each look.
const FEW: usize = 64;
/// Causes are handed on this often, so that a crash costs no more.
const REASONS_EVERY: Span = Span::from_secs(60);
/// Time for the last sleeps to be told.
const SETTLING: Span = Span::from_millis(10);
/// Nobody waits so long for anything to be told.
const LONG_PAST: Span = Span::from_secs(3_600);
/// Threads that are shown meanwhile.
const SHOWN: usize = 12;

/// Takes a look at what is known so far.
pub(in crate::commands) type Look = Box<dyn FnOnce(&Analysis) + Send>;

/// A program that is being watched.
pub(in crate::commands) struct Watching {
    /// None where nothing but marked loops is measured.
    tracer: Option<Box<dyn Tracer>>,
    /// Why there is none.
    untraced: Option<Error>,
    /// Where no tracer sees what wakes threads.
    accounts: Option<Accounts>,
    loops: Option<Loops>,
    threads: Threads,
    followed: Followed,
    recorder: Recorder<Analysis>,
    /// Who else wants to know meanwhile.
    looks: Option<Receiver<Look>>,
    courtesy: Courtesy,
    place: Option<InPlace>,
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
    lost: u64,
    /// Threads that were found by looking, because the tracer does not see them come.
    found_late: u64,
}

impl Watching {
    /// Begins to watch. A program that was started for it does not run yet.
    pub(in crate::commands) fn begin(
        asked: &Watch,
        environment: &Environment,
        subject: &mut Subject,
        kept: Option<&Path>,
    ) -> Result<Self, Error> {
        let ChosenTracer { mut tracer, mut accounts, untraced, caveats } =
            ChosenTracer::choose(asked.tracer, subject)?;
        let mut threads = Threads::new(Root::live(), subject.pid(), asked.follow);
        let mut followed = Followed::new(&asked.thread, &environment.system.kernel);
        match &mut tracer {
            Some(tracer) => attach(tracer.as_mut(), asked.follow, &mut threads, &mut followed)?,
            None => drop(threads.look()),
        }
        accounts.iter_mut().for_each(|accounts| accounts.begin(&threads.all()));
        let mut header = header("watch", 0, environment, Vec::new());
        header.node = asked.identity.apply(header.node);
        header.late_above_ns = asked.late_above;
        let mut recorder = Recorder::somewhere(header, asked.out.as_deref(), kept, &environment.interrupted)?;
        caveats.into_iter().chain(environment.refused.iter().cloned()).for_each(|one| recorder.caveat(one));
        let watched = subject.leaves_the_terminal_alone() && !asked.printing.quiet && is_watched();
        if !asked.printing.quiet && !tracer.as_deref().is_some_and(sees_wakers) {
            tell(what_is_left(accounts.is_some()));
        }
        let now = clock::now();
        Ok(Self {
            tracer,
            untraced,
            accounts,
            loops: subject.take_loops(),
            threads,
            followed,
            recorder,
            looks: None,
            courtesy: Courtesy::from(now),
            place: watched.then(InPlace::default),
            duration: asked.duration,
            began: now,
            own_since: now,
            held: subject.is_held().then(|| subject.pid()),
            blocks: now,
            reasons: now,
            names: now,
            lost: 0,
            found_late: 0,
        })
    }

    /// The same for others who look at it meanwhile.
    pub(in crate::commands) fn showing(mut self, looks: Receiver<Look>) -> Self {
        self.looks = Some(looks);
        self
    }

    /// Watches until the program, the time or the patience of whoever started it ends.
    pub(in crate::commands) fn until_the_end(
        mut self,
        subject: &mut Subject,
        interrupted: &AtomicBool,
    ) -> Ended {
        self.began = clock::now();
        self.own_since = self.began;
        let until = self.duration.map(|duration| self.began.plus(duration));
        while !interrupted.load(Ordering::Relaxed) && until.is_none_or(|until| clock::now() < until) {
            let over = subject.is_over(&self.threads);
            self.look();
            if over {
                break;
            }
            let left = until.map_or(LOOK_EVERY, |until| until.since(clock::now()).min(LOOK_EVERY));
            let planned = clock::now().plus(left);
            // A signal makes the look come earlier.
            drop(clock::pause(left));
            self.courtesy.looked(clock::now(), planned);
        }
        self.end()
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
        let Self { tracer, loops, threads, followed, recorder, own_since, held, .. } = self;
        let is_traced = tracer.as_deref().is_some_and(sees_wakers);
        if let Some(loops) = loops {
            let lost = loops.read(&mut |number, of, turn| {
                followed.turned(number, of, turn, is_traced).iter().for_each(|line| recorder.keep(line));
            });
            self.lost = self.lost.saturating_add(lost);
        }
        let Some(tracer) = tracer else { return true };
        let mut seen = Vec::new();
        let lost = tracer.read(&mut |one| seen.push(one));
        let lives = tracer.lives();
        // A process is called otherwise when it becomes another program.
        let becomes = |life: &&Life| Some(life.tid) == *held && life.happened == Happened::Named;
        if let Some(life) = lives.iter().flatten().find(becomes) {
            (*own_since, *held) = (life.at, None);
        }
        seen.retain(|one| one.waking >= *own_since);
        match is_traced {
            true => in_order(seen, lives.clone().unwrap_or_default(), followed, threads)
                .iter()
                .for_each(|line| recorder.keep(line)),
            false => {
                seen.iter().flat_map(|one| followed.slept(one, threads)).for_each(|line| recorder.keep(&line))
            }
        }
        self.lost = self.lost.saturating_add(lost);
        if lost > 0 {
            self.courtesy.end();
        }
        lives.is_some()
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
        self.followed.settle(now, is_end);
        let until = if is_end { now.plus(LONG_PAST) } else { now };
        let lines = self.followed.settle_sleeps(until, &mut self.threads);
        lines.iter().for_each(|line| self.recorder.keep(line));
    }

    /// Hands on blocks, causes and names when it is time.
    fn hand_on(&mut self, now: MonotonicTime) {
        self.settle(now, false);
        if now.since(self.blocks) >= block_length(now.since(self.began)) {
            self.blocks = now;
            self.followed.blocks(now).iter().for_each(|line| self.recorder.keep(line));
        }
        if now.since(self.reasons) >= REASONS_EVERY {
            self.reasons = now;
            self.keep_reasons(now);
        }
        if now.since(self.names) >= NAMES_EVERY {
            self.names = now;
            self.followed.look_for_new_names(&mut self.threads);
            self.show(now);
        }
    }

    fn keep_reasons(&mut self, now: MonotonicTime) {
        let tracer = self.tracer.as_ref().filter(|tracer| sees_wakers(tracer.as_ref()));
        let tracer = tracer.map_or(NO_TRACER, |tracer| tracer.tier().name());
        self.followed.reasons(now, tracer).iter().for_each(|line| self.recorder.keep(line));
    }

    fn show(&mut self, now: MonotonicTime) {
        let Some(place) = &mut self.place else { return };
        let mut all: Vec<_> = self.followed.all().collect();
        all.sort_by_key(|(_, thread)| std::cmp::Reverse(thread.worst));
        let row = |(name, thread): &(&str, &howlate_analyse::watch::ThreadSummary)| {
            howlate_render::watched_live(name, thread)
        };
        let rows: Vec<String> = all.iter().take(SHOWN).map(row).collect();
        let seconds = now.since(self.began).as_secs_f64();
        place.show(&format!("{seconds:.0} s\n{}", rows.join("\n")));
    }

    /// Nothing is attached to the program any more; what came of it.
    fn end(mut self) -> Ended {
        self.courtesy.end();
        drop(clock::pause(SETTLING));
        self.tracer.iter_mut().for_each(|tracer| tracer.stop());
        self.read();
        self.read_accounts();
        self.settle(clock::now(), true);
        self.place.iter_mut().for_each(InPlace::clear);
        let now = clock::now();
        self.followed.blocks(now).iter().for_each(|line| self.recorder.keep(line));
        self.keep_reasons(now);
        let conditions = self.recorder.analysis().outcomes().len();
        for condition in (0..conditions).filter_map(|place| u32::try_from(place).ok()) {
            self.recorder.keep(&finished(condition, now));
        }
        if self.lost > 0 {
            self.recorder.caveat(Caveat::SamplesLost { count: self.lost });
        }
        if self.found_late > 0 {
            self.recorder.caveat(Caveat::ThreadsFoundLate { count: self.found_late, every_ns: LOOK_EVERY });
        }
        let left_out = self.loops.as_ref().map_or(0, Loops::left_out);
        if left_out > 0 {
            self.recorder.caveat(Caveat::LoopsNotMeasured { count: left_out });
        }
        let analysis = self.recorder.end(Some(HowEnded::Done));
        let nothing = self.untraced.filter(|_| analysis.outcomes().is_empty());
        Ended { analysis, nothing }
    }
}

/// What is measured where no tracer sees what wakes threads.
const fn what_is_left(accounts: bool) -> &'static str {
    match accounts {
        true => {
            "Nobody sees here what wakes the program's threads: how long they wait for a CPU is measured, and loops \
             that the program has marked (see `howlate watch --help`).\n"
        }
        false => {
            "There is no tracer: only loops are measured that the program has marked (see `howlate watch --help`).\n"
        }
    }
}

fn finished(condition: u32, at_ns: MonotonicTime) -> Line {
    let (usage, load, error) = (None, None, None);
    Line::Finished(Finished { condition, round: 0, at_ns, usage, unfinished: false, load, error })
}

/// What came of watching.
pub(in crate::commands) struct Ended {
    pub(in crate::commands) analysis: Analysis,
    /// Why nothing did: there was no tracer, and the program has marked no loop.
    pub(in crate::commands) nothing: Option<Error>,
}

/// Follows all threads that there are.
fn attach(
    tracer: &mut dyn Tracer,
    with_children: bool,
    threads: &mut Threads,
    followed: &mut Followed,
) -> Result<(), Error> {
    let tier = tracer.tier();
    let refused = |refusal| TracerMissing { tier, refusal };
    if with_children {
        tracer.with_children().map_err(refused)?;
    }
    tracer.start().map_err(refused)?;
    for thread in threads.look().come {
        follow(tracer, &thread).map_err(refused)?;
        followed.follow(&thread);
    }
    Ok(())
}

/// Takes sleeps and what became of threads in their order, so that each sleep is of who the thread was then; returns the lines
/// that conditions begin with which are new.
fn in_order(
    sleeps: Vec<Sleep>,
    lives: Vec<Life>,
    followed: &mut Followed,
    threads: &mut Threads,
) -> Vec<Line> {
    let sleeps = sleeps.into_iter().map(|one| (one.waking, SeenThread::Slept(Box::new(one))));
    let mut all: Vec<(MonotonicTime, SeenThread)> =
        sleeps.chain(lives.into_iter().map(|life| (life.at, SeenThread::Lived(life)))).collect();
    all.sort_by_key(|(at, _)| *at);
    let mut lines = Vec::new();
    for (at, seen) in all {
        match seen {
            SeenThread::Slept(one) => followed.saw(*one, threads),
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

/// What a tracer saw of a thread.
enum SeenThread {
    Slept(Box<Sleep>),
    Lived(Life),
}

fn follow(tracer: &mut dyn Tracer, thread: &WatchedThread) -> Result<(), Refusal> {
    tracer.follow(thread.tid, Span::ZERO)
}
