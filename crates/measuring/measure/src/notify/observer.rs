//! Watches a turn: pairs stamps, emits blocks, notices a dead receiver, ends what must end.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use howlate_linux::clock;
use howlate_model::{
    AsText, BlockBuilder, Caveat, EffectiveSettings, EndReason, Latency, Line, MonotonicTime, Sink, Span,
    ThreadProgress, TurnEnd, TurnFinished, Usage, Wakeup,
};

use super::job::Job;
use super::message_matching::Pairing;
use super::receiver::Report;
use super::receiver_handle::ReceiverHandle;
use super::sender::SentLog;
use super::sender_thread::SenderHandle;
use super::shared::Arrivals;
use crate::loops::Stop;

/// How often the observer polls.
const TICK: Span = Span::from_millis(100);
/// Length of the blocks that are emitted. Longer than most turns, so that a block is a turn.
const BLOCK: Span = Span::from_secs(10);
/// How long the sender may take to stop by itself; longer than it waits for a last message.
const GRACE: Span = Span::from_millis(1_500);
/// How long sender and receiver may take to stop.
const PATIENCE: Span = Span::from_secs(3);

/// What is known of a turn under way.
pub(super) struct Watch<'a> {
    job: &'a Job<'a>,
    log: Arc<SentLog>,
    arrivals: Arrivals,
    /// How many of them were read.
    arrivals_read: usize,
    pairing: Pairing,
    blocks: BlockBuilder,
    /// Up to the block's beginning.
    before: ThreadProgress,
    last: Latency,
    began: MonotonicTime,
    stop: Stop,
    stop_above: Option<Latency>,
    usage: Option<Usage>,
    error: Option<String>,
    /// Wake-ups that were not handed on one by one yet; `None`: nobody wants them so.
    wakeups: Option<Vec<Wakeup>>,
    sink: &'a mut dyn Sink,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        job: &'a Job<'a>,
        log: Arc<SentLog>,
        arrivals: Arrivals,
        in_force: &EffectiveSettings,
        began: MonotonicTime,
        stop: Stop,
        sink: &'a mut dyn Sink,
    ) -> Self {
        Self {
            job,
            log,
            arrivals,
            arrivals_read: 0,
            pairing: Pairing::default(),
            blocks: BlockBuilder::new(job.task, began),
            before: ThreadProgress::new(job.task, in_force),
            last: Latency::default(),
            began,
            stop,
            stop_above: job.bounds.stop_above.map(Latency::from_span),
            usage: None,
            error: None,
            wakeups: sink.wants_wakeups().then(Vec::new),
            sink,
        }
    }

    /// Watches until the sender is done or given up, then takes what is left.
    pub(super) fn run(
        mut self,
        sender: SenderHandle,
        mut receiver: ReceiverHandle,
        release: impl Fn(),
    ) -> TurnEnd {
        let mut asked_at: Option<MonotonicTime> = None;
        let sent = loop {
            if let Some(result) = sender.ended(TICK) {
                break Some(result);
            }
            let now = clock::now();
            let waited = asked_at.map_or(Span::ZERO, |at| now.since(at));
            if waited > PATIENCE {
                break None;
            }
            self.poll(now);
            self.listen(&mut receiver, Span::ZERO);
            if self.should_stop(now) {
                asked_at.get_or_insert(now);
                sender.wake_up();
                // Not before the sender had its time: the end that it announces would take the place of a
                // message on its way.
                if waited > GRACE || self.error.is_some() {
                    release();
                }
            }
        };
        let left_behind = sent.is_none();
        match sent {
            Some(Err(error)) => {
                // A dead receiver is the better reason: `EPIPE` is only its consequence.
                self.listen(&mut receiver, TICK);
                self.error.get_or_insert_with(|| error.to_string());
            }
            Some(Ok(changed)) => self.tell(changed),
            None => {}
        }
        self.see_receiver_off(&mut receiver, release);
        self.finish(left_behind)
    }

    /// Takes what has arrived, and tells how far it has come.
    fn poll(&mut self, now: MonotonicTime) {
        self.drain(false);
        self.hand_on();
        self.show();
        if now.since(self.blocks.current().from) >= BLOCK {
            self.close_block(now);
        }
    }

    fn hand_on(&mut self) {
        let number = self.job.turn.tasks.iter().position(|task| task == self.job.task);
        if let (Some(wakeups), Some(number)) = (&mut self.wakeups, number) {
            self.sink.wakeups(number, wakeups);
            wakeups.clear();
        }
    }

    fn show(&mut self) {
        let mut progress = self.before.clone();
        progress.add(self.blocks.current());
        progress.last = self.last;
        self.sink.progress(&[progress]);
    }

    /// Pairs arrivals with messages. One whose message is not logged yet waits for the next
    /// poll, but for the `last`.
    fn drain(&mut self, last: bool) {
        let sent = self.log.count();
        for place in self.arrivals_read..self.arrivals.count() {
            let (number, ran) = self.arrivals.get(place);
            if number > sent && !last {
                return;
            }
            self.arrivals_read = place + 1;
            if self.pairing.take(number, sent) && number > self.job.task.warm_up {
                self.keep(number, ran);
            }
        }
    }

    fn keep(&mut self, number: u64, ran: MonotonicTime) {
        let Some(sent) = self.log.get(number) else { return };
        let ran = if self.job.spec.round_trip { sent.answered } else { ran };
        let wakeup = Wakeup { expected: sent.sent, ran };
        self.blocks.record(wakeup);
        self.wakeups.iter_mut().for_each(|kept| kept.push(wakeup));
        self.blocks.record_send(Wakeup { expected: sent.sent, ran: sent.returned }.latency());
        self.last = wakeup.latency();
        if self.stop_above.is_some_and(|limit| wakeup.latency() > limit) {
            self.stop.above.store(true, Ordering::Relaxed);
            self.stop.ask();
        }
    }

    /// Takes the receiver's reports; its death stops the turn.
    fn listen(&mut self, receiver: &mut ReceiverHandle, patience: Span) {
        match receiver.report(patience) {
            Ok(Some(Report::Done { usage, changed })) => self.take_last_report(usage, changed),
            Ok(_) => {}
            // After its last report, a process ends.
            Err(_) if self.usage.is_some() => {}
            Err(error) => {
                let text = format!("{error} ({})", receiver.status()).replace(" ()", "");
                self.error.get_or_insert(text);
                self.stop.ask();
            }
        }
    }

    fn take_last_report(&mut self, usage: Usage, changed: Vec<Caveat>) {
        self.usage = Some(usage);
        self.tell(changed);
    }

    fn tell(&mut self, caveats: Vec<Caveat>) {
        caveats.into_iter().for_each(|caveat| self.sink.line(Line::Caveat(caveat)));
    }

    fn should_stop(&self, now: MonotonicTime) -> bool {
        let elapsed = now.since(self.began);
        let over = |limit: Option<Span>| limit.is_some_and(|limit| elapsed >= limit);
        if self.is_interrupted() || over(self.job.turn.duration) || over(self.job.turn.cut_after) {
            self.stop.ask();
        }
        self.stop.is_asked()
    }

    fn is_interrupted(&self) -> bool {
        self.job.bounds.is_interrupted()
    }

    /// Waits for the receiver's last report; a thread that hangs is woken.
    fn see_receiver_off(&mut self, receiver: &mut ReceiverHandle, release: impl Fn()) {
        let give_up = clock::now().plus(PATIENCE);
        while self.usage.is_none() && self.error.is_none() && clock::now() < give_up {
            match receiver.report(TICK) {
                Ok(Some(Report::Done { usage, changed })) => self.take_last_report(usage, changed),
                Ok(_) => {
                    release();
                    receiver.wake_up(self.before.tid);
                }
                Err(error) => self.error = Some(error.to_string()),
            }
        }
    }

    /// Endpoints the current block at `now`, and begins the next.
    fn close_block(&mut self, now: MonotonicTime) {
        self.before.add(self.blocks.current());
        if let Some(block) = self.blocks.close(now) {
            self.sink.line(Line::Block(Box::new(block)));
        }
    }

    fn finish(mut self, left_behind: bool) -> TurnEnd {
        let now = clock::now();
        self.drain(true);
        self.hand_on();
        self.show();
        self.blocks.set_irregular(self.pairing.irregular(self.log.count()));
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
            // An error says it better.
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
