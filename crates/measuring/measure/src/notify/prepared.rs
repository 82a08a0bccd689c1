//! Shared memory and endpoints of a turn, and the start of both sides.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;

use howlate_linux::shared_memory::SharedMemory;
use howlate_linux::{clock, signal};
use howlate_model::{
    Caveat, EffectiveSettings, Line, MonotonicTime, Peers, ReceiverCpu, Sink, Task, TurnEnd, TurnStarted,
};

use super::channel::{Channel, Endpoint, Endpoints, Notify};
use super::channels::{WithChannel, with_channel};
use super::job::{NotifyJob, READY_TIMEOUT};
use super::keep_awake::CpuKeepAwake;
use super::observer::TurnObserver;
use super::receiver::{ReceiverOrders, ReceiverReport};
use super::receiver_handle::ReceiverHandle;
use super::sender::SentLog;
use super::sender_thread::{SenderHandle, SenderThread};
use super::shared::{Arrivals, Direction, END, words_for};
use crate::loops::Stop;
use crate::observer::ObserverAffinity;

/// Extra stamps for messages that arrive more than once.
const EXTRA_STAMPS: usize = 64;

/// Shared memory and endpoints of a turn.
pub(super) struct PreparedTurn<'a> {
    job: &'a NotifyJob<'a>,
    memory: Arc<SharedMemory>,
    file: OwnedFd,
    forward: Endpoints,
    backward: Endpoints,
}

impl<'a> PreparedTurn<'a> {
    pub(super) fn new(job: &'a NotifyJob<'a>) -> io::Result<Self> {
        let arrivals = usize::try_from(job.count()).unwrap_or(usize::MAX).saturating_add(EXTRA_STAMPS);
        let (memory, file) = SharedMemory::create(words_for(arrivals))?;
        let (forward, backward) = (Endpoints::default(), Endpoints::default());
        let mut prepared = Self { job, memory: Arc::new(memory), file, forward, backward };
        prepared.forward = with_channel(job.spec.notifier, CreateEndpoints(prepared.direction(0)))?;
        if job.spec.round_trip {
            prepared.backward = with_channel(job.spec.notifier, CreateEndpoints(prepared.direction(1)))?;
        }
        Ok(prepared)
    }

    fn direction(&self, number: usize) -> Direction {
        Direction { memory: Arc::clone(&self.memory), number, between: self.job.spec.between }
    }

    fn arrivals(&self) -> Arrivals {
        Arrivals::new(Arc::clone(&self.memory))
    }

    fn endpoint(&self, number: usize, descriptors: Vec<OwnedFd>) -> Endpoint {
        let endpoints = if number == 0 { &self.forward } else { &self.backward };
        Endpoint { direction: self.direction(number), descriptors, id: endpoints.id() }
    }

    /// Starts both sides, and observes them to the end.
    pub(super) fn run(mut self, sink: &mut dyn Sink) -> io::Result<TurnEnd> {
        signal::prepare_wake_up()?;
        let job = self.job;
        let (stop, log) = (Stop::default(), SentLog::new(usize::try_from(job.count()).unwrap_or(0)));
        let sender = self.start_sender(&stop, &log)?;
        // The sender first, because the receiver's answers go to its thread.
        let receiver = self.start_receiver()?;
        let Some(ReceiverReport::Ready { in_force, caveats }) = await_ready(&receiver)? else {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the receiver did not get ready"));
        };
        let awake_cpu = job.task.cpu.filter(|_| job.spec.receiver == ReceiverCpu::HeldAwake);
        let _awake = awake_cpu.map(CpuKeepAwake::start).transpose()?;
        // After the start of the receiver, which would inherit the affinity.
        let _affinity = job.bounds.observer_cpus.as_ref().map(ObserverAffinity::set);
        let start = clock::now();
        sink.line(Line::Started(self.started(start, in_force.clone(), caveats, &sender)));
        let observer = TurnObserver::new(job, log, self.arrivals(), &in_force, start, stop, sink);
        sender.begin();
        Ok(observer.run(sender, receiver, || self.release()))
    }

    fn start_sender(&mut self, stop: &Stop, log: &Arc<SentLog>) -> io::Result<SenderHandle> {
        let (job, (to_observer, from_sender)) = (self.job, channel());
        let (forward, backward) =
            (std::mem::take(&mut self.forward.sender), std::mem::take(&mut self.backward.receiver));
        let sender = SenderThread {
            task: Task { cpu: job.spec.sender_cpu, ..job.task.clone() },
            spec: job.spec,
            count: job.count(),
            forward: self.endpoint(0, forward),
            backward: self.endpoint(1, backward),
            arrivals: self.arrivals(),
            log: Arc::clone(log),
            stop: stop.clone(),
            to_observer,
        };
        sender.start(job.bounds.process, from_sender)
    }

    fn start_receiver(&mut self) -> io::Result<ReceiverHandle> {
        let (job, orders) = (self.job, self.orders());
        let mut descriptors = std::mem::take(&mut self.forward.receiver);
        descriptors.append(&mut self.backward.sender);
        match job.spec.between {
            Peers::Processes => ReceiverHandle::process(&orders, &self.file, descriptors),
            Peers::Threads => {
                ReceiverHandle::thread(orders, &self.memory, descriptors, job.bounds.process.memory_locked)
            }
        }
    }

    fn orders(&self) -> ReceiverOrders {
        let job = self.job;
        ReceiverOrders {
            task: job.task.clone(),
            between: job.spec.between,
            round_trip: job.spec.round_trip,
            last: job.count(),
            first_descriptors: self.forward.receiver.len(),
            ids: [self.forward.id(), self.backward.id()],
            dma_latency_us: job.bounds.process.dma_latency_us,
        }
    }

    /// The settings in force on both sides, and those refused on either.
    fn started(
        &self,
        at: MonotonicTime,
        in_force: EffectiveSettings,
        mut caveats: Vec<Caveat>,
        sender: &SenderHandle,
    ) -> TurnStarted {
        let (sender_in_force, sender_caveats) = sender.settings.clone();
        let new: Vec<Caveat> =
            sender_caveats.into_iter().filter(|caveat| !caveats.contains(caveat)).collect();
        caveats.extend(new);
        let (condition, round) = (self.job.task.condition, self.job.task.round);
        TurnStarted {
            condition,
            round,
            at,
            in_force,
            sender_in_force: Some(sender_in_force),
            warm_up: Some(self.job.task.warm_up),
            runtime: None,
            caveats,
        }
    }

    /// Ends waits that no signal ends, of a side whose other side has ended.
    fn release(&self) {
        for number in [0, 1] {
            with_channel(self.job.spec.notifier, SendEnd(self.endpoint(number, Vec::new())));
        }
    }
}

/// Creates the endpoints of one direction.
struct CreateEndpoints(Direction);

impl WithChannel for CreateEndpoints {
    type Output = io::Result<Endpoints>;

    fn with<C: Channel>(self) -> io::Result<Endpoints> {
        C::make(&self.0)
    }
}

/// Sends [`END`] where that needs no descriptor.
struct SendEnd(Endpoint);

impl WithChannel for SendEnd {
    type Output = ();

    fn with<C: Channel>(self) {
        self.0.direction.announced().store(END, Ordering::Release);
        // With descriptors the sender cannot be created here; a signal ends those waits.
        drop(C::sender(self.0).and_then(|mut sender| sender.notify(END)));
    }
}

/// Waits for the receiver's first report, regardless of signals: a request to stop is handled once the run has started.
fn await_ready(receiver: &ReceiverHandle) -> io::Result<Option<ReceiverReport>> {
    let give_up = clock::now().plus(READY_TIMEOUT);
    loop {
        match receiver.report(READY_TIMEOUT)? {
            None if clock::now() < give_up => {}
            report => return Ok(report),
        }
    }
}
