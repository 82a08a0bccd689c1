//! What a tracer sees of a turn's threads, joined with their wake-ups.

use std::collections::HashMap;
use std::mem::{replace, take};

use howlate_analyse::cause::Joiner;
use howlate_linux::clock;
use howlate_model::{
    CauseBlock, Caveat, Latency, Line, MonotonicTime, Span, TracerRefusal, Turn, Wait, Wakeup,
    WakeupHookFactory, Work,
};
use howlate_trace::Tracer;

use crate::timelines::Timelines;

/// Causes of long turns are handed on this often, so that a crash costs no more.
const HANDED_ON_EVERY: Span = Span::from_secs(60);

/// Time for the kernel to settle after its code was patched, and for the last sleep of a thread to be told.
pub(crate) const SETTLING: Span = Span::from_millis(10);

/// A tracer, and the turn that it watches.
pub(crate) struct Joining<'a> {
    tracer: &'a mut dyn Tracer,
    from_round: u32,
    /// When the causes began that were not handed on yet.
    from: MonotonicTime,
    /// In the order of the turn's tasks.
    threads: Vec<Thread>,
    /// What all CPUs did around late wake-ups, where that is kept.
    timelines: Option<&'a mut Timelines>,
    /// When the tracer was last read.
    read_at: MonotonicTime,
    /// Which of them has which id.
    by_tid: HashMap<u32, usize>,
}

struct Thread {
    condition: u32,
    round: u32,
    /// Its id, once it has begun.
    tid: u32,
    has_slack: bool,
    joiner: Joiner,
}

impl Thread {
    fn running(task: &howlate_model::Task) -> Self {
        Self {
            condition: task.condition,
            round: task.round,
            tid: 0,
            has_slack: has_slack(&task.work),
            joiner: Joiner::new(matches!(task.work, Work::Notify { .. })),
        }
    }
}

impl<'a> Joining<'a> {
    /// Of the threads of `turn`, with a tracer that has been started.
    pub(crate) fn begin(tracer: &'a mut dyn Tracer, from_round: u32, turn: &Turn) -> Self {
        let now = clock::now();
        let threads = turn.tasks.iter().map(Thread::running).collect();
        let (timelines, by_tid) = (None, HashMap::new());
        Self { tracer, from_round, from: now, threads, timelines, read_at: now, by_tid }
    }

    /// The same, and what all CPUs did around late wake-ups is kept.
    pub(crate) fn keeping(mut self, timelines: Option<&'a mut Timelines>) -> Self {
        self.timelines = timelines;
        self.say_which_are_late();
        self
    }

    /// What each thread of the turn is to do after its wake-ups.
    pub(crate) fn after_each(&self) -> Option<WakeupHookFactory> {
        self.tracer.after_each()
    }

    /// A thread of the turn has begun; its timer slack is `slack`.
    pub(crate) fn started(&mut self, condition: u32, tid: u32, slack: Span) -> Result<(), Box<Caveat>> {
        // A program is told of when it starts, and again when it says that it is ready.
        if self.by_tid.contains_key(&tid) {
            return Ok(());
        }
        let Some(number) = self.threads.iter().position(|thread| thread.condition == condition) else {
            return Ok(());
        };
        self.by_tid.insert(tid, number);
        self.threads[number].tid = tid;
        self.timelines.iter_mut().for_each(|timelines| timelines.meet(tid, None));
        let slack = if self.threads[number].has_slack { slack } else { Span::ZERO };
        self.tracer.follow(tid, slack).map_err(|reason| Box::new(refusal(self.tracer.tier().name(), reason)))
    }

    /// Wake-ups of a thread of the turn.
    pub(crate) fn wakeups(&mut self, thread: usize, wakeups: &[Wakeup]) {
        if let Some(thread) = self.threads.get_mut(thread) {
            thread.joiner.record_wakeups(wakeups.iter().copied());
        }
    }

    /// Takes in what the tracer saw. Often enough, so that it need not lose anything.
    pub(crate) fn poll(&mut self) -> Vec<Line> {
        let (mut seen, began) = (Vec::new(), clock::now());
        let lost = self.tracer.read(&mut |one| seen.push(one));
        let now = clock::now();
        let since = replace(&mut self.read_at, began);
        // Which thread's they were cannot be told, so that they spoil the wake-ups of all.
        self.threads.iter_mut().for_each(|thread| thread.joiner.record_loss(lost, since, now));
        for one in seen {
            if let Some(thread) = self.by_tid.get(&one.tid).and_then(|number| self.threads.get_mut(*number)) {
                thread.joiner.record_sleep(one);
            }
        }
        let mut lines = self.timelines_of_late_ones(now);
        if now.since(self.from) >= HANDED_ON_EVERY {
            lines.extend(self.hand_on(now));
        }
        lines
    }

    /// Files of what all CPUs did that are due by now.
    fn timelines_of_late_ones(&mut self, now: MonotonicTime) -> Vec<Line> {
        let Some(timelines) = &mut self.timelines else { return Vec::new() };
        for thread in &mut self.threads {
            for one in thread.joiner.take_late() {
                timelines.saw(thread.condition, thread.tid, &one, now);
            }
        }
        let lines = timelines.look(now);
        self.say_which_are_late();
        lines
    }

    /// Those that are worth a timeline are to be told of from now on.
    fn say_which_are_late(&mut self) {
        let Some(timelines) = &self.timelines else { return };
        let above = Latency::from_span(timelines.late_above());
        self.threads.iter_mut().for_each(|thread| thread.joiner.collect_above(above));
    }

    /// The turn is over: what came of it.
    pub(crate) fn end(mut self) -> Vec<Line> {
        drop(clock::sleep_for(SETTLING));
        self.tracer.stop();
        let mut lines = self.poll();
        self.threads.iter_mut().for_each(|thread| thread.joiner.end());
        lines.extend(self.timelines_of_late_ones(clock::now()));
        lines.extend(self.timelines.iter_mut().flat_map(|timelines| timelines.stop(clock::now())));
        lines.extend(self.hand_on(clock::now()));
        lines
    }

    /// The causes since the last time, one line per thread.
    fn hand_on(&mut self, now: MonotonicTime) -> Vec<Line> {
        let from = replace(&mut self.from, now);
        let (tracer, from_round) = (self.tracer.tier().name(), self.from_round);
        let line = |thread: &mut Thread| {
            Line::Why(Box::new(CauseBlock {
                condition: thread.condition,
                round: thread.round,
                beside: thread.round.saturating_sub(from_round),
                from,
                until: now,
                tracer: tracer.to_owned(),
                ledger: take(&mut thread.joiner.ledger),
            }))
        };
        self.threads.iter_mut().map(line).collect()
    }
}

/// What is to be said of a tracer that cannot be had.
pub(crate) fn refusal(tracer: &str, reason: TracerRefusal) -> Caveat {
    Caveat::TracerRefused { tracer: tracer.to_owned(), reason: reason.into() }
}

/// Whether the wait of such work is one that timer slack lengthens. A receiver waits for no time.
fn has_slack(work: &Work) -> bool {
    !matches!(work, Work::Notify { .. }) && work.wait().is_none_or(Wait::has_slack)
}
