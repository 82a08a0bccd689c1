//! Threads under `SCHED_DEADLINE`: what lies between the beginning of a period and the time at which its thread runs.
//!
//! ```text
//! sched_yield ─► the kernel replenishes the runtime ─► reads the clock ─► ring ─► drained by the caller
//! ```

mod turns;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::{Builder, JoinHandle};

use howlate_linux::{clock, memory, sched, signal, thread};
use howlate_model::{CpuSet, Latency, Policy, Span, ThresholdAction, Wakeup};

use crate::loops::{NEVER, Stop};
use crate::ring::{Ring, RingWriter};
use turns::{Yielding, turn};

const STACK: usize = 512 * 1024;
/// A ring holds the periods of so many seconds, so that a caller that gets no CPU for a while loses none.
const RING: Span = Span::from_secs(8);

/// What one thread asks the kernel for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlineThread {
    /// Time that it may run in each period.
    pub runtime: Span,
    /// The period, which is its deadline too.
    pub period: Span,
}

impl DeadlineThread {
    const fn policy(self) -> Policy {
        Policy::Deadline { runtime: self.runtime, deadline_period: self.period }
    }

    /// Periods that a ring holds.
    fn ring(self) -> usize {
        let periods = RING.as_nanos() / self.period.as_nanos().max(1);
        usize::try_from(periods.clamp(64, 1 << 20)).unwrap_or(64)
    }
}

/// What is measured.
#[derive(Clone, Debug)]
pub struct DeadlinePlan {
    /// One thread each.
    pub threads: Vec<DeadlineThread>,
    /// Where they may run; `None`: where the caller may.
    pub cpus: Option<CpuSet>,
    /// A latency above it ends the run.
    pub stop_above: Option<Span>,
    /// What the thread that was above does then.
    pub on_above: Option<ThresholdAction>,
    /// Set to end the run.
    pub interrupted: Arc<AtomicBool>,
}

/// What of a thread's settings was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// There is no such thread.
    Start,
    /// It was not bound to its CPUs.
    Bind,
    /// It was not given its runtime and period.
    Policy,
    /// The kernel took them, and reports others.
    ReadBack,
}

/// Why no thread runs.
#[derive(Debug, thiserror::Error)]
#[error("thread {thread}: {source}")]
pub struct DeadlineRefused {
    /// Its place among the threads.
    pub thread: usize,
    /// What was asked for.
    pub step: Step,
    /// What the kernel said.
    pub source: io::Error,
}

/// How it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadlineEnd {
    /// The first thread that was above the threshold, and its latency.
    pub above: Option<(usize, Latency)>,
    /// Threads whose runtime or period are others by now.
    pub changed: Vec<usize>,
    /// Latencies that came faster than they were drained.
    pub lost: u64,
}

/// The threads, running.
pub struct DeadlineThreads {
    threads: Vec<(Arc<Ring>, JoinHandle<Over>)>,
    tids: Vec<u32>,
    stop: Stop,
}

/// How one thread ended.
struct Over {
    above: Option<Wakeup>,
    is_changed: bool,
}

/// The id of a thread, or what it was refused.
type Settled = (usize, Result<u32, (Step, io::Error)>);

impl DeadlineThreads {
    /// Starts the threads; they begin together.
    ///
    /// # Errors
    ///
    /// When one of them is refused what it asks for; none runs then.
    pub fn begin(plan: &DeadlinePlan) -> Result<Self, DeadlineRefused> {
        let stop = Stop {
            on_above: plan.on_above.clone(),
            interrupted: Arc::clone(&plan.interrupted),
            ..Stop::default()
        };
        let gate = Arc::new(Barrier::new(plan.threads.len() + 1));
        let (to_caller, from_threads) = channel();
        let mut threads = Vec::new();
        for (number, asked) in plan.threads.iter().enumerate() {
            let ring = Ring::new(asked.ring());
            let one = One {
                number,
                asked: *asked,
                cpus: plan.cpus.clone(),
                stop_above: plan.stop_above.map_or(NEVER, Latency::from_span),
                stop: stop.clone(),
                gate: Arc::clone(&gate),
                out: RingWriter::new(Arc::clone(&ring)),
            };
            let refused = |source| DeadlineRefused { thread: number, step: Step::Start, source };
            threads.push((ring, one.start(to_caller.clone()).map_err(refused)?));
        }
        let tids = settled(&from_threads, plan.threads.len());
        if tids.is_err() {
            stop.ask();
        }
        gate.wait();
        Ok(Self { threads, tids: tids?, stop })
    }

    /// The ids of the threads.
    pub fn tids(&self) -> &[u32] {
        &self.tids
    }

    /// Hands on the latencies since the last call, each with the place of its thread, in the order of each thread.
    pub fn drain(&self, take: &mut dyn FnMut(usize, Latency)) {
        for (number, (ring, _)) in self.threads.iter().enumerate() {
            ring.drain(|arrived| arrived.wakeups().for_each(|one| take(number, one.latency())));
        }
    }

    /// Whether a latency was above the threshold.
    pub fn are_stopped(&self) -> bool {
        self.stop.above.load(Ordering::Relaxed)
    }

    /// Ends them at their next periods; hands on the last latencies.
    pub fn end(mut self, take: &mut dyn FnMut(usize, Latency)) -> DeadlineEnd {
        self.stop.ask();
        while !self.threads.iter().all(|(_, thread)| thread.is_finished()) {
            self.drain(take);
            drop(clock::sleep_for(Span::from_millis(1)));
        }
        self.drain(take);
        let (mut end, mut first) = (DeadlineEnd::default(), None);
        for (number, (ring, thread)) in std::mem::take(&mut self.threads).into_iter().enumerate() {
            end.lost += ring.lost();
            let Ok(over) = thread.join() else { continue };
            if over.is_changed {
                end.changed.push(number);
            }
            first =
                first.into_iter().chain(over.above.map(|one| (one.ran, number, one))).min_by_key(|one| one.0);
        }
        end.above = first.map(|(_, number, one)| (number, one.latency()));
        end
    }
}

/// Whoever gives up leaves no thread behind.
impl Drop for DeadlineThreads {
    fn drop(&mut self) {
        self.stop.ask();
    }
}

/// The ids of all threads; the first refusal otherwise.
fn settled(from_threads: &Receiver<Settled>, threads: usize) -> Result<Vec<u32>, DeadlineRefused> {
    let mut all: Vec<Settled> = from_threads.iter().take(threads).collect();
    all.sort_unstable_by_key(|(number, _)| *number);
    let of = |(thread, settled): Settled| {
        settled.map_err(|(step, source)| DeadlineRefused { thread, step, source })
    };
    all.into_iter().map(of).collect()
}

/// What a thread is given.
struct One {
    number: usize,
    asked: DeadlineThread,
    cpus: Option<CpuSet>,
    stop_above: Latency,
    stop: Stop,
    gate: Arc<Barrier>,
    out: RingWriter,
}

impl One {
    /// A thread that has told how it fared before it measures.
    fn start(mut self, told: Sender<Settled>) -> io::Result<JoinHandle<Over>> {
        let named = Builder::new().name(format!("howlate-{}", self.number)).stack_size(STACK);
        named.spawn(move || {
            drop(told.send((self.number, self.settle())));
            drop(told);
            self.gate.wait();
            if self.stop.is_asked() {
                return Over { above: None, is_changed: false };
            }
            let above = turn(self.asked.period, self.stop_above, &mut Yielding, &self.stop, &mut self.out);
            Over { above, is_changed: !self.is_in_force() }
        })
    }

    /// Gives the calling thread what it asks for, and reads it back.
    fn settle(&self) -> Result<u32, (Step, io::Error)> {
        memory::touch_stack();
        signal::block_all_but_wake_up();
        if let Some(cpus) = &self.cpus {
            sched::bind(cpus).map_err(|error| (Step::Bind, error))?;
        }
        sched::set_policy(sched::THIS_THREAD, self.asked.policy()).map_err(|error| (Step::Policy, error))?;
        if !self.is_in_force() {
            return Err((Step::ReadBack, io::ErrorKind::Other.into()));
        }
        Ok(thread::id())
    }

    fn is_in_force(&self) -> bool {
        sched::policy(sched::THIS_THREAD).is_ok_and(|policy| policy == self.asked.policy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(runtime: Span, period: Span) -> DeadlinePlan {
        let threads = vec![DeadlineThread { runtime, period }; 2];
        DeadlinePlan { threads, cpus: None, stop_above: None, on_above: None, interrupted: Arc::default() }
    }

    fn begin(plan: &DeadlinePlan) -> Option<DeadlineThreads> {
        let refused = |error: DeadlineRefused| howlate_testing::skip(&error.to_string());
        DeadlineThreads::begin(plan).map_err(refused).ok()
    }

    #[test]
    fn each_period_has_a_latency_and_none_is_negative() {
        let Some(threads) = begin(&plan(Span::from_micros(100), Span::from_millis(2))) else { return };
        let mut counts = [0_u64; 2];
        let mut take = |thread: usize, latency: Latency| {
            assert!(latency.as_nanos() >= 0);
            counts[thread] += 1;
        };
        let tids = threads.tids().to_vec();
        assert!(tids.len() == 2 && tids[0] != tids[1]);
        drop(clock::sleep_for(Span::from_millis(40)));
        let end = threads.end(&mut take);
        assert_eq!(end, DeadlineEnd::default());
        assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    }

    #[test]
    fn the_first_above_the_threshold_ends_all() {
        let plan = DeadlinePlan {
            stop_above: Some(Span::ZERO),
            ..plan(Span::from_micros(100), Span::from_millis(2))
        };
        let Some(threads) = begin(&plan) else { return };
        while !threads.are_stopped() {
            drop(clock::sleep_for(Span::from_millis(1)));
        }
        let mut latencies = Vec::new();
        let end = threads.end(&mut |thread, latency| latencies.push((thread, latency)));
        assert!(latencies.contains(&end.above.unwrap()), "{end:?}");
    }

    #[test]
    fn what_the_kernel_does_not_take_says_which_step() {
        let refused = DeadlineThreads::begin(&plan(Span::ZERO, Span::from_millis(2))).err().unwrap();
        assert_eq!((refused.thread, refused.step), (0, Step::Policy), "{refused}");
        let elsewhere = CpuSet::from_iter([4_000]);
        let elsewhere = DeadlinePlan { cpus: Some(elsewhere), ..plan(Span::ZERO, Span::from_millis(2)) };
        assert_eq!(DeadlineThreads::begin(&elsewhere).err().unwrap().step, Step::Bind);
    }
}
