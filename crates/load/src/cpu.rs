//! `cpu`: two normal threads per CPU that never sleep, so that there is always one waiting.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use howlate_linux::{clock, sched, signal, usage};
use howlate_model::{LoadReport, MonotonicTime, Policy, Span};

/// Threads for each CPU the process may use.
const PER_CPU: usize = 2;

/// Spinning threads.
pub(crate) struct CpuLoad {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Span>>,
    began: MonotonicTime,
}

impl CpuLoad {
    pub(crate) fn start() -> io::Result<Self> {
        let threads = sched::affinity()?.len() * PER_CPU;
        let mut load = Self { stop: Arc::default(), threads: Vec::new(), began: clock::now() };
        for number in 0..threads {
            let stop = Arc::clone(&load.stop);
            let thread = Builder::new().name(format!("load-cpu-{number}")).spawn(move || spin(&stop))?;
            load.threads.push(thread);
        }
        Ok(load)
    }

    pub(crate) fn stop(mut self) -> LoadReport {
        self.stop.store(true, Ordering::Relaxed);
        let used = self.threads.drain(..).filter_map(|thread| thread.join().ok());
        LoadReport {
            cpu_ns: used.fold(Span::ZERO, Span::plus),
            elapsed_ns: clock::now().since(self.began),
            parts: Vec::new(),
        }
    }
}

impl Drop for CpuLoad {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Computes until told to stop; returns the CPU time it got.
fn spin(stop: &AtomicBool) -> Span {
    signal::block_all_but_wake_up();
    // A load is a normal program, whatever policy howlate itself was started with.
    drop(sched::set_policy(sched::THIS_THREAD, Policy::OTHER));
    let mut state = 1_u64;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..1_000 {
            state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
    let used = usage::of_this_thread();
    used.user_ns.plus(used.system_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_reports_the_cpu_time_it_got() {
        let load = CpuLoad::start().unwrap();
        clock::pause(Span::from_millis(50)).unwrap();
        let report = load.stop();
        assert!(!report.cpu_ns.is_zero());
        assert!(!report.elapsed_ns.is_zero());
    }
}
