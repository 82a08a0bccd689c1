//! The sender's thread: settings, the loop, the last word.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, sync_channel};
use std::thread::Builder;

use howlate_linux::signal;
use howlate_model::{Caveat, EffectiveSettings, ProcessState, Span, Task};

use super::channel::{Channel, Endpoint, Notify};
use super::dispatch::{With, with};
use super::job::{PATIENCE, Spec};
use super::sender::{Answered, NoAnswer, Sending, SentLog};
use super::shared::{Arrivals, END};
use crate::loops::Stop;
use crate::settings;

/// What the sender tells the observer.
pub(super) enum FromSender {
    Ready(io::Result<(EffectiveSettings, Vec<Caveat>)>),
    /// With which of its settings are others by then than in the beginning.
    Done(io::Result<Vec<Caveat>>),
}

/// The sender's belongings.
pub(super) struct SenderThread {
    pub(super) task: Task,
    pub(super) spec: Spec,
    pub(super) count: u64,
    pub(super) there: Endpoint,
    pub(super) back: Endpoint,
    pub(super) arrivals: Arrivals,
    pub(super) log: Arc<SentLog>,
    pub(super) stop: Stop,
    pub(super) to_observer: Sender<FromSender>,
}

/// A sender that has its settings and waits for the word to begin.
pub(super) struct SenderHandle {
    pub(super) settings: (EffectiveSettings, Vec<Caveat>),
    from_sender: Receiver<FromSender>,
    gate: SyncSender<()>,
}

impl SenderHandle {
    /// Lets the sender begin.
    pub(super) fn begin(&self) {
        // A sender that is gone has said why.
        self.gate.send(()).unwrap_or_default();
    }

    /// How it ended, once it has; `None` when nothing was heard within `patience`.
    pub(super) fn ended(&self, patience: Span) -> Option<io::Result<Vec<Caveat>>> {
        match self.from_sender.recv_timeout(patience.into()) {
            Ok(FromSender::Done(result)) => Some(result),
            Ok(FromSender::Ready(_)) | Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Makes a wait of the sender return.
    pub(super) fn wake_up(&self) {
        drop(signal::wake_up(self.settings.0.tid));
    }
}

impl SenderThread {
    /// Starts the thread; returns when it has its settings.
    pub(super) fn start(
        self,
        process: ProcessState,
        from_sender: Receiver<FromSender>,
    ) -> io::Result<SenderHandle> {
        let (gate, passed) = sync_channel(1);
        Builder::new().name("howlate-sender".into()).spawn(move || self.run(process, &passed))?;
        match from_sender.recv_timeout(PATIENCE.into()) {
            Ok(FromSender::Ready(settings)) => Ok(SenderHandle { settings: settings?, from_sender, gate }),
            _ => Err(io::Error::new(io::ErrorKind::TimedOut, "the sender did not get ready")),
        }
    }

    fn run(self, process: ProcessState, gate: &Receiver<()>) {
        let to_observer = self.to_observer.clone();
        let work = Work { gate, process, thread: self };
        let result = with(work.thread.spec.notifier, work);
        drop(to_observer.send(FromSender::Done(result)));
    }
}

struct Work<'a> {
    gate: &'a Receiver<()>,
    process: ProcessState,
    thread: SenderThread,
}

impl With for Work<'_> {
    type Output = io::Result<Vec<Caveat>>;

    fn with<C: Channel>(self) -> io::Result<Vec<Caveat>> {
        let SenderThread { task, spec, count, there, back, arrivals, log, stop, to_observer } = self.thread;
        let applied = settings::apply(&task, self.process);
        back.direction.register();
        let answer = spec.round_trip.then(|| C::receiver(back)).transpose()?;
        let began = settings::read();
        drop(to_observer.send(FromSender::Ready(applied)));
        if self.gate.recv().is_err() {
            return Ok(Vec::new());
        }
        let direction = there.direction.clone();
        let mut sender = C::sender(there)?;
        let sending =
            Sending { gap: spec.gap, shares_cpu: spec.shares_cpu, count, arrivals, log, stop: stop.clone() };
        let result = match answer {
            None => sending.run(&mut sender, &mut NoAnswer),
            Some(receiver) => sending.run(&mut sender, &mut Answered { receiver, stop }),
        };
        direction.announced().store(END, Ordering::Release);
        // A receiver that has had the last message is gone already.
        drop(sender.notify(END));
        result.map(|_| settings::changed_since(&began))
    }
}
