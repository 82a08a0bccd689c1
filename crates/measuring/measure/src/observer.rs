//! The observer: empties the rings, emits what it finds, ends the run.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use howlate_linux::{clock, sched, signal};
use howlate_model::{
    AsText, Caveat, CpuSet, EffectiveSettings, EndReason, EngineError, Line, MonotonicTime, Policy, Sink,
    Span, ThreadProgress, Turn, TurnControl, TurnFinished, TurnStarted, block_length,
};

use crate::collector::Collector;
use crate::loops::Stop;
use crate::ring::Ring;
use crate::thread::{Done, Gate, Message, last_planned};

/// How often the observer looks whether the turn is to end; and empties the rings where every wake-up is wanted.
pub(crate) const TICK: Span = Span::from_millis(100);
/// How often it wakes threads that are to stop.
const STOPPING_TICK: Span = Span::from_millis(5);
/// How long it waits for a thread to get ready, or to stop, before it gives it up.
const PATIENCE: Span = Span::from_secs(3);
/// Length of the longest blocks that are emitted.
pub(crate) const BLOCK: Span = Span::from_secs(1);
/// Time between the start signal and the first planned wake-up.
const LEAD: Span = Span::from_millis(2);

/// Keeps the calling thread on some CPUs until dropped.
pub(crate) struct Affinity(CpuSet);

impl Affinity {
    pub(crate) fn set(cpus: &CpuSet) -> Option<Self> {
        let before = sched::affinity().ok()?;
        sched::bind(cpus).ok()?;
        Some(Self(before))
    }
}

impl Drop for Affinity {
    fn drop(&mut self) {
        // The set was in force before, so it can be had again.
        drop(sched::bind(&self.0));
    }
}

/// What the observer knows of one thread.
#[derive(Default)]
pub(crate) struct Watched {
    ring: Option<Arc<Ring>>,
    ready: Option<(EffectiveSettings, Vec<Caveat>)>,
    collector: Option<Collector>,
    done: Option<Box<Done>>,
    /// Whether it was given another policy so that it could leave.
    made_normal: bool,
}

impl Watched {
    pub(crate) fn new(ring: Arc<Ring>) -> Self {
        Self { ring: Some(ring), ..Self::default() }
    }

    fn is_done(&self) -> bool {
        self.done.is_some()
    }
}

pub(crate) struct Observer<'a> {
    pub(crate) turn: &'a Turn,
    /// Time from the start to the end, if there is one.
    pub(crate) lasts: Option<Span>,
    pub(crate) stop: Stop,
    pub(crate) gate: Arc<Gate>,
    pub(crate) from_threads: Receiver<Message>,
    pub(crate) watched: Vec<Watched>,
    pub(crate) bounds: &'a TurnControl,
    pub(crate) sink: &'a mut dyn Sink,
    pub(crate) poll_every: Span,
    /// Whether the sink wants every wake-up.
    pub(crate) emits_wakeups: bool,
}

impl Observer<'_> {
    /// Waits until every thread has its settings, then starts them all; returns when that is.
    /// `start` makes the common start of the earliest time that is possible.
    pub(crate) fn wait_until_ready(
        &mut self,
        start: impl Fn(MonotonicTime) -> MonotonicTime,
    ) -> Result<MonotonicTime, EngineError> {
        let give_up = clock::now().plus(PATIENCE);
        while self.watched.iter().any(|one| one.ready.is_none()) && clock::now() < give_up {
            self.receive(TICK)?;
        }
        let start = start(clock::now().plus(LEAD));
        for (task, watched) in self.turn.tasks.iter().zip(&mut self.watched) {
            let (Some((in_force, caveats)), Some(ring)) = (watched.ready.take(), watched.ring.take()) else {
                continue;
            };
            let until = last_planned(task, start, self.turn.lasts());
            watched.collector = Some(Collector::new(task, ring, &in_force, start, until));
            let (condition, round) = (task.condition, task.round);
            self.sink.line(Line::Started(TurnStarted {
                condition,
                round,
                at: start,
                in_force,
                sender_in_force: None,
                warm_up: Some(task.warm_up),
                runtime: None,
                caveats,
            }));
        }
        self.gate.open(start);
        Ok(start)
    }

    /// Takes one message, or returns after `patience`.
    fn receive(&mut self, patience: Span) -> Result<(), EngineError> {
        match self.from_threads.recv_timeout(patience.into()) {
            Ok(Message::Ready(thread, Ok(ready))) => self.watched[thread].ready = Some(ready),
            Ok(Message::Ready(thread, Err(source))) => return Err(EngineError::ReadBack { thread, source }),
            Ok(Message::Done(thread, done)) => self.watched[thread].done = Some(done),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        Ok(())
    }

    /// Looks after the threads until all are done or given up. They begin at `start`.
    pub(crate) fn watch(&mut self, start: MonotonicTime) -> EndReason {
        let mut next_close = start.plus(block_length(Span::ZERO));
        let mut next_poll = start.plus(self.poll_every);
        let mut give_up = None;
        while !self.all_done() && give_up.is_none_or(|at| clock::now() < at) {
            let tick = if give_up.is_some() { STOPPING_TICK } else { self.until(next_poll, start).min(TICK) };
            // Set-up is over, so no message carries an error any more.
            drop(self.receive(tick));
            let now = clock::now();
            if now >= next_poll || give_up.is_some() {
                next_poll = now.plus(self.poll_every);
                self.poll();
            }
            if now >= next_close {
                next_close = now.plus(block_length(now.since(start)));
                self.close_blocks(now);
            }
            if self.should_stop(now.since(start)) {
                give_up.get_or_insert(now.plus(PATIENCE));
                self.wake_up_all();
            }
        }
        self.how_ended()
    }

    /// How long until there is something to do: a poll, or the turn's end.
    fn until(&self, next_poll: MonotonicTime, start: MonotonicTime) -> Span {
        let end = self.lasts.map_or(next_poll, |lasts| start.plus(lasts));
        next_poll.min(end).since(clock::now())
    }

    fn all_done(&self) -> bool {
        self.watched.iter().all(Watched::is_done)
    }

    /// Takes what has arrived, and tells how far each thread has come.
    fn poll(&mut self) {
        self.drain();
        let collectors = self.watched.iter().filter_map(|one| one.collector.as_ref());
        let progress: Vec<ThreadProgress> = collectors.map(|collector| collector.progress()).collect();
        self.sink.progress(&progress);
    }

    fn drain(&mut self) {
        for (thread, watched) in self.watched.iter_mut().enumerate() {
            let Some(collector) = &mut watched.collector else { continue };
            collector.drain(|arrived| {
                if self.emits_wakeups {
                    self.sink.wakeups(thread, &arrived.wakeups().collect::<Vec<_>>());
                }
            });
        }
    }

    /// Ends every thread's block at `now`.
    fn close_blocks(&mut self, now: MonotonicTime) {
        self.drain();
        for collector in self.watched.iter_mut().filter_map(|one| one.collector.as_mut()) {
            if let Some(block) = collector.close(now) {
                self.sink.line(Line::Block(Box::new(block)));
            }
        }
    }

    fn should_stop(&self, elapsed: Span) -> bool {
        if self.bounds.is_interrupted() || self.lasts.is_some_and(|lasts| elapsed >= lasts) {
            self.stop.ask();
        }
        self.stop.is_asked()
    }

    /// Ends the wait of every thread that has not noticed the end yet. A thread that gets no
    /// CPU, as `SCHED_IDLE` under load, is made a normal one so that it can leave.
    fn wake_up_all(&mut self) {
        for watched in self.watched.iter_mut().filter(|one| !one.is_done()) {
            if let Some(collector) = &watched.collector {
                let ThreadProgress { tid, policy, .. } = collector.progress();
                if policy == Policy::Idle {
                    watched.made_normal |= sched::set_policy(tid, Policy::OTHER).is_ok();
                }
                drop(signal::wake_up(tid));
            }
        }
    }

    fn how_ended(&self) -> EndReason {
        if self.stop.above.load(Ordering::Relaxed) {
            EndReason::StoppedAbove
        } else if self.bounds.is_interrupted() {
            EndReason::Interrupted
        } else {
            EndReason::Done
        }
    }

    /// Emits what is left; returns whether a thread was left behind.
    pub(crate) fn finish(&mut self) -> bool {
        let now = clock::now();
        self.poll();
        self.close_blocks(now);
        let left_behind = !self.all_done();
        for (task, watched) in self.turn.tasks.iter().zip(&mut self.watched) {
            let mut done = watched.done.take();
            let changed = done.as_mut().map(|done| std::mem::take(&mut done.changed)).unwrap_or_default();
            let ours =
                |caveat: &Caveat| watched.made_normal && matches!(caveat, Caveat::PolicyChanged { .. });
            for caveat in changed.into_iter().filter(|caveat| !ours(caveat)) {
                self.sink.line(Line::Caveat(caveat));
            }
            let count = watched.collector.as_ref().map_or(0, |collector| collector.progress().count);
            let short = self.turn.cut_after.is_some() && task.samples.is_some_and(|samples| count < samples);
            let interrupted = self.bounds.is_interrupted();
            self.sink.line(Line::Finished(TurnFinished {
                condition: task.condition,
                round: task.round,
                at: done.as_ref().map_or(now, |done| done.at),
                usage: done.as_ref().map(|done| done.usage),
                load: None,
                unfinished: done.is_none() || (short && !interrupted),
                error: done.and_then(|done| done.result.err()).map(AsText::from),
            }));
        }
        left_behind
    }
}
