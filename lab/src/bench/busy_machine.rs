//! CPU time of a program beside many threads and context switches.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use howlate_linux::clock;
use howlate_linux::usage::of_ended_children;
use howlate_model::Span;

use super::why::ping_pong::round_trips;

/// Threads that wake ten times a second, beside two that wake each other all the time.
const THREADS: usize = 500;

/// CPU time of the child processes of `run`, in percent of one CPU, and its result.
pub(super) fn taken_beside_many<T>(run: impl FnOnce() -> io::Result<T>) -> io::Result<(f64, T)> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let sleeps = || {
            while !over.load(Ordering::Relaxed) {
                drop(clock::sleep_for(Span::from_millis(100)));
            }
        };
        for _ in 0..THREADS {
            thread::Builder::new().stack_size(64 << 10).spawn_scoped(scope, sleeps)?;
        }
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                drop(round_trips());
            }
        });
        let (before, began) = (cpu_ns(), clock::now());
        let returned = run();
        let (after, lasted) = (cpu_ns(), clock::now().since(began));
        over.store(true, Ordering::Relaxed);
        Ok((100.0 * (after - before) as f64 / lasted.as_nanos() as f64, returned?))
    })
}

/// CPU time of ended child processes.
fn cpu_ns() -> u64 {
    let usage = of_ended_children();
    usage.user.plus(usage.system).as_nanos()
}
