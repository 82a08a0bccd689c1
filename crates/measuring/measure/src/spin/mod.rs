//! A spinning thread on each measured CPU: time in which it does not run is a gap.
//!
//! ```text
//! reads the counter ─► longer than `threshold` since the last time? ─► ring ─► drained by the caller
//! ```

mod counter;
mod loops;
mod thread;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::{Builder, JoinHandle};

use howlate_model::{CpuGap, CpuSet, Policy, Span, SpinCount};

pub use counter::{TickSource, tick_source};

use crate::ring::{RingWriter, WakeupRing};
use counter::{Clock, TickLength, Ticks};
use loops::spin;
use thread::SpinningThread;

/// Ring capacity in gaps: when drained 20 times a second, more than a million per second.
const RING_CAPACITY: usize = 1 << 17;
const STACK: usize = 512 * 1024;

/// What spins, and for how long.
#[derive(Clone, Debug)]
pub struct SpinPlan {
    /// One thread runs on each of them.
    pub cpus: CpuSet,
    pub policy: Policy,
    /// Minimum time between two readings that is a gap.
    pub threshold: Span,
    /// `None`: until stopped.
    pub duration: Option<Span>,
    /// What the threads read.
    pub tick_source: TickSource,
    /// Bytes that each thread copies in every iteration; `None`: it only reads the counter.
    pub copied_bytes: Option<usize>,
}

/// Why the threads were not started.
#[derive(Debug, thiserror::Error)]
#[error("CPU {cpu}: {source}")]
pub struct SpinStartError {
    pub cpu: u32,
    pub source: io::Error,
}

/// The spinning threads.
pub struct Spinners {
    threads: Vec<(u32, Arc<WakeupRing>, JoinHandle<SpinCount>)>,
    tids: Vec<(u32, u32)>,
    stop: Arc<AtomicBool>,
    megahertz: u64,
}

/// CPU of a thread, and its thread id or what failed.
type SetupResult = (u32, io::Result<u32>);

impl Spinners {
    /// Starts the threads, which begin together.
    ///
    /// # Errors
    ///
    /// When the set-up of any of them fails; none spins then.
    pub fn begin(plan: &SpinPlan) -> Result<Self, SpinStartError> {
        let (stop, gate) = (Arc::new(AtomicBool::new(false)), Arc::new(Barrier::new(plan.cpus.len() + 1)));
        let tick = TickLength::measure(plan.tick_source);
        let (to_caller, from_threads) = channel();
        let mut threads = Vec::new();
        for cpu in plan.cpus.iter() {
            let ring = WakeupRing::new(RING_CAPACITY);
            let thread = SpinningThread {
                cpu,
                policy: plan.policy,
                threshold: plan.threshold,
                duration: plan.duration,
                tick,
                stop: Arc::clone(&stop),
                gate: Arc::clone(&gate),
                out: RingWriter::new(Arc::clone(&ring)),
                copied_bytes: plan.copied_bytes,
            };
            let handle = start(thread, plan.tick_source, to_caller.clone());
            threads.push((cpu, ring, handle.map_err(|source| SpinStartError { cpu, source })?));
        }
        let tids = setup_results(&from_threads, plan.cpus.len());
        stop.store(tids.is_err(), Ordering::Relaxed);
        gate.wait();
        Ok(Self { threads, tids: tids?, stop, megahertz: tick.megahertz() })
    }

    /// Each CPU with the id of its thread.
    pub fn tids(&self) -> &[(u32, u32)] {
        &self.tids
    }

    /// Ticks per microsecond of the tick source.
    pub const fn megahertz(&self) -> u64 {
        self.megahertz
    }

    /// Calls `take` with the gaps since the last call, in each CPU's order.
    pub fn drain(&self, take: &mut dyn FnMut(CpuGap)) {
        for (cpu, ring, _) in &self.threads {
            ring.drain(|pending| {
                pending.wakeups().for_each(|gap| {
                    take(CpuGap { cpu: *cpu, from: gap.expected, length: gap.ran.since(gap.expected) });
                });
            });
        }
    }

    /// Whether all threads have ended.
    pub fn are_over(&self) -> bool {
        self.threads.iter().all(|(_, _, thread)| thread.is_finished())
    }

    /// Requests all threads to end.
    pub fn request_stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Stops the threads; calls `take` with the last gaps, and returns the result of each thread.
    pub fn end(mut self, take: &mut dyn FnMut(CpuGap)) -> Vec<SpinCount> {
        self.request_stop();
        let mut counts = Vec::new();
        while !self.are_over() {
            self.drain(take);
            // A thread ends after its iteration, once it gets a CPU.
            drop(howlate_linux::clock::sleep_for(Span::from_millis(1)));
        }
        self.drain(take);
        for (_, ring, thread) in self.threads.drain(..) {
            counts.extend(thread.join().ok().map(|count| SpinCount { lost: ring.lost(), ..count }));
        }
        counts
    }
}

/// Starts the thread, which sends the result of its set-up before it spins.
fn start(
    thread: SpinningThread,
    tick_source: TickSource,
    results: Sender<SetupResult>,
) -> io::Result<JoinHandle<SpinCount>> {
    let builder = Builder::new().name(format!("howlate-gaps-{}", thread.cpu)).stack_size(STACK);
    builder.spawn(move || {
        let result = thread.apply_settings();
        let is_ready = result.is_ok();
        drop(results.send((thread.cpu, result)));
        drop(results);
        match (is_ready, tick_source) {
            (false, _) => {
                thread.gate.wait();
                SpinCount { cpu: thread.cpu, ..SpinCount::default() }
            }
            (true, TickSource::Ticks) => thread.count::<Ticks>(),
            (true, TickSource::Clock) => thread.count::<Clock>(),
        }
    })
}

/// The ids of all threads, or the first failure.
fn setup_results(
    from_threads: &Receiver<SetupResult>,
    threads: usize,
) -> Result<Vec<(u32, u32)>, SpinStartError> {
    let mut tids = Vec::new();
    for (cpu, result) in from_threads.iter().take(threads) {
        tids.push((cpu, result.map_err(|source| SpinStartError { cpu, source })?));
    }
    tids.sort_unstable();
    Ok(tids)
}

/// Number and length of the measurements of an iteration.
const CALIBRATIONS: u32 = 20;
const CALIBRATION_TIME: Span = Span::from_micros(100);

/// Minimum time of an iteration on this machine; a gap is at least a few of them. The mean of the best measurement, because with
/// two readings on different CPUs the later may be the smaller.
pub fn shortest_iteration(tick_source: TickSource) -> Span {
    let tick = TickLength::measure(tick_source);
    let (stop, duration) = (AtomicBool::new(false), tick.ticks(CALIBRATION_TIME));
    let mean_iteration = || {
        let totals = match tick_source {
            TickSource::Ticks => spin::<Ticks>(u64::MAX, duration, &stop, || (), |_| {}),
            TickSource::Clock => spin::<Clock>(u64::MAX, duration, &stop, || (), |_| {}),
        };
        tick.span(totals.elapsed).as_nanos() / totals.iterations.max(1)
    };
    let shortest = (0..CALIBRATIONS).map(|_| mean_iteration()).min();
    Span::from_nanos(shortest.unwrap_or_default().max(1))
}

#[cfg(test)]
mod tests {
    use howlate_linux::{clock, sched};

    use super::*;

    fn plan(duration: Option<Span>) -> SpinPlan {
        let cpu = sched::affinity().unwrap().iter().next().unwrap();
        let tick_source = tick_source();
        SpinPlan {
            cpus: CpuSet::from_iter([cpu]),
            policy: Policy::OTHER,
            threshold: Span::from_micros(1),
            duration,
            tick_source,
            copied_bytes: None,
        }
    }

    #[test]
    fn all_gaps_are_drained_or_counted_as_lost() {
        let start = clock::now();
        let spinners = Spinners::begin(&plan(Some(Span::from_millis(60)))).unwrap();
        let mut gaps = Vec::new();
        while !spinners.are_over() {
            spinners.drain(&mut |gap| gaps.push(gap));
            drop(clock::sleep_for(Span::from_millis(5)));
        }
        let [count] = spinners.end(&mut |gap| gaps.push(gap))[..] else { panic!("one thread spins") };
        assert_eq!(gaps.len() as u64 + count.lost, count.gaps);
        let sum = gaps.iter().fold(Span::ZERO, |sum, gap| sum.plus(gap.length));
        assert!(count.lost > 0 || sum == count.total, "{sum:?} of {count:?}");
        assert!(count.turns > count.gaps && count.lasted >= Span::from_millis(60));
        assert!(gaps.windows(2).all(|pair| pair[0].from <= pair[1].from));
        assert!(gaps.iter().all(|gap| gap.from >= start && gap.length <= count.longest));
    }

    #[test]
    fn a_thread_without_a_duration_ends_on_request() {
        let spinners = Spinners::begin(&plan(None)).unwrap();
        let [(_, tid)] = spinners.tids()[..] else { panic!("one thread spins") };
        assert!(tid != howlate_linux::thread::id());
        assert_eq!(spinners.end(&mut |_| {}).len(), 1);
    }

    #[test]
    fn an_iteration_that_copies_takes_longer() {
        let copied_bytes = Some(1 << 20);
        let spinners =
            Spinners::begin(&SpinPlan { copied_bytes, ..plan(Some(Span::from_millis(20))) }).unwrap();
        let megahertz = spinners.megahertz();
        while !spinners.are_over() {
            drop(clock::sleep_for(Span::from_millis(5)));
        }
        let [count] = spinners.end(&mut |_| {})[..] else { panic!("one thread spins") };
        assert!(count.shortest > shortest_iteration(tick_source()) && megahertz > 0);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_named() {
        let plan = SpinPlan { cpus: CpuSet::from_iter([4_000]), ..plan(None) };
        let refused = Spinners::begin(&plan).err().unwrap();
        assert!(refused.to_string().starts_with("CPU 4000: cannot bind"), "{refused}");
    }
}
