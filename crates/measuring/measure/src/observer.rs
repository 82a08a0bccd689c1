//! The observer: drains the rings, emits lines of the recording, and ends the run.

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
use crate::ring::WakeupRing;
use crate::thread::{Gate, ThreadMessage, ThreadResult, last_planned};

/// How often the observer checks for the end of the turn, and drains the rings where every wake-up is emitted.
pub(crate) const TICK: Span = Span::from_millis(100);
/// How often it signals threads that must stop.
const STOPPING_TICK: Span = Span::from_millis(5);
/// How long a thread may take to get ready, or to stop.
const THREAD_TIMEOUT: Span = Span::from_secs(3);
/// Maximum length of a block.
pub(crate) const MAX_BLOCK_LENGTH: Span = Span::from_secs(1);
/// Time between the start signal and the first planned wake-up.
const START_LEAD: Span = Span::from_millis(2);

/// Binds the calling thread to some CPUs until dropped.
pub(crate) struct ObserverAffinity(CpuSet);

impl ObserverAffinity {
    pub(crate) fn set(cpus: &CpuSet) -> Option<Self> {
        let before = sched::affinity().ok()?;
        sched::bind(cpus).ok()?;
        Some(Self(before))
    }
}

impl Drop for ObserverAffinity {
    fn drop(&mut self) {
        // The affinity was in force before, so it is permitted.
        drop(sched::bind(&self.0));
    }
}

/// The observer's state of one thread.
#[derive(Default)]
pub(crate) struct ThreadState {
    ring: Option<Arc<WakeupRing>>,
    ready: Option<(EffectiveSettings, Vec<Caveat>)>,
    collector: Option<Collector>,
    result: Option<Box<ThreadResult>>,
    /// Whether the observer changed its policy so that it could end.
    policy_changed: bool,
}

impl ThreadState {
    pub(crate) fn new(ring: Arc<WakeupRing>) -> Self {
        Self { ring: Some(ring), ..Self::default() }
    }

    fn is_done(&self) -> bool {
        self.result.is_some()
    }
}

pub(crate) struct Observer<'a> {
    pub(crate) turn: &'a Turn,
    /// Time from the start to the end, if there is one.
    pub(crate) duration: Option<Span>,
    pub(crate) stop: Stop,
    pub(crate) gate: Arc<Gate>,
    pub(crate) from_threads: Receiver<ThreadMessage>,
    pub(crate) threads: Vec<ThreadState>,
    pub(crate) bounds: &'a TurnControl,
    pub(crate) sink: &'a mut dyn Sink,
    pub(crate) poll_every: Span,
    /// Whether every wake-up goes to the sink.
    pub(crate) emits_wakeups: bool,
}

impl Observer<'_> {
    /// Waits until every thread has its settings, then starts them all; returns the common start.
    /// `start` computes it from the earliest possible time.
    pub(crate) fn wait_until_ready(
        &mut self,
        start: impl Fn(MonotonicTime) -> MonotonicTime,
    ) -> Result<MonotonicTime, EngineError> {
        let give_up = clock::now().plus(THREAD_TIMEOUT);
        while self.threads.iter().any(|thread| thread.ready.is_none()) && clock::now() < give_up {
            self.receive(TICK)?;
        }
        let start = start(clock::now().plus(START_LEAD));
        for (task, thread) in self.turn.tasks.iter().zip(&mut self.threads) {
            let (Some((in_force, caveats)), Some(ring)) = (thread.ready.take(), thread.ring.take()) else {
                continue;
            };
            let until = last_planned(task, start, self.turn.lasts());
            thread.collector = Some(Collector::new(task, ring, &in_force, start, until));
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

    /// Handles one message, or returns after `timeout`.
    fn receive(&mut self, timeout: Span) -> Result<(), EngineError> {
        match self.from_threads.recv_timeout(timeout.into()) {
            Ok(ThreadMessage::Ready(thread, Ok(ready))) => self.threads[thread].ready = Some(ready),
            Ok(ThreadMessage::Ready(thread, Err(source))) => {
                return Err(EngineError::ReadBack { thread, source });
            }
            Ok(ThreadMessage::Done(thread, result)) => self.threads[thread].result = Some(result),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        Ok(())
    }

    /// Observes the threads until all are done or have timed out. They start at `start`.
    pub(crate) fn watch(&mut self, start: MonotonicTime) -> EndReason {
        let mut next_close = start.plus(block_length(Span::ZERO));
        let mut next_poll = start.plus(self.poll_every);
        let mut give_up = None;
        while !self.all_done() && give_up.is_none_or(|at| clock::now() < at) {
            let tick =
                if give_up.is_some() { STOPPING_TICK } else { self.time_to_next(next_poll, start).min(TICK) };
            // After the set-up, no message carries an error.
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
                give_up.get_or_insert(now.plus(THREAD_TIMEOUT));
                self.wake_up_all();
            }
        }
        self.how_ended()
    }

    /// Time until the next poll or the end of the turn.
    fn time_to_next(&self, next_poll: MonotonicTime, start: MonotonicTime) -> Span {
        let end = self.duration.map_or(next_poll, |duration| start.plus(duration));
        next_poll.min(end).since(clock::now())
    }

    fn all_done(&self) -> bool {
        self.threads.iter().all(ThreadState::is_done)
    }

    /// Drains the rings, and reports the progress of each thread.
    fn poll(&mut self) {
        self.drain();
        let collectors = self.threads.iter().filter_map(|thread| thread.collector.as_ref());
        let progress: Vec<ThreadProgress> = collectors.map(|collector| collector.progress()).collect();
        self.sink.progress(&progress);
    }

    fn drain(&mut self) {
        for (number, thread) in self.threads.iter_mut().enumerate() {
            let Some(collector) = &mut thread.collector else { continue };
            collector.drain(|pending| {
                if self.emits_wakeups {
                    self.sink.wakeups(number, &pending.wakeups().collect::<Vec<_>>());
                }
            });
        }
    }

    /// Ends every thread's block at `now`.
    fn close_blocks(&mut self, now: MonotonicTime) {
        self.drain();
        for collector in self.threads.iter_mut().filter_map(|thread| thread.collector.as_mut()) {
            if let Some(block) = collector.close(now) {
                self.sink.line(Line::Block(Box::new(block)));
            }
        }
    }

    fn should_stop(&self, elapsed: Span) -> bool {
        if self.bounds.is_interrupted() || self.duration.is_some_and(|duration| elapsed >= duration) {
            self.stop.request();
        }
        self.stop.is_requested()
    }

    /// Signals every thread that has not ended yet. A `SCHED_IDLE` thread, which may get no
    /// CPU under load, becomes `SCHED_OTHER` so that it can end.
    fn wake_up_all(&mut self) {
        for thread in self.threads.iter_mut().filter(|thread| !thread.is_done()) {
            if let Some(collector) = &thread.collector {
                let ThreadProgress { tid, policy, .. } = collector.progress();
                if policy == Policy::Idle {
                    thread.policy_changed |= sched::set_policy(tid, Policy::OTHER).is_ok();
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

    /// Emits the last lines; returns whether a thread has not ended.
    pub(crate) fn finish(&mut self) -> bool {
        let now = clock::now();
        self.poll();
        self.close_blocks(now);
        let left_behind = !self.all_done();
        for (task, thread) in self.turn.tasks.iter().zip(&mut self.threads) {
            let mut result = thread.result.take();
            let changed =
                result.as_mut().map(|result| std::mem::take(&mut result.changed)).unwrap_or_default();
            let ours =
                |caveat: &Caveat| thread.policy_changed && matches!(caveat, Caveat::PolicyChanged { .. });
            for caveat in changed.into_iter().filter(|caveat| !ours(caveat)) {
                self.sink.line(Line::Caveat(caveat));
            }
            let count = thread.collector.as_ref().map_or(0, |collector| collector.progress().count);
            let short = self.turn.cut_after.is_some() && task.samples.is_some_and(|samples| count < samples);
            let interrupted = self.bounds.is_interrupted();
            self.sink.line(Line::Finished(TurnFinished {
                condition: task.condition,
                round: task.round,
                at: result.as_ref().map_or(now, |result| result.at),
                usage: result.as_ref().map(|result| result.usage),
                load: None,
                unfinished: result.is_none() || (short && !interrupted),
                error: result.and_then(|result| result.result.err()).map(AsText::from),
            }));
        }
        left_behind
    }
}
