//! Threads that contend for the CPUs, of which howlate knows nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use howlate_linux::{clock, sched};
use howlate_model::{Policy, Priority, Span};
use rustix::thread::{ClockId, clock_nanosleep_absolute};

/// Threads that work and sleep in turn until they are dropped.
pub struct Rivals {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Rivals {
    /// Ordinary ones, on any CPU.
    pub fn ordinary(names: &[&str]) -> Self {
        Self::start(names, None)
    }

    /// Of a priority above that of the usual real-time thread.
    pub fn real_time(names: &[&str]) -> Self {
        Self::start(names, Priority::new(70).map(|priority| Policy::Fifo { priority }))
    }

    fn start(names: &[&str], policy: Option<Policy>) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let one = |(number, name): (usize, &&str)| {
            let ended = Arc::clone(&ended);
            let work = Span::from_micros(200 + 130 * (number as u64 % 5));
            let named = Builder::new().name((*name).to_owned());
            named.spawn(move || contend(&ended, policy, work)).ok()
        };
        let threads = names.iter().enumerate().filter_map(one).collect();
        Self { ended, threads }
    }
}

fn contend(ended: &AtomicBool, policy: Option<Policy>, work: Span) {
    if let Some(policy) = policy {
        // Where it may not, it contends as it is.
        drop(sched::set_policy(sched::THIS_THREAD, policy));
    }
    while !ended.load(Ordering::Relaxed) {
        let done = clock::now().plus(work);
        while clock::now() < done {
            std::hint::spin_loop();
        }
        while clock_nanosleep_absolute(ClockId::Monotonic, &clock::timespec_at(done.plus(work))).is_err() {}
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
