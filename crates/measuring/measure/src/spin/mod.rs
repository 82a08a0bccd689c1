//! A spinning thread on each measured CPU: what it cannot run is a gap.
//!
//! ```text
//! reads the counter ─► longer than `above` since the last time? ─► ring ─► drained by the caller
//! ```

mod counter;
mod thread;
mod turns;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::{Builder, JoinHandle};

use howlate_model::{CpuGap, CpuSet, Policy, Span, SpinCount};

pub use counter::{Counted, counted};

use crate::ring::{Ring, RingWriter};
use counter::{Clock, TickLength, Ticks};
use thread::Spinning;
use turns::spin;

/// Gaps on their way to the caller: at 20 looks a second, a million a second.
const RING: usize = 1 << 17;
const STACK: usize = 512 * 1024;

/// What spins, and for how long.
#[derive(Clone, Debug)]
pub struct SpinPlan {
    /// A thread on each of them.
    pub cpus: CpuSet,
    /// Of all threads.
    pub policy: Policy,
    /// The shortest time between two readings that is a gap.
    pub above: Span,
    /// When they end by themselves.
    pub lasts: Option<Span>,
    /// What they read.
    pub counted: Counted,
    /// Bytes that each copies at every turn; `None`: it does nothing but read.
    pub copies: Option<usize>,
}

/// Why no thread spins.
#[derive(Debug, thiserror::Error)]
#[error("CPU {cpu}: {source}")]
pub struct NotStarted {
    /// Whose thread it was to be.
    pub cpu: u32,
    /// What the kernel said.
    pub source: io::Error,
}

/// The threads, spinning.
pub struct Spinners {
    threads: Vec<(u32, Arc<Ring>, JoinHandle<SpinCount>)>,
    tids: Vec<(u32, u32)>,
    ending: Arc<AtomicBool>,
    megahertz: u64,
}

/// How a thread fared with its settings.
type Settled = (u32, io::Result<u32>);

impl Spinners {
    /// Starts the threads; they begin together.
    ///
    /// # Errors
    ///
    /// When one of them cannot be started, bound, or given its policy; none spins then.
    pub fn begin(plan: &SpinPlan) -> Result<Self, NotStarted> {
        let (ending, gate) = (Arc::new(AtomicBool::new(false)), Arc::new(Barrier::new(plan.cpus.len() + 1)));
        let tick = TickLength::measure(plan.counted);
        let (to_caller, from_threads) = channel();
        let mut threads = Vec::new();
        for cpu in plan.cpus.iter() {
            let ring = Ring::new(RING);
            let spinning = Spinning {
                cpu,
                policy: plan.policy,
                above: plan.above,
                lasts: plan.lasts,
                tick,
                ending: Arc::clone(&ending),
                gate: Arc::clone(&gate),
                out: RingWriter::new(Arc::clone(&ring)),
                copies: plan.copies,
            };
            let thread = start(spinning, plan.counted, to_caller.clone());
            threads.push((cpu, ring, thread.map_err(|source| NotStarted { cpu, source })?));
        }
        let tids = settled(&from_threads, plan.cpus.len());
        ending.store(tids.is_err(), Ordering::Relaxed);
        gate.wait();
        Ok(Self { threads, tids: tids?, ending, megahertz: tick.megahertz() })
    }

    /// CPUs, and the id of the thread on each.
    pub fn tids(&self) -> &[(u32, u32)] {
        &self.tids
    }

    /// Ticks of what they read, in a microsecond.
    pub const fn megahertz(&self) -> u64 {
        self.megahertz
    }

    /// Hands on the gaps since the last call, each CPU's in their order.
    pub fn drain(&self, take: &mut dyn FnMut(CpuGap)) {
        for (cpu, ring, _) in &self.threads {
            ring.drain(|arrived| {
                arrived.wakeups().for_each(|one| {
                    take(CpuGap { cpu: *cpu, from: one.expected, length: one.ran.since(one.expected) });
                });
            });
        }
    }

    /// Whether all threads have ended.
    pub fn are_over(&self) -> bool {
        self.threads.iter().all(|(_, _, thread)| thread.is_finished())
    }

    /// Has all threads end soon.
    pub fn ask_to_end(&self) {
        self.ending.store(true, Ordering::Relaxed);
    }

    /// Ends them; hands on the last gaps, and returns what each counted.
    pub fn end(mut self, take: &mut dyn FnMut(CpuGap)) -> Vec<SpinCount> {
        self.ask_to_end();
        let mut counts = Vec::new();
        while !self.are_over() {
            self.drain(take);
            // The rest of a turn, or until it gets a CPU again.
            drop(howlate_linux::clock::sleep_for(Span::from_millis(1)));
        }
        self.drain(take);
        for (_, ring, thread) in self.threads.drain(..) {
            counts.extend(thread.join().ok().map(|count| SpinCount { lost: ring.lost(), ..count }));
        }
        counts
    }
}

/// A thread that has told how it fared before it spins.
fn start(spinning: Spinning, counted: Counted, told: Sender<Settled>) -> io::Result<JoinHandle<SpinCount>> {
    let named = Builder::new().name(format!("howlate-gaps-{}", spinning.cpu)).stack_size(STACK);
    named.spawn(move || {
        let settled = spinning.settle();
        let is_settled = settled.is_ok();
        drop(told.send((spinning.cpu, settled)));
        drop(told);
        match (is_settled, counted) {
            (false, _) => {
                spinning.gate.wait();
                SpinCount { cpu: spinning.cpu, ..SpinCount::default() }
            }
            (true, Counted::Ticks) => spinning.count::<Ticks>(),
            (true, Counted::Clock) => spinning.count::<Clock>(),
        }
    })
}

/// The ids of all threads; the first refusal otherwise.
fn settled(from_threads: &Receiver<Settled>, threads: usize) -> Result<Vec<(u32, u32)>, NotStarted> {
    let mut tids = Vec::new();
    for (cpu, settled) in from_threads.iter().take(threads) {
        tids.push((cpu, settled.map_err(|source| NotStarted { cpu, source })?));
    }
    tids.sort_unstable();
    Ok(tids)
}

/// How often, and for how long each time, is looked how long a turn takes.
const LOOKS: u32 = 20;
const LOOKED: Span = Span::from_micros(100);

/// How long a turn takes here at best: no gap is shorter than a few of them. The mean of the best look, as of two readings on
/// different CPUs the later may be the smaller.
pub fn shortest_turn(counted: Counted) -> Span {
    let tick = TickLength::measure(counted);
    let (ending, lasts) = (AtomicBool::new(false), tick.ticks(LOOKED));
    let turn = || {
        let turns = match counted {
            Counted::Ticks => spin::<Ticks>(u64::MAX, lasts, &ending, || (), |_| {}),
            Counted::Clock => spin::<Clock>(u64::MAX, lasts, &ending, || (), |_| {}),
        };
        tick.span(turns.lasted).as_nanos() / turns.turns.max(1)
    };
    let shortest = (0..LOOKS).map(|_| turn()).min();
    Span::from_nanos(shortest.unwrap_or_default().max(1))
}

#[cfg(test)]
mod tests {
    use howlate_linux::{clock, sched};

    use super::*;

    fn plan(lasts: Option<Span>) -> SpinPlan {
        let cpu = sched::affinity().unwrap().iter().next().unwrap();
        let counted = counted();
        SpinPlan {
            cpus: CpuSet::from_iter([cpu]),
            policy: Policy::OTHER,
            above: Span::from_micros(1),
            lasts,
            counted,
            copies: None,
        }
    }

    #[test]
    fn all_gaps_are_handed_on_or_counted_as_lost() {
        let began = clock::now();
        let spinners = Spinners::begin(&plan(Some(Span::from_millis(60)))).unwrap();
        let mut gaps = Vec::new();
        while !spinners.are_over() {
            spinners.drain(&mut |gap| gaps.push(gap));
            drop(clock::sleep_for(Span::from_millis(5)));
        }
        let [count] = spinners.end(&mut |gap| gaps.push(gap))[..] else { panic!("one thread spins") };
        assert_eq!(gaps.len() as u64 + count.lost, count.gaps);
        assert!(count.turns > count.gaps && count.lasted >= Span::from_millis(60));
        assert!(gaps.windows(2).all(|pair| pair[0].from <= pair[1].from));
        assert!(gaps.iter().all(|gap| gap.from >= began && gap.length <= count.longest));
    }

    #[test]
    fn a_thread_without_an_end_ends_when_asked() {
        let spinners = Spinners::begin(&plan(None)).unwrap();
        let [(_, tid)] = spinners.tids()[..] else { panic!("one thread spins") };
        assert!(tid != howlate_linux::thread::id());
        assert_eq!(spinners.end(&mut |_| {}).len(), 1);
    }

    #[test]
    fn a_turn_that_copies_takes_longer() {
        let copies = Some(1 << 20);
        let spinners = Spinners::begin(&SpinPlan { copies, ..plan(Some(Span::from_millis(20))) }).unwrap();
        let megahertz = spinners.megahertz();
        while !spinners.are_over() {
            drop(clock::sleep_for(Span::from_millis(5)));
        }
        let [count] = spinners.end(&mut |_| {})[..] else { panic!("one thread spins") };
        assert!(count.shortest > shortest_turn(counted()) && megahertz > 0);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_named() {
        let plan = SpinPlan { cpus: CpuSet::from_iter([4_000]), ..plan(None) };
        let refused = Spinners::begin(&plan).err().unwrap();
        assert!(refused.to_string().starts_with("CPU 4000: cannot bind"), "{refused}");
    }
}
