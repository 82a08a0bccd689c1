//! The sender's thread: settings, the loop, the result.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, sync_channel};
use std::thread::Builder;

use howlate_linux::signal;
use howlate_model::{Caveat, EffectiveSettings, ProcessState, Span, Task};

use super::channel::{Channel, Endpoint, Notify};
use super::channels::{WithChannel, with_channel};
use super::job::{NotifySettings, READY_TIMEOUT};
use super::sender::{AwaitAnswer, NoAnswer, SenderLoop, SentLog};
use super::shared::{Arrivals, END};
use crate::loops::Stop;
use crate::settings;

/// A message of the sender to the observer.
pub(super) enum SenderMessage {
    Ready(io::Result<(EffectiveSettings, Vec<Caveat>)>),
    /// Includes the settings that changed since the start.
    Done(io::Result<Vec<Caveat>>),
}

/// A sender before it starts.
pub(super) struct SenderThread {
    pub(super) task: Task,
    pub(super) spec: NotifySettings,
    pub(super) count: u64,
    pub(super) forward: Endpoint,
    pub(super) backward: Endpoint,
    pub(super) arrivals: Arrivals,
    pub(super) log: Arc<SentLog>,
    pub(super) stop: Stop,
    pub(super) to_observer: Sender<SenderMessage>,
}

/// A sender that has applied its settings, and waits for its start.
pub(super) struct SenderHandle {
    pub(super) settings: (EffectiveSettings, Vec<Caveat>),
    from_sender: Receiver<SenderMessage>,
    gate: SyncSender<()>,
}

impl SenderHandle {
    /// Starts the sender's loop.
    pub(super) fn begin(&self) {
        // A sender that has ended has reported why.
        self.gate.send(()).unwrap_or_default();
    }

    /// The result, once the sender has ended; `None` if it does not end within `timeout`.
    pub(super) fn ended(&self, timeout: Span) -> Option<io::Result<Vec<Caveat>>> {
        match self.from_sender.recv_timeout(timeout.into()) {
            Ok(SenderMessage::Done(result)) => Some(result),
            Ok(SenderMessage::Ready(_)) | Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Makes a wait of the sender return.
    pub(super) fn wake_up(&self) {
        drop(signal::wake_up(self.settings.0.tid));
    }
}

impl SenderThread {
    /// Starts the thread; returns when it has applied its settings.
    pub(super) fn start(
        self,
        process: ProcessState,
        from_sender: Receiver<SenderMessage>,
    ) -> io::Result<SenderHandle> {
        let (gate, opened) = sync_channel(1);
        Builder::new().name("howlate-sender".into()).spawn(move || self.run(process, &opened))?;
        match from_sender.recv_timeout(READY_TIMEOUT.into()) {
            Ok(SenderMessage::Ready(settings)) => Ok(SenderHandle { settings: settings?, from_sender, gate }),
            _ => Err(io::Error::new(io::ErrorKind::TimedOut, "the sender did not get ready")),
        }
    }

    fn run(self, process: ProcessState, gate: &Receiver<()>) {
        let to_observer = self.to_observer.clone();
        let sender = SenderWork { gate, process, thread: self };
        let result = with_channel(sender.thread.spec.notifier, sender);
        drop(to_observer.send(SenderMessage::Done(result)));
    }
}

struct SenderWork<'a> {
    gate: &'a Receiver<()>,
    process: ProcessState,
    thread: SenderThread,
}

impl WithChannel for SenderWork<'_> {
    type Output = io::Result<Vec<Caveat>>;

    fn with<C: Channel>(self) -> io::Result<Vec<Caveat>> {
        let SenderThread { task, spec, count, forward, backward, arrivals, log, stop, to_observer } =
            self.thread;
        let applied = settings::apply(&task, self.process);
        backward.direction.register();
        let answer = spec.round_trip.then(|| C::receiver(backward)).transpose()?;
        let settings_before = settings::read();
        drop(to_observer.send(SenderMessage::Ready(applied)));
        if self.gate.recv().is_err() {
            return Ok(Vec::new());
        }
        let direction = forward.direction.clone();
        let mut sender = C::sender(forward)?;
        let sender_loop = SenderLoop {
            gap: spec.gap,
            shares_cpu: spec.shares_cpu,
            count,
            arrivals,
            log,
            stop: stop.clone(),
        };
        let result = match answer {
            None => sender_loop.run(&mut sender, &mut NoAnswer),
            Some(receiver) => sender_loop.run(&mut sender, &mut AwaitAnswer { receiver, stop }),
        };
        direction.announced().store(END, Ordering::Release);
        // A receiver that has received the last message has ended already.
        drop(sender.notify(END));
        result.map(|_| settings::changed_since(&settings_before))
    }
}
