//! Threads under `SCHED_DEADLINE`: the time from the start of a period until its thread runs.
//!
//! ```text
//! sched_yield ─► the kernel replenishes the runtime ─► reads the clock ─► ring ─► drained by the caller
//! ```

mod loops;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::{Builder, JoinHandle};

use howlate_linux::{clock, memory, sched, signal, thread};
use howlate_model::{CpuSet, Latency, Policy, Span, ThresholdAction, Wakeup};

use crate::loops::{NEVER, Stop};
use crate::ring::{RingWriter, WakeupRing};
use loops::{SchedYield, measure_periods};

const STACK: usize = 512 * 1024;
/// A ring holds the periods of this time, so that a caller that gets no CPU for a while loses none.
const RING_TIME: Span = Span::from_secs(8);

/// Parameters of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlineThread {
    /// CPU time in each period.
    pub runtime: Span,
    /// The period, which is also the deadline.
    pub period: Span,
}

impl DeadlineThread {
    const fn policy(self) -> Policy {
        Policy::Deadline { runtime: self.runtime, deadline_period: self.period }
    }

    /// Number of periods that a ring holds.
    fn ring_capacity(self) -> usize {
        let periods = RING_TIME.as_nanos() / self.period.as_nanos().max(1);
        usize::try_from(periods.clamp(64, 1 << 20)).unwrap_or(64)
    }
}

/// What is measured.
#[derive(Clone, Debug)]
pub struct DeadlinePlan {
    pub threads: Vec<DeadlineThread>,
    /// Their affinity; `None`: that of the caller.
    pub cpus: Option<CpuSet>,
    /// A latency above it ends the run.
    pub stop_above: Option<Span>,
    /// Called by the thread that was above it.
    pub on_above: Option<ThresholdAction>,
    /// Set to end the run.
    pub interrupted: Arc<AtomicBool>,
}

/// The step of a thread's set-up that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlineStep {
    /// The thread could not be started.
    Start,
    /// Binding it to its CPUs.
    Bind,
    /// Setting its runtime and period.
    Policy,
    /// The kernel accepted them, but reports other values.
    ReadBack,
}

/// Why the threads were not started.
#[derive(Debug, thiserror::Error)]
#[error("thread {thread}: {source}")]
pub struct DeadlineSetupError {
    /// Index of the thread.
    pub thread: usize,
    pub step: DeadlineStep,
    pub source: io::Error,
}

/// Result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadlineEnd {
    /// The first thread that was above the threshold, and its latency.
    pub above: Option<(usize, Latency)>,
    /// Threads whose runtime or period was changed meanwhile.
    pub changed: Vec<usize>,
    /// Latencies lost because the ring was full.
    pub lost: u64,
}

/// The running threads.
pub struct DeadlineThreads {
    threads: Vec<(Arc<WakeupRing>, JoinHandle<ThreadEnd>)>,
    tids: Vec<u32>,
    stop: Stop,
}

/// How one thread ended.
struct ThreadEnd {
    above: Option<Wakeup>,
    is_changed: bool,
}

/// Index of a thread, and its thread id or what failed.
type SetupResult = (usize, Result<u32, (DeadlineStep, io::Error)>);

impl DeadlineThreads {
    /// Starts the threads, which begin together.
    ///
    /// # Errors
    ///
    /// When the set-up of any of them fails; none runs then.
    pub fn begin(plan: &DeadlinePlan) -> Result<Self, DeadlineSetupError> {
        let stop = Stop {
            on_above: plan.on_above.clone(),
            interrupted: Arc::clone(&plan.interrupted),
            ..Stop::default()
        };
        let gate = Arc::new(Barrier::new(plan.threads.len() + 1));
        let (to_caller, from_threads) = channel();
        let mut threads = Vec::new();
        for (number, parameters) in plan.threads.iter().enumerate() {
            let ring = WakeupRing::new(parameters.ring_capacity());
            let thread = ThreadSetup {
                number,
                parameters: *parameters,
                cpus: plan.cpus.clone(),
                stop_above: plan.stop_above.map_or(NEVER, Latency::from_span),
                stop: stop.clone(),
                gate: Arc::clone(&gate),
                out: RingWriter::new(Arc::clone(&ring)),
            };
            let failed = |source| DeadlineSetupError { thread: number, step: DeadlineStep::Start, source };
            threads.push((ring, thread.start(to_caller.clone()).map_err(failed)?));
        }
        let tids = setup_results(&from_threads, plan.threads.len());
        if tids.is_err() {
            stop.request();
        }
        gate.wait();
        Ok(Self { threads, tids: tids?, stop })
    }

    pub fn tids(&self) -> &[u32] {
        &self.tids
    }

    /// Calls `take` with the latencies since the last call and the index of their thread, in each thread's order.
    pub fn drain(&self, take: &mut dyn FnMut(usize, Latency)) {
        for (number, (ring, _)) in self.threads.iter().enumerate() {
            ring.drain(|pending| pending.wakeups().for_each(|wakeup| take(number, wakeup.latency())));
        }
    }

    /// Whether a latency was above the threshold.
    pub fn are_stopped(&self) -> bool {
        self.stop.above.load(Ordering::Relaxed)
    }

    /// Stops the threads at their next periods; calls `take` with the last latencies.
    pub fn end(mut self, take: &mut dyn FnMut(usize, Latency)) -> DeadlineEnd {
        self.stop.request();
        while !self.threads.iter().all(|(_, thread)| thread.is_finished()) {
            self.drain(take);
            drop(clock::sleep_for(Span::from_millis(1)));
        }
        self.drain(take);
        let (mut end, mut first) = (DeadlineEnd::default(), None);
        for (number, (ring, thread)) in std::mem::take(&mut self.threads).into_iter().enumerate() {
            end.lost += ring.lost();
            let Ok(thread_end) = thread.join() else { continue };
            if thread_end.is_changed {
                end.changed.push(number);
            }
            first = first
                .into_iter()
                .chain(thread_end.above.map(|wakeup| (wakeup.ran, number, wakeup)))
                .min_by_key(|(ran, ..)| *ran);
        }
        end.above = first.map(|(_, number, wakeup)| (number, wakeup.latency()));
        end
    }
}

impl Drop for DeadlineThreads {
    fn drop(&mut self) {
        self.stop.request();
    }
}

/// The ids of all threads, or the first failure.
fn setup_results(
    from_threads: &Receiver<SetupResult>,
    threads: usize,
) -> Result<Vec<u32>, DeadlineSetupError> {
    let mut results: Vec<SetupResult> = from_threads.iter().take(threads).collect();
    results.sort_unstable_by_key(|(number, _)| *number);
    let tid = |(thread, result): SetupResult| {
        result.map_err(|(step, source)| DeadlineSetupError { thread, step, source })
    };
    results.into_iter().map(tid).collect()
}

/// A thread before it starts.
struct ThreadSetup {
    number: usize,
    parameters: DeadlineThread,
    cpus: Option<CpuSet>,
    stop_above: Latency,
    stop: Stop,
    gate: Arc<Barrier>,
    out: RingWriter,
}

impl ThreadSetup {
    /// Starts the thread, which sends the result of its set-up before it measures.
    fn start(mut self, results: Sender<SetupResult>) -> io::Result<JoinHandle<ThreadEnd>> {
        let builder = Builder::new().name(format!("howlate-{}", self.number)).stack_size(STACK);
        builder.spawn(move || {
            drop(results.send((self.number, self.apply())));
            drop(results);
            self.gate.wait();
            if self.stop.is_requested() {
                return ThreadEnd { above: None, is_changed: false };
            }
            let above = measure_periods(
                self.parameters.period,
                self.stop_above,
                &mut SchedYield,
                &self.stop,
                &mut self.out,
            );
            ThreadEnd { above, is_changed: !self.is_in_force() }
        })
    }

    /// Applies the parameters to the calling thread, and reads them back.
    fn apply(&self) -> Result<u32, (DeadlineStep, io::Error)> {
        memory::touch_stack();
        signal::block_all_but_wake_up();
        if let Some(cpus) = &self.cpus {
            sched::bind(cpus).map_err(|error| (DeadlineStep::Bind, error))?;
        }
        sched::set_policy(sched::THIS_THREAD, self.parameters.policy())
            .map_err(|error| (DeadlineStep::Policy, error))?;
        if !self.is_in_force() {
            return Err((DeadlineStep::ReadBack, io::ErrorKind::Other.into()));
        }
        Ok(thread::id())
    }

    fn is_in_force(&self) -> bool {
        sched::policy(sched::THIS_THREAD).is_ok_and(|policy| policy == self.parameters.policy())
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
        let refused = |error: DeadlineSetupError| howlate_testing::skip(&error.to_string());
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
    fn a_refused_setting_names_the_step() {
        let refused = DeadlineThreads::begin(&plan(Span::ZERO, Span::from_millis(2))).err().unwrap();
        assert_eq!((refused.thread, refused.step), (0, DeadlineStep::Policy), "{refused}");
        let elsewhere = CpuSet::from_iter([4_000]);
        let elsewhere = DeadlinePlan { cpus: Some(elsewhere), ..plan(Span::ZERO, Span::from_millis(2)) };
        assert_eq!(DeadlineThreads::begin(&elsewhere).err().unwrap().step, DeadlineStep::Bind);
    }
}
