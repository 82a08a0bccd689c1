//! The one that is notified: waits, notes the time, stores it.

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
use super::control;
use super::dispatch::{With, with};
use super::shared::{Arrivals, Direction, END};
use crate::settings;

/// The receiver as a process: nothing of it is worth keeping.
pub(super) const RECEIVER: Helper = Helper {
    role: "__receiver",
    name: c"howlate-receive",
    lifetime: Lifetime::OfParent,
    serve: |_| serve_process(),
};

/// What the receiver is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(crate) task: Task,
    pub(crate) between: Peers,
    pub(crate) round_trip: bool,
    /// The number of the last message.
    pub(crate) last: u64,
    /// How many of the descriptors belong to the first direction.
    pub(crate) first_descriptors: usize,
    /// System V ids of both directions.
    pub(crate) ids: [Option<i32>; 2],
    /// What that process holds in `/dev/cpu_dma_latency`.
    pub(crate) dma_latency_us: Option<i32>,
}

/// What the receiver reports.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// It has its settings and will wait.
    Ready { in_force: EffectiveSettings, caveats: Vec<Caveat> },
    /// It has had the last message.
    Done { usage: Usage, changed: Vec<Caveat> },
    /// It cannot go on.
    Failed { reason: String },
}

/// Does not answer.
struct Silent;

impl Notify for Silent {
    #[inline]
    fn notify(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

/// Everything a receiver needs.
pub(crate) struct Receiving<T> {
    pub(crate) orders: Orders,
    pub(crate) memory: Arc<SharedMemory>,
    pub(crate) descriptors: Vec<OwnedFd>,
    pub(crate) memory_locked: bool,
    pub(crate) tell: T,
}

impl<T: FnMut(Report)> Receiving<T> {
    /// Works until the last message or [`END`], and tells how it went.
    pub(crate) fn run(self) {
        if let Some(notifier) = self.orders.task.work.notifier() {
            with(notifier, self);
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

    /// Settings and ends, then the loop between two looks at what was used.
    fn measure<C: Channel>(&mut self) -> io::Result<Report> {
        let process =
            ProcessState { memory_locked: self.memory_locked, dma_latency_us: self.orders.dma_latency_us };
        let (in_force, caveats) = settings::apply(&self.orders.task, process)?;
        let began = settings::read();
        let (endpoint, answer_endpoint) = self.endpoints();
        let direction = endpoint.direction.clone();
        direction.register();
        let receiver = C::receiver(endpoint)?;
        let answer = self.orders.round_trip.then(|| C::sender(answer_endpoint)).transpose()?;
        let arrivals = Arrivals::new(Arc::clone(&self.memory));
        arrivals.touch();
        let last = self.orders.last;
        (self.tell)(Report::Ready { in_force, caveats });
        let mut work = Loop { receiver, direction, arrivals, last, place: 0 };
        let warm_up = usize::try_from(self.orders.task.warm_up).unwrap_or(usize::MAX);
        let usage = match answer {
            None => work.run_measured(warm_up, &mut Silent)?,
            Some(mut sender) => work.run_measured(warm_up, &mut sender)?,
        };
        Ok(Report::Done { usage, changed: settings::changed_since(&began) })
    }
}

impl<T: FnMut(Report)> With for Receiving<T> {
    type Output = ();

    fn with<C: Channel>(mut self) {
        let report = self.measure::<C>();
        (self.tell)(report.unwrap_or_else(|error| Report::Failed { reason: error.to_string() }));
    }
}

/// The measured loop and where it is.
pub(super) struct Loop<R> {
    pub(super) receiver: R,
    pub(super) direction: Direction,
    pub(super) arrivals: Arrivals,
    /// The number of the last message.
    pub(super) last: u64,
    /// Where the next stamp goes.
    pub(super) place: usize,
}

impl<R: Await> Loop<R> {
    /// Takes `warm_up` messages, then the rest; returns what the rest used.
    fn run_measured(&mut self, warm_up: usize, answer: &mut impl Notify) -> io::Result<Usage> {
        let goes_on = warm_up == 0 || self.run(warm_up, answer)?;
        let (before, began) = (usage::of_this_thread(), clock::now());
        if goes_on {
            self.run(usize::MAX, answer)?;
        }
        Ok(usage::of_this_thread().since(&before, clock::now().since(began)))
    }

    /// Wait, read the clock, answer if asked to, store: until `until` stamps are stored, or the
    /// end. Returns whether there is more to come.
    pub(super) fn run(&mut self, until: usize, answer: &mut impl Notify) -> io::Result<bool> {
        while self.place < until {
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
            if !self.arrivals.store(self.place, number, ran) || number >= self.last {
                return Ok(false);
            }
            self.place += 1;
        }
        Ok(true)
    }

    #[cold]
    fn is_over(&self) -> bool {
        self.direction.announced().load(Ordering::Relaxed) == END
    }
}

/// The receiver as a process of its own: orders come through standard input.
fn serve_process() -> io::Result<()> {
    signal::block_all_but_wake_up();
    signal::prepare_wake_up()?;
    let control = stdin().as_fd().try_clone_to_owned()?;
    let (orders, mut descriptors): (Orders, Vec<OwnedFd>) = control::receive(&control)?;
    if descriptors.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotConnected, "the orders came without memory"));
    }
    let memory = Arc::new(SharedMemory::open(descriptors.remove(0))?);
    let memory_locked = memory::lock_all().is_ok();
    // When the parent no longer listens, it is about to end this process.
    let tell = |report: Report| drop(control::send(&control, &report, &[]));
    Receiving { orders, memory, descriptors, memory_locked, tell }.run();
    Ok(())
}
