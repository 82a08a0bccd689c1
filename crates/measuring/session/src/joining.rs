//! Joins the wake-ups of a turn with what a tracer saw of its threads.

use std::collections::HashMap;
use std::mem::{replace, take};

use howlate_analyse::cause::Joiner;
use howlate_linux::clock;
use howlate_model::{
    CauseBlock, Caveat, Latency, Line, MonotonicTime, Span, TracerRefusal, Turn, Wait, Wakeup,
    WakeupHookFactory, Work,
};
use howlate_procfs::Root;
use howlate_trace::Tracer;

use crate::late_actions::LateActions;
use crate::thread_names::ThreadNames;
use crate::timelines::Timelines;

/// Causes are recorded at this interval during long turns, which limits the loss in a crash.
const CAUSE_INTERVAL: Span = Span::from_secs(60);

/// Delay after the kernel patched its code, and until the last sleep of a thread has been traced.
pub(crate) const SETTLING: Span = Span::from_millis(10);

/// A tracer and the turn that it traces.
pub(crate) struct TurnJoiner<'a> {
    tracer: &'a mut dyn Tracer,
    from_round: u32,
    /// Start of the causes that have not been recorded yet.
    from: MonotonicTime,
    /// In the order of the turn's tasks.
    threads: Vec<TracedThread>,
    /// Timelines of late wake-ups, if they are kept.
    timelines: Option<&'a mut Timelines>,
    /// What is done about late wake-ups, if anything.
    actions: Option<&'a mut LateActions>,
    names: ThreadNames,
    /// When the tracer was last read.
    read_at: MonotonicTime,
    /// Index into `threads`.
    by_tid: HashMap<u32, usize>,
}

struct TracedThread {
    condition: u32,
    round: u32,
    /// 0 until the thread has started.
    tid: u32,
    has_slack: bool,
    joiner: Joiner,
}

impl TracedThread {
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

impl<'a> TurnJoiner<'a> {
    /// Joins the threads of `turn`; `tracer` must have been started.
    pub(crate) fn begin(tracer: &'a mut dyn Tracer, from_round: u32, turn: &Turn) -> Self {
        let now = clock::now();
        let threads = turn.tasks.iter().map(TracedThread::running).collect();
        let (timelines, actions, names) = (None, None, ThreadNames::below(Root::live()));
        let (from, read_at, by_tid) = (now, now, HashMap::new());
        Self { tracer, from_round, from, threads, timelines, actions, names, read_at, by_tid }
    }

    /// Also keeps timelines of late wake-ups, and acts on them.
    pub(crate) fn handling_late(
        mut self,
        timelines: Option<&'a mut Timelines>,
        actions: Option<&'a mut LateActions>,
    ) -> Self {
        (self.timelines, self.actions) = (timelines, actions);
        self.update_late_threshold();
        self
    }

    /// What the threads of the turn run after each wake-up.
    pub(crate) fn after_each(&self) -> Option<WakeupHookFactory> {
        self.tracer.after_each()
    }

    /// Starts to trace a thread of the turn; `slack` is its timer slack.
    pub(crate) fn started(&mut self, condition: u32, tid: u32, slack: Span) -> Result<(), Box<Caveat>> {
        // For programs this is called twice: when they start, and when they are ready.
        if self.by_tid.contains_key(&tid) {
            return Ok(());
        }
        let Some(number) = self.threads.iter().position(|thread| thread.condition == condition) else {
            return Ok(());
        };
        self.by_tid.insert(tid, number);
        self.threads[number].tid = tid;
        if self.timelines.is_some() || self.actions.is_some() {
            self.names.meet(tid);
        }
        let slack = if self.threads[number].has_slack { slack } else { Span::ZERO };
        self.tracer.follow(tid, slack).map_err(|reason| Box::new(refusal(self.tracer.tier().name(), reason)))
    }

    /// Adds wake-ups of a thread of the turn.
    pub(crate) fn wakeups(&mut self, thread: usize, wakeups: &[Wakeup]) {
        if let Some(thread) = self.threads.get_mut(thread) {
            thread.joiner.record_wakeups(wakeups.iter().copied());
        }
    }

    /// Reads the tracer. Must be called often, or its buffers overflow.
    pub(crate) fn poll(&mut self) -> Vec<Line> {
        let (mut sleeps, began) = (Vec::new(), clock::now());
        let lost = self.tracer.read(&mut |sleep| sleeps.push(sleep));
        let now = clock::now();
        let since = replace(&mut self.read_at, began);
        // The thread of a lost event is not known, so a loss affects the wake-ups of all threads.
        self.threads.iter_mut().for_each(|thread| thread.joiner.record_loss(lost, since, now));
        for sleep in sleeps {
            if let Some(thread) = self.by_tid.get(&sleep.tid).and_then(|number| self.threads.get_mut(*number))
            {
                thread.joiner.record_sleep(sleep);
            }
        }
        let mut lines = self.handle_late(now);
        if now.since(self.from) >= CAUSE_INTERVAL {
            lines.extend(self.take_cause_lines(now));
        }
        lines
    }

    /// Acts on late wake-ups, and writes the timelines that are due; returns their lines.
    fn handle_late(&mut self, now: MonotonicTime) -> Vec<Line> {
        for thread in &mut self.threads {
            for wakeup in thread.joiner.take_late() {
                let late = self.names.name(thread.condition, thread.tid, wakeup);
                if let Some(actions) = &mut self.actions {
                    actions.take(&late, now);
                }
                if let Some(timelines) = &mut self.timelines {
                    timelines.saw(late, now);
                }
            }
        }
        self.actions.iter_mut().for_each(|actions| actions.look(now));
        let lines = self.timelines.as_mut().map_or_else(Vec::new, |timelines| timelines.look(now));
        self.update_late_threshold();
        lines
    }

    /// Updates the threshold from which a late wake-up gets a timeline, and actions. With both, the two are the same.
    fn update_late_threshold(&mut self) {
        let of_timelines = self.timelines.as_ref().map(|timelines| timelines.late_above());
        let above = of_timelines.or_else(|| self.actions.as_ref().map(|actions| actions.above()));
        let Some(above) = above.map(Latency::from_span) else { return };
        self.threads.iter_mut().for_each(|thread| thread.joiner.collect_above(above));
    }

    /// Ends the turn; returns the remaining lines.
    pub(crate) fn end(mut self) -> Vec<Line> {
        drop(clock::sleep_for(SETTLING));
        self.tracer.stop();
        let mut lines = self.poll();
        self.threads.iter_mut().for_each(|thread| thread.joiner.end());
        lines.extend(self.handle_late(clock::now()));
        lines.extend(self.timelines.iter_mut().flat_map(|timelines| timelines.stop(clock::now())));
        lines.extend(self.take_cause_lines(clock::now()));
        lines
    }

    /// Takes the causes since the last call, one line per thread.
    fn take_cause_lines(&mut self, now: MonotonicTime) -> Vec<Line> {
        let from = replace(&mut self.from, now);
        let (tracer, from_round) = (self.tracer.tier().name(), self.from_round);
        let line = |thread: &mut TracedThread| {
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

/// The caveat about a refused tracer.
pub(crate) fn refusal(tracer: &str, reason: TracerRefusal) -> Caveat {
    Caveat::TracerRefused { tracer: tracer.to_owned(), reason: reason.into() }
}

/// Whether timer slack lengthens the waits of `work`. A receiver waits without a timer.
fn has_slack(work: &Work) -> bool {
    !matches!(work, Work::Notify { .. }) && work.wait().is_none_or(Wait::has_slack)
}
