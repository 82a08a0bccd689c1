//! The receiver: waits, reads the clock, stores the stamp.

use std::io::{self, stdin};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use howlate_linux::helper::{Helper, Lifetime};
use howlate_linux::shared_memory::SharedMemory;
use howlate_linux::{clock, memory, signal, usage};
use howlate_model::{Caveat, EffectiveSettings, Peers, ProcessState, Task, Usage};
use serde::{Deserialize, Serialize};

use super::channel::{Await, Channel, Endpoint, Notify};
use super::channels::{WithChannel, with_channel};
use super::control;
use super::shared::{Arrivals, Direction, END};
use crate::settings;

/// The receiver as a process, which has nothing to clean up.
pub(super) const RECEIVER: Helper = Helper {
    role: "__receiver",
    name: c"howlate-receive",
    lifetime: Lifetime::OfParent,
    serve: |_| serve_process(),
};

/// Instructions for the receiver.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ReceiverOrders {
    pub(crate) task: Task,
    pub(crate) between: Peers,
    pub(crate) round_trip: bool,
    /// The number of the last message.
    pub(crate) last: u64,
    /// Number of descriptors that belong to the first direction.
    pub(crate) first_descriptors: usize,
    /// System V ids of both directions.
    pub(crate) ids: [Option<i32>; 2],
    /// The limit that the measuring process requests through `/dev/cpu_dma_latency`, in microseconds.
    pub(crate) dma_latency_us: Option<i32>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ReceiverReport {
    /// It has applied its settings, and waits.
    Ready {
        in_force: EffectiveSettings,
        caveats: Vec<Caveat>,
    },
    /// It has received the last message.
    Done {
        usage: Usage,
        changed: Vec<Caveat>,
    },
    Failed {
        reason: String,
    },
}

/// Sends no answer.
struct NoReply;

impl Notify for NoReply {
    #[inline]
    fn notify(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

/// A receiver before it starts.
pub(crate) struct ReceiverSetup<T> {
    pub(crate) orders: ReceiverOrders,
    pub(crate) memory: Arc<SharedMemory>,
    pub(crate) descriptors: Vec<OwnedFd>,
    pub(crate) memory_locked: bool,
    pub(crate) report: T,
}

impl<T: FnMut(ReceiverReport)> ReceiverSetup<T> {
    /// Receives until the last message or [`END`], and reports the result.
    pub(crate) fn run(self) {
        if let Some(notifier) = self.orders.task.work.notifier() {
            with_channel(notifier, self);
        }
    }

    fn endpoints(&mut self) -> (Endpoint, Endpoint) {
        let orders = &self.orders;
        let direction =
            |number| Direction { memory: Arc::clone(&self.memory), number, between: orders.between };
        let answer = self.descriptors.split_off(orders.first_descriptors.min(self.descriptors.len()));
        let descriptors = std::mem::take(&mut self.descriptors);
        let [id, answer_id] = orders.ids;
        (
            Endpoint { direction: direction(0), descriptors, id },
            Endpoint { direction: direction(1), descriptors: answer, id: answer_id },
        )
    }

    /// Applies the settings, creates the endpoints, and runs the loop.
    fn measure<C: Channel>(&mut self) -> io::Result<ReceiverReport> {
        let process =
            ProcessState { memory_locked: self.memory_locked, dma_latency_us: self.orders.dma_latency_us };
        let (in_force, caveats) = settings::apply(&self.orders.task, process)?;
        let settings_before = settings::read();
        let (endpoint, answer_endpoint) = self.endpoints();
        let direction = endpoint.direction.clone();
        direction.register();
        let receiver = C::receiver(endpoint)?;
        let answer = self.orders.round_trip.then(|| C::sender(answer_endpoint)).transpose()?;
        let arrivals = Arrivals::new(Arc::clone(&self.memory));
        arrivals.touch();
        let last = self.orders.last;
        (self.report)(ReceiverReport::Ready { in_force, caveats });
        let mut receiver_loop = ReceiverLoop { receiver, direction, arrivals, last, next_stamp: 0 };
        let warm_up = usize::try_from(self.orders.task.warm_up).unwrap_or(usize::MAX);
        let usage = match answer {
            None => receiver_loop.run_measured(warm_up, &mut NoReply)?,
            Some(mut sender) => receiver_loop.run_measured(warm_up, &mut sender)?,
        };
        Ok(ReceiverReport::Done { usage, changed: settings::changed_since(&settings_before) })
    }
}

impl<T: FnMut(ReceiverReport)> WithChannel for ReceiverSetup<T> {
    type Output = ();

    fn with<C: Channel>(mut self) {
        let result = self.measure::<C>();
        (self.report)(result.unwrap_or_else(|error| ReceiverReport::Failed { reason: error.to_string() }));
    }
}

/// The measured loop.
pub(super) struct ReceiverLoop<R> {
    pub(super) receiver: R,
    pub(super) direction: Direction,
    pub(super) arrivals: Arrivals,
    /// The number of the last message.
    pub(super) last: u64,
    /// Index of the next stamp.
    pub(super) next_stamp: usize,
}

impl<R: Await> ReceiverLoop<R> {
    /// Receives `warm_up` messages, then the rest; returns the resource usage of the rest.
    fn run_measured(&mut self, warm_up: usize, answer: &mut impl Notify) -> io::Result<Usage> {
        let continues = warm_up == 0 || self.run(warm_up, answer)?;
        let (before, start) = (usage::of_this_thread(), clock::now());
        if continues {
            self.run(usize::MAX, answer)?;
        }
        Ok(usage::of_this_thread().since(&before, clock::now().since(start)))
    }

    /// Waits, reads the clock, answers in a round trip, stores: until `until` stamps are stored, or the
    /// end. Returns whether more messages will follow.
    pub(super) fn run(&mut self, until: usize, answer: &mut impl Notify) -> io::Result<bool> {
        while self.next_stamp < until {
            match self.receiver.wait() {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted && !self.is_over() => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(false),
                Err(error) => return Err(error),
            }
            let ran = clock::now();
            let number = self.receiver.number();
            if number == END {
                return Ok(false);
            }
            answer.prepare(number);
            answer.notify(number)?;
            if !self.arrivals.store(self.next_stamp, number, ran) || number >= self.last {
                return Ok(false);
            }
            self.next_stamp += 1;
        }
        Ok(true)
    }

    #[cold]
    fn is_over(&self) -> bool {
        self.direction.announced().load(Ordering::Relaxed) == END
    }
}

/// The receiver process: orders arrive through standard input.
fn serve_process() -> io::Result<()> {
    signal::block_all_but_wake_up();
    signal::prepare_wake_up()?;
    let control = stdin().as_fd().try_clone_to_owned()?;
    let (orders, mut descriptors): (ReceiverOrders, Vec<OwnedFd>) = control::receive(&control)?;
    if descriptors.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotConnected, "the orders came without memory"));
    }
    let memory = Arc::new(SharedMemory::open(descriptors.remove(0))?);
    let memory_locked = memory::lock_all().is_ok();
    // When the parent no longer reads, it is about to end this process.
    let report = |message: ReceiverReport| drop(control::send(&control, &message, &[]));
    ReceiverSetup { orders, memory, descriptors, memory_locked, report }.run();
    Ok(())
}
