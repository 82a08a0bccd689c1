//! Memory and ends of a turn, and the start of both sides.

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
use super::dispatch::{With, with};
use super::job::{Job, PATIENCE};
use super::keep_awake::Awake;
use super::observer::Watch;
use super::receiver::{Orders, Report};
use super::receiver_handle::ReceiverHandle;
use super::sender::SentLog;
use super::sender_thread::{SenderHandle, SenderThread};
use super::shared::{Arrivals, Direction, END, words_for};
use crate::loops::Stop;
use crate::observer::Affinity;

/// Room for messages that arrive more than once.
const SPARE: usize = 64;

/// Memory and ends of a turn.
pub(super) struct Prepared<'a> {
    job: &'a Job<'a>,
    memory: Arc<SharedMemory>,
    file: OwnedFd,
    there: Endpoints,
    back: Endpoints,
}

impl<'a> Prepared<'a> {
    pub(super) fn new(job: &'a Job<'a>) -> io::Result<Self> {
        let arrivals = usize::try_from(job.count()).unwrap_or(usize::MAX).saturating_add(SPARE);
        let (memory, file) = SharedMemory::create(words_for(arrivals))?;
        let (there, back) = (Endpoints::default(), Endpoints::default());
        let mut prepared = Self { job, memory: Arc::new(memory), file, there, back };
        prepared.there = with(job.spec.notifier, Make(prepared.direction(0)))?;
        if job.spec.round_trip {
            prepared.back = with(job.spec.notifier, Make(prepared.direction(1)))?;
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
        let ends = if number == 0 { &self.there } else { &self.back };
        Endpoint { direction: self.direction(number), descriptors, id: ends.id() }
    }

    /// Starts both sides, and watches them to the end.
    pub(super) fn run(mut self, sink: &mut dyn Sink) -> io::Result<TurnEnd> {
        signal::prepare_wake_up()?;
        let job = self.job;
        let (stop, log) = (Stop::default(), SentLog::new(usize::try_from(job.count()).unwrap_or(0)));
        let sender = self.start_sender(&stop, &log)?;
        // The receiver comes second, because its answer goes to a thread that must exist.
        let receiver = self.start_receiver()?;
        let Some(Report::Ready { in_force, caveats }) = ready(&receiver)? else {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the receiver did not get ready"));
        };
        let held = job.task.cpu.filter(|_| job.spec.receiver == ReceiverCpu::HeldAwake);
        let _awake = held.map(Awake::keep).transpose()?;
        // After the receiver was started, which would inherit the affinity.
        let _affinity = job.bounds.observer_cpus.as_ref().map(Affinity::set);
        let at_ns = clock::now();
        sink.line(Line::Started(self.started(at_ns, in_force.clone(), caveats, &sender)));
        let watch = Watch::new(job, log, self.arrivals(), &in_force, at_ns, stop, sink);
        sender.begin();
        Ok(watch.run(sender, receiver, || self.release()))
    }

    fn start_sender(&mut self, stop: &Stop, log: &Arc<SentLog>) -> io::Result<SenderHandle> {
        let (job, (to_observer, from_sender)) = (self.job, channel());
        let (there, back) = (std::mem::take(&mut self.there.sender), std::mem::take(&mut self.back.receiver));
        let sender = SenderThread {
            task: Task { cpu: job.spec.sender_cpu, ..job.task.clone() },
            spec: job.spec,
            count: job.count(),
            there: self.endpoint(0, there),
            back: self.endpoint(1, back),
            arrivals: self.arrivals(),
            log: Arc::clone(log),
            stop: stop.clone(),
            to_observer,
        };
        sender.start(job.bounds.process, from_sender)
    }

    fn start_receiver(&mut self) -> io::Result<ReceiverHandle> {
        let (job, orders) = (self.job, self.orders());
        let mut descriptors = std::mem::take(&mut self.there.receiver);
        descriptors.append(&mut self.back.sender);
        match job.spec.between {
            Peers::Processes => ReceiverHandle::process(&orders, &self.file, descriptors),
            Peers::Threads => {
                ReceiverHandle::thread(orders, &self.memory, descriptors, job.bounds.process.memory_locked)
            }
        }
    }

    fn orders(&self) -> Orders {
        let job = self.job;
        Orders {
            task: job.task.clone(),
            between: job.spec.between,
            round_trip: job.spec.round_trip,
            last: job.count(),
            first_descriptors: self.there.receiver.len(),
            ids: [self.there.id(), self.back.id()],
            dma_latency_us: job.bounds.process.dma_latency_us,
        }
    }

    /// What is in force on both sides; what either was refused.
    fn started(
        &self,
        at: MonotonicTime,
        in_force: EffectiveSettings,
        mut caveats: Vec<Caveat>,
        sender: &SenderHandle,
    ) -> TurnStarted {
        let (sender_in_force, of_sender) = sender.settings.clone();
        let new: Vec<Caveat> = of_sender.into_iter().filter(|one| !caveats.contains(one)).collect();
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

    /// Endpoints waits that no signal ends: those of a side whose other side is gone.
    fn release(&self) {
        for number in [0, 1] {
            with(self.job.spec.notifier, Release(self.endpoint(number, Vec::new())));
        }
    }
}

/// Makes the ends of one direction.
struct Make(Direction);

impl With for Make {
    type Output = io::Result<Endpoints>;

    fn with<C: Channel>(self) -> io::Result<Endpoints> {
        C::make(&self.0)
    }
}

/// Sends [`END`] where that needs no descriptor.
struct Release(Endpoint);

impl With for Release {
    type Output = ();

    fn with<C: Channel>(self) {
        self.0.direction.announced().store(END, Ordering::Release);
        // Mechanisms with a descriptor are woken by a signal instead.
        drop(C::sender(self.0).and_then(|mut sender| sender.notify(END)));
    }
}

/// The receiver's first report, however many signals come meanwhile: whoever ends the run is heard when it has begun.
fn ready(receiver: &ReceiverHandle) -> io::Result<Option<Report>> {
    let give_up = clock::now().plus(PATIENCE);
    loop {
        match receiver.report(PATIENCE)? {
            None if clock::now() < give_up => {}
            report => return Ok(report),
        }
    }
}
