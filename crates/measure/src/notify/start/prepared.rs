//! Memory and ends of a turn, and the start of both sides.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;

use howlate_linux::shared_memory::SharedMemory;
use howlate_linux::{clock, signal};
use howlate_model::{Between, Caveat, Ended, InForce, Line, MonotonicTime, ReceiverCpu, Sink, Started, Task};

use super::sending::SenderThread;
use super::{Begun, Other, PATIENCE, Ready};
use crate::loops::Stop;
use crate::notify::awake::Awake;
use crate::notify::channel::{Channel, Ends, Kit, Notify};
use crate::notify::each::{With, with};
use crate::notify::lane::{Arrivals, END, Lane, words_for};
use crate::notify::observer::Watch;
use crate::notify::receiver::{Orders, Report};
use crate::notify::sender::SentLog;
use crate::observer::Affinity;

/// Room for messages that arrive more than once.
const SPARE: usize = 64;

/// Memory and ends of a turn.
pub(super) struct Prepared<'a> {
    begun: &'a Begun<'a>,
    memory: Arc<SharedMemory>,
    file: OwnedFd,
    there: Ends,
    back: Ends,
}

impl<'a> Prepared<'a> {
    pub(super) fn new(begun: &'a Begun<'a>) -> io::Result<Self> {
        let arrivals = usize::try_from(begun.count()).unwrap_or(usize::MAX).saturating_add(SPARE);
        let (memory, file) = SharedMemory::create(words_for(arrivals))?;
        let (there, back) = (Ends::default(), Ends::default());
        let mut prepared = Self { begun, memory: Arc::new(memory), file, there, back };
        prepared.there = with(begun.asked.notifier, Make(prepared.lane(0)))?;
        if begun.asked.round_trip {
            prepared.back = with(begun.asked.notifier, Make(prepared.lane(1)))?;
        }
        Ok(prepared)
    }

    fn lane(&self, number: usize) -> Lane {
        Lane { memory: Arc::clone(&self.memory), number, between: self.begun.asked.between }
    }

    fn arrivals(&self) -> Arrivals {
        Arrivals::new(Arc::clone(&self.memory))
    }

    fn kit(&self, number: usize, descriptors: Vec<OwnedFd>) -> Kit {
        let ends = if number == 0 { &self.there } else { &self.back };
        Kit { lane: self.lane(number), descriptors, id: ends.id() }
    }

    /// Starts both sides, and watches them to the end.
    pub(super) fn run(mut self, sink: &mut dyn Sink) -> io::Result<Ended> {
        signal::prepare_wake_up()?;
        let begun = self.begun;
        let (stop, log) = (Stop::default(), SentLog::new(usize::try_from(begun.count()).unwrap_or(0)));
        let sender = self.start_sender(&stop, &log)?;
        // The receiver comes second, because its answer goes to a thread that must exist.
        let receiver = self.start_receiver()?;
        let Some(Report::Ready { in_force, caveats }) = receiver.report(PATIENCE)? else {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the receiver did not get ready"));
        };
        let held = begun.task.cpu.filter(|_| begun.asked.receiver == ReceiverCpu::HeldAwake);
        let _awake = held.map(Awake::keep).transpose()?;
        // After the receiver was started, which would inherit the affinity.
        let _affinity = begun.bounds.observer_cpus.as_ref().map(Affinity::set);
        let at_ns = clock::now();
        sink.line(Line::Started(self.started(at_ns, in_force.clone(), caveats, &sender)));
        let watch = Watch::new(begun, log, self.arrivals(), &in_force, at_ns, stop, sink);
        sender.begin();
        Ok(watch.run(sender, receiver, || self.release()))
    }

    fn start_sender(&mut self, stop: &Stop, log: &Arc<SentLog>) -> io::Result<Ready> {
        let (begun, (to_observer, from_sender)) = (self.begun, channel());
        let (there, back) = (std::mem::take(&mut self.there.sender), std::mem::take(&mut self.back.receiver));
        let sender = SenderThread {
            task: Task { cpu: begun.asked.sender_cpu, ..begun.task.clone() },
            asked: begun.asked,
            count: begun.count(),
            there: self.kit(0, there),
            back: self.kit(1, back),
            arrivals: self.arrivals(),
            log: Arc::clone(log),
            stop: stop.clone(),
            to_observer,
        };
        sender.start(begun.bounds.process, from_sender)
    }

    fn start_receiver(&mut self) -> io::Result<Other> {
        let (begun, orders) = (self.begun, self.orders());
        let mut descriptors = std::mem::take(&mut self.there.receiver);
        descriptors.append(&mut self.back.sender);
        match begun.asked.between {
            Between::Processes => Other::process(&orders, &self.file, descriptors),
            Between::Threads => {
                Other::thread(orders, &self.memory, descriptors, begun.bounds.process.memory_locked)
            }
        }
    }

    fn orders(&self) -> Orders {
        let begun = self.begun;
        Orders {
            task: begun.task.clone(),
            between: begun.asked.between,
            round_trip: begun.asked.round_trip,
            last: begun.count(),
            first_descriptors: self.there.receiver.len(),
            ids: [self.there.id(), self.back.id()],
            dma_latency_us: begun.bounds.process.dma_latency_us,
        }
    }

    /// What is in force on both sides; what either was refused.
    fn started(
        &self,
        at_ns: MonotonicTime,
        in_force: InForce,
        mut caveats: Vec<Caveat>,
        sender: &Ready,
    ) -> Started {
        let (sender_in_force, of_sender) = sender.settings.clone();
        let new: Vec<Caveat> = of_sender.into_iter().filter(|one| !caveats.contains(one)).collect();
        caveats.extend(new);
        let (condition, round) = (self.begun.task.condition, self.begun.task.round);
        Started {
            condition,
            round,
            at_ns,
            in_force,
            sender_in_force: Some(sender_in_force),
            warm_up: Some(self.begun.task.warm_up),
            runtime: None,
            caveats,
        }
    }

    /// Ends waits that no signal ends: those of a side whose other side is gone.
    fn release(&self) {
        for number in [0, 1] {
            with(self.begun.asked.notifier, Release(self.kit(number, Vec::new())));
        }
    }
}

/// Makes the ends of one direction.
struct Make(Lane);

impl With for Make {
    type Output = io::Result<Ends>;

    fn with<C: Channel>(self) -> io::Result<Ends> {
        C::make(&self.0)
    }
}

/// Sends [`END`] where that needs no descriptor.
struct Release(Kit);

impl With for Release {
    type Output = ();

    fn with<C: Channel>(self) {
        self.0.lane.announced().store(END, Ordering::Release);
        // Mechanisms with a descriptor are woken by a signal instead.
        drop(C::sender(self.0).and_then(|mut sender| sender.notify(END)));
    }
}
