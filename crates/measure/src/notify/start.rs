//! One turn: makes the ends, starts sender and receiver, watches, and cleans up.

mod other;
mod sending;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

use howlate_linux::shared_memory::SharedMemory;
use howlate_linux::{clock, signal};
use howlate_model::{
    Between, Caveat, Finished, HowEnded, Line, Notifier, ReceiverCpu, Span, Started, Task, Turn, Work,
};

use super::awake::Awake;
use super::channel::{Channel, Ends, Kit, Notify};
use super::each::{With, with};
use super::lane::{Arrivals, END, Lane, words_for};
use super::observer::Watch;
use super::receiver::{Orders, Report};
use super::sender::SentLog;
use crate::loops::Stop;
use crate::observer::Place;
use crate::run::as_latency;
use crate::settings::Shared;
use crate::{Bounds, Ended, Process, Sink};

pub(super) use other::Other;
pub(super) use sending::Ready;
use sending::SenderThread;

/// How long sender and receiver may take to get ready.
const PATIENCE: Span = Span::from_secs(5);

/// Room for messages that arrive more than once.
const SPARE: usize = 64;

/// What a turn of notifications asks for.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) notifier: Notifier,
    pub(super) gap: Span,
    pub(super) between: Between,
    pub(super) sender_cpu: Option<u32>,
    pub(super) receiver: ReceiverCpu,
    /// Whether sender and receiver are bound to one CPU.
    pub(super) shares_cpu: bool,
    pub(super) round_trip: bool,
}

/// What is asked for when `task` is about notification.
fn asked(task: &Task) -> Option<Asked> {
    match task.work {
        Work::Notify { mechanism, after_ns, between, sender_cpu, receiver, round_trip, .. } => Some(Asked {
            notifier: mechanism,
            gap: after_ns,
            between,
            sender_cpu,
            receiver,
            shares_cpu: sender_cpu.is_some() && sender_cpu == task.cpu,
            round_trip,
        }),
        Work::Cyclic { .. } | Work::Sleep { .. } => None,
    }
}

/// Whether a turn is one of notifications, which [`run`] takes.
pub(crate) fn is_notification(turn: &Turn) -> bool {
    turn.tasks.first().and_then(asked).is_some()
}

/// Takes a turn of notifications. What fails becomes part of the result, so that the rest can run.
pub(crate) fn run(
    turn: &Turn,
    bounds: &Bounds,
    process: &Process,
    interrupted: &AtomicBool,
    sink: &mut dyn Sink,
) -> Ended {
    let mut ended = Ended { how: HowEnded::Done, left_behind: false };
    for task in &turn.tasks {
        let Some(asked) = asked(task) else { continue };
        let begun = Begun { turn, task, asked, bounds, process, interrupted };
        let result = begun.prepare().and_then(|prepared| prepared.run(&begun, sink));
        match result {
            Ok(result) => ended = result,
            Err(error) => sink.line(Line::Finished(failed(task, asked.notifier, &error))),
        }
    }
    ended
}

/// The end of a turn that could not begin.
fn failed(task: &Task, notifier: Notifier, error: &io::Error) -> Finished {
    Finished {
        condition: task.condition,
        round: task.round,
        at_ns: clock::now(),
        usage: None,
        unfinished: false,
        load: None,
        error: Some(format!("{notifier}: {error}")),
    }
}

/// What one turn is given.
pub(super) struct Begun<'a> {
    pub(super) turn: &'a Turn,
    pub(super) task: &'a Task,
    pub(super) asked: Asked,
    pub(super) bounds: &'a Bounds,
    pub(super) process: &'a Process,
    pub(super) interrupted: &'a AtomicBool,
}

/// Memory and ends, before anybody uses them.
struct Prepared {
    memory: Arc<SharedMemory>,
    file: OwnedFd,
    there: Ends,
    back: Option<Ends>,
    count: u64,
}

impl Begun<'_> {
    fn count(&self) -> u64 {
        self.task.warm_up + self.task.samples.unwrap_or(1)
    }

    fn prepare(&self) -> io::Result<Prepared> {
        let count = self.count();
        let arrivals = usize::try_from(count).unwrap_or(usize::MAX).saturating_add(SPARE);
        let (memory, file) = SharedMemory::create(words_for(arrivals))?;
        let memory = Arc::new(memory);
        let make = |number| {
            let lane = Lane { memory: Arc::clone(&memory), number, between: self.asked.between };
            with(self.asked.notifier, Make(lane))
        };
        let there = make(0)?;
        let back = self.asked.round_trip.then(|| make(1)).transpose()?;
        Ok(Prepared { memory, file, there, back, count })
    }

    fn shared(&self) -> Shared {
        Shared { memory_locked: self.process.memory_locked(), dma_latency_us: self.process.dma_latency_us() }
    }
}

impl Prepared {
    fn lane(&self, number: usize, begun: &Begun<'_>) -> Lane {
        Lane { memory: Arc::clone(&self.memory), number, between: begun.asked.between }
    }

    fn ids(&self) -> [Option<i32>; 2] {
        [self.there.id(), self.back.as_ref().and_then(Ends::id)]
    }

    fn orders(&self, begun: &Begun<'_>) -> Orders {
        Orders {
            task: begun.task.clone(),
            between: begun.asked.between,
            round_trip: begun.asked.round_trip,
            last: self.count,
            first_descriptors: self.there.receiver.len(),
            ids: self.ids(),
            parent: std::process::id(),
            dma_latency_us: begun.process.dma_latency_us(),
        }
    }

    fn run(mut self, begun: &Begun<'_>, sink: &mut dyn Sink) -> io::Result<Ended> {
        signal::prepare_wake_up()?;
        let (to_observer, from_sender) = channel();
        let (stop, log) = (Stop::default(), SentLog::new(usize::try_from(self.count).unwrap_or(0)));
        let [id, back_id] = self.ids();
        let sender = SenderThread {
            task: Task { cpu: begun.asked.sender_cpu, ..begun.task.clone() },
            asked: begun.asked,
            count: self.count,
            there: Kit { lane: self.lane(0, begun), descriptors: std::mem::take(&mut self.there.sender), id },
            back: Kit {
                lane: self.lane(1, begun),
                descriptors: self
                    .back
                    .as_mut()
                    .map_or_else(Vec::new, |ends| std::mem::take(&mut ends.receiver)),
                id: back_id,
            },
            arrivals: Arrivals::new(Arc::clone(&self.memory)),
            log: Arc::clone(&log),
            stop: stop.clone(),
            to_observer,
        };
        let sender = sender.start(begun.shared(), from_sender)?;
        // The receiver is told last, because its answer goes to a thread that must exist.
        let receiver = self.start_receiver(begun)?;
        let report = receiver.report(PATIENCE)?;
        let (Some(Report::Ready { in_force, caveats }), (sender_in_force, sender_caveats)) =
            (report, sender.settings.clone())
        else {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the receiver did not get ready"));
        };
        let mut all_caveats = caveats;
        all_caveats.extend(
            sender_caveats.into_iter().filter(|one| !all_caveats.contains(one)).collect::<Vec<Caveat>>(),
        );
        let awake = begun.task.cpu.filter(|_| begun.asked.receiver == ReceiverCpu::HeldAwake);
        let _awake = awake.map(Awake::keep).transpose()?;
        let _place = begun.bounds.observer_cpus.as_ref().map(Place::take);
        let at_ns = clock::now();
        sink.line(Line::Started(Started {
            condition: begun.task.condition,
            round: begun.task.round,
            at_ns,
            in_force: in_force.clone(),
            sender_in_force: Some(sender_in_force),
            caveats: all_caveats,
        }));
        let mut watch =
            Watch::new(begun, log, Arrivals::new(Arc::clone(&self.memory)), &in_force, at_ns, stop, sink);
        watch.stop_above = begun.bounds.stop_above.map(as_latency);
        sender.begin();
        let release = || self.release(begun);
        Ok(watch.run(sender, receiver, release))
    }

    fn start_receiver(&mut self, begun: &Begun<'_>) -> io::Result<Other> {
        let orders = self.orders(begun);
        let mut descriptors = std::mem::take(&mut self.there.receiver);
        if let Some(back) = &mut self.back {
            descriptors.append(&mut back.sender);
        }
        match begun.asked.between {
            Between::Processes => Other::process(&orders, &self.file, descriptors),
            Between::Threads => {
                Other::thread(orders, &self.memory, descriptors, begun.shared().memory_locked)
            }
        }
    }

    /// Ends waits that no signal ends: those of a side whose other side is gone.
    fn release(&self, begun: &Begun<'_>) {
        for number in [0, 1] {
            let lane = self.lane(number, begun);
            let kit = Kit { lane, descriptors: Vec::new(), id: self.ids()[number] };
            with(begun.asked.notifier, Release(kit));
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
        self.0.lane.announced().store(END, std::sync::atomic::Ordering::Release);
        // Mechanisms with a descriptor are woken by a signal instead.
        drop(C::sender(self.0).and_then(|mut sender| sender.notify(END)));
    }
}
