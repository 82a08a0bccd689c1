//! Threads that contend for the CPUs, of which howlate knows nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use howlate_linux::{clock, sched};
use howlate_model::{CpuSet, Policy, Priority, Span};
use rustix::thread::{ClockId, clock_nanosleep_absolute};

/// Threads that work and sleep in turn until they are dropped.
pub struct Rivals {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// How they contend.
#[derive(Clone, Copy, Default)]
pub struct Manner {
    /// Their real-time priority, `fifo`; ordinary where there is none.
    pub priority: Option<u32>,
    /// The only CPU that they may have.
    pub cpu: Option<u32>,
    /// Whether they never sleep.
    pub awake: bool,
}

impl Rivals {
    /// Ordinary ones, on any CPU.
    pub fn ordinary(names: &[&str]) -> Self {
        Self::start(names, Manner::default())
    }

    /// Of a priority above that of the usual real-time thread.
    pub fn real_time(names: &[&str]) -> Self {
        Self::start(names, Manner { priority: Some(70), ..Manner::default() })
    }

    pub fn start(names: &[&str], manner: Manner) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let one = |(number, name): (usize, &&str)| {
            let ended = Arc::clone(&ended);
            let work = Span::from_micros(200 + 130 * (number as u64 % 5));
            let named = Builder::new().name((*name).to_owned());
            named.spawn(move || contend(&ended, manner, work)).ok()
        };
        let threads = names.iter().enumerate().filter_map(one).collect();
        Self { ended, threads }
    }
}

fn contend(ended: &AtomicBool, manner: Manner, work: Span) {
    // Where it may not, it contends as it is.
    if let Some(priority) = manner.priority.and_then(Priority::new) {
        drop(sched::set_policy(sched::THIS_THREAD, Policy::Fifo { priority }));
    }
    if let Some(cpu) = manner.cpu {
        drop(sched::bind(&CpuSet::from_iter([cpu])));
    }
    while !ended.load(Ordering::Relaxed) {
        let done = clock::now().plus(work);
        while clock::now() < done {
            std::hint::spin_loop();
        }
        let again = done.plus(work);
        while !manner.awake
            && clock_nanosleep_absolute(ClockId::Monotonic, &clock::timespec_at(again)).is_err()
        {}
    }
}

impl Drop for Rivals {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // One that panicked has said so.
            drop(thread.join());
        }
    }
}
