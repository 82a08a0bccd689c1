//! Observes a turn of notifications: matches stamps, emits blocks, detects a dead receiver, ends both sides.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use howlate_linux::clock;
use howlate_model::{
    AsText, BlockBuilder, Caveat, EffectiveSettings, EndReason, Latency, Line, MonotonicTime, Sink, Span,
    ThreadProgress, TurnEnd, TurnFinished, Usage, Wakeup,
};

use super::job::NotifyJob;
use super::message_matching::MessageMatching;
use super::receiver::ReceiverReport;
use super::receiver_handle::ReceiverHandle;
use super::sender::SentLog;
use super::sender_thread::SenderHandle;
use super::shared::Arrivals;
use crate::loops::Stop;

/// How often the observer polls.
const TICK: Span = Span::from_millis(100);
/// Maximum length of a block. Longer than most turns, so that a block is a turn.
const MAX_BLOCK_LENGTH: Span = Span::from_secs(10);
/// How long the sender may take to stop by itself; longer than it waits for the last message.
const SENDER_GRACE: Span = Span::from_millis(1_500);
/// How long sender and receiver may take to stop.
const STOP_TIMEOUT: Span = Span::from_secs(3);

/// A turn in progress.
pub(super) struct TurnObserver<'a> {
    job: &'a NotifyJob<'a>,
    log: Arc<SentLog>,
    arrivals: Arrivals,
    /// Number of stamps that were read.
    arrivals_read: usize,
    matching: MessageMatching,
    blocks: BlockBuilder,
    /// Up to the start of the current block.
    completed: ThreadProgress,
    last: Latency,
    start: MonotonicTime,
    stop: Stop,
    stop_above: Option<Latency>,
    usage: Option<Usage>,
    error: Option<String>,
    /// Wake-ups that were not emitted yet; `None`: the sink takes only blocks.
    wakeups: Option<Vec<Wakeup>>,
    sink: &'a mut dyn Sink,
}

impl<'a> TurnObserver<'a> {
    pub(super) fn new(
        job: &'a NotifyJob<'a>,
        log: Arc<SentLog>,
        arrivals: Arrivals,
        in_force: &EffectiveSettings,
        start: MonotonicTime,
        stop: Stop,
        sink: &'a mut dyn Sink,
    ) -> Self {
        Self {
            job,
            log,
            arrivals,
            arrivals_read: 0,
            matching: MessageMatching::default(),
            blocks: BlockBuilder::new(job.task, start),
            completed: ThreadProgress::new(job.task, in_force),
            last: Latency::default(),
            start,
            stop,
            stop_above: job.bounds.stop_above.map(Latency::from_span),
            usage: None,
            error: None,
            wakeups: sink.wants_wakeups().then(Vec::new),
            sink,
        }
    }

    /// Observes until the sender is done or has timed out, then processes the rest.
    pub(super) fn run(
        mut self,
        sender: SenderHandle,
        mut receiver: ReceiverHandle,
        release: impl Fn(),
    ) -> TurnEnd {
        let mut stop_requested: Option<MonotonicTime> = None;
        let sent = loop {
            if let Some(result) = sender.ended(TICK) {
                break Some(result);
            }
            let now = clock::now();
            let waited = stop_requested.map_or(Span::ZERO, |at| now.since(at));
            if waited > STOP_TIMEOUT {
                break None;
            }
            self.poll(now);
            self.receive_report(&mut receiver, Span::ZERO);
            if self.should_stop(now) {
                stop_requested.get_or_insert(now);
                sender.wake_up();
                // Not before the sender had its grace period: the announced end would replace a message in
                // flight.
                if waited > SENDER_GRACE || self.error.is_some() {
                    release();
                }
            }
        };
        let left_behind = sent.is_none();
        match sent {
            Some(Err(error)) => {
                // A dead receiver is the cause, of which `EPIPE` is only the consequence.
                self.receive_report(&mut receiver, TICK);
                self.error.get_or_insert_with(|| error.to_string());
            }
            Some(Ok(changed)) => self.emit_caveats(changed),
            None => {}
        }
        self.await_receiver_end(&mut receiver, release);
        self.finish(left_behind)
    }

    /// Processes the arrivals, and reports the progress.
    fn poll(&mut self, now: MonotonicTime) {
        self.drain(false);
        self.emit_wakeups();
        self.report_progress();
        if now.since(self.blocks.current().from) >= MAX_BLOCK_LENGTH {
            self.close_block(now);
        }
    }

    fn emit_wakeups(&mut self) {
        let number = self.job.turn.tasks.iter().position(|task| task == self.job.task);
        if let (Some(wakeups), Some(number)) = (&mut self.wakeups, number) {
            self.sink.wakeups(number, wakeups);
            wakeups.clear();
        }
    }

    fn report_progress(&mut self) {
        let mut progress = self.completed.clone();
        progress.add(self.blocks.current());
        progress.last = self.last;
        self.sink.progress(&[progress]);
    }

    /// Matches arrivals with messages. An arrival whose message is not logged yet waits for the
    /// next poll, unless this is the `last`.
    fn drain(&mut self, last: bool) {
        let sent = self.log.count();
        for index in self.arrivals_read..self.arrivals.count() {
            let (number, ran) = self.arrivals.get(index);
            if number > sent && !last {
                return;
            }
            self.arrivals_read = index + 1;
            if self.matching.record(number, sent) && number > self.job.task.warm_up {
                self.record(number, ran);
            }
        }
    }

    fn record(&mut self, number: u64, ran: MonotonicTime) {
        let Some(sent) = self.log.get(number) else { return };
        let ran = if self.job.spec.round_trip { sent.answered } else { ran };
        let wakeup = Wakeup { expected: sent.sent, ran };
        self.blocks.record(wakeup);
        self.wakeups.iter_mut().for_each(|wakeups| wakeups.push(wakeup));
        self.blocks.record_send(Wakeup { expected: sent.sent, ran: sent.returned }.latency());
        self.last = wakeup.latency();
        if self.stop_above.is_some_and(|limit| wakeup.latency() > limit) {
            self.stop.above.store(true, Ordering::Relaxed);
            self.stop.request();
        }
    }

    /// Handles a report of the receiver; its death stops the turn.
    fn receive_report(&mut self, receiver: &mut ReceiverHandle, timeout: Span) {
        match receiver.report(timeout) {
            Ok(Some(ReceiverReport::Done { usage, changed })) => self.handle_last_report(usage, changed),
            Ok(_) => {}
            // After its last report, a process ends.
            Err(_) if self.usage.is_some() => {}
            Err(error) => {
                let text = format!("{error} ({})", receiver.status()).replace(" ()", "");
                self.error.get_or_insert(text);
                self.stop.request();
            }
        }
    }

    fn handle_last_report(&mut self, usage: Usage, changed: Vec<Caveat>) {
        self.usage = Some(usage);
        self.emit_caveats(changed);
    }

    fn emit_caveats(&mut self, caveats: Vec<Caveat>) {
        caveats.into_iter().for_each(|caveat| self.sink.line(Line::Caveat(caveat)));
    }

    fn should_stop(&self, now: MonotonicTime) -> bool {
        let elapsed = now.since(self.start);
        let over = |limit: Option<Span>| limit.is_some_and(|limit| elapsed >= limit);
        if self.is_interrupted() || over(self.job.turn.duration) || over(self.job.turn.cut_after) {
            self.stop.request();
        }
        self.stop.is_requested()
    }

    fn is_interrupted(&self) -> bool {
        self.job.bounds.is_interrupted()
    }

    /// Waits for the receiver's last report; a thread that hangs is woken.
    fn await_receiver_end(&mut self, receiver: &mut ReceiverHandle, release: impl Fn()) {
        let give_up = clock::now().plus(STOP_TIMEOUT);
        while self.usage.is_none() && self.error.is_none() && clock::now() < give_up {
            match receiver.report(TICK) {
                Ok(Some(ReceiverReport::Done { usage, changed })) => self.handle_last_report(usage, changed),
                Ok(_) => {
                    release();
                    receiver.wake_up(self.completed.tid);
                }
                Err(error) => self.error = Some(error.to_string()),
            }
        }
    }

    /// Ends the current block at `now`, and starts the next.
    fn close_block(&mut self, now: MonotonicTime) {
        self.completed.add(self.blocks.current());
        if let Some(block) = self.blocks.close(now) {
            self.sink.line(Line::Block(Box::new(block)));
        }
    }

    fn finish(mut self, left_behind: bool) -> TurnEnd {
        let now = clock::now();
        self.drain(true);
        self.emit_wakeups();
        self.report_progress();
        self.blocks.set_irregular(self.matching.irregular(self.log.count()));
        self.close_block(now);
        let finished = self.finished(now, left_behind);
        self.sink.line(Line::Finished(finished));
        TurnEnd { how: self.how_ended(), left_behind }
    }

    fn finished(&self, at: MonotonicTime, left_behind: bool) -> TurnFinished {
        let (task, notifier) = (self.job.task, self.job.spec.notifier);
        let short = task.samples.is_some_and(|samples| self.log.count() < samples + task.warm_up);
        let cut = left_behind || (short && !self.is_interrupted() && !self.is_above());
        TurnFinished {
            condition: task.condition,
            round: task.round,
            at,
            usage: self.usage,
            load: None,
            // The error implies it.
            unfinished: cut && self.error.is_none(),
            error: self.error.as_ref().map(|error| AsText::Text(format!("{notifier}: {error}"))),
        }
    }

    fn is_above(&self) -> bool {
        self.stop.above.load(Ordering::Relaxed)
    }

    fn how_ended(&self) -> EndReason {
        if self.is_above() {
            EndReason::StoppedAbove
        } else if self.is_interrupted() {
            EndReason::Interrupted
        } else {
            EndReason::Done
        }
    }
}
