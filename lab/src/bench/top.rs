//! `cargo xtask bench top`: what adding up the waits of all threads costs others, and itself.

use std::io;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use howlate_linux::clock;
use howlate_linux::usage::of_ended_children;
use howlate_model::Span;
use howlate_trace::{WaitChoice, WaitSource, read_waits};

use super::program::built;
use super::why::limit::{Figure, Limits};
use super::why::ping_pong::{losses, middle, round_trips};

/// Of two threads that wake each other through pipes on one CPU.
const MOST_LOST: f64 = 10.0;
/// Of one CPU, by itself, while there are many threads and many switches.
const MOST_TAKEN: f64 = 3.0;
const THREADS: usize = 500;
const WHILE: Span = Span::from_secs(10);

/// Prints each figure; fails when one is above its limit.
pub fn run() -> io::Result<()> {
    let howlate = built()?;
    let mut limits = Limits::default();
    let losses = losses(|| {
        let (mut reader, _) = read_waits(WaitChoice::Only(WaitSource::Bpf))
            .map_err(|refusal| io::Error::other(refusal.to_string()))?;
        let watched = round_trips();
        reader.read().map_err(|refusal| io::Error::other(refusal.to_string()))?;
        watched
    })?;
    let (value, interval) = middle(losses);
    let name = "top: lost of a pipe ping-pong on one CPU";
    limits.judge(&Figure { name, value, interval, most: MOST_LOST, unit: "%" });
    let value = taken(&howlate)?;
    let name = "top: taken of a CPU, 500 threads and a ping-pong";
    limits.judge(&Figure { name, value, interval: None, most: MOST_TAKEN, unit: "%" });
    limits.verdict()
}

/// The CPU time of a live table of this machine, in per cent of a CPU.
fn taken(howlate: &std::path::Path) -> io::Result<f64> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let sleeps = || {
            while !over.load(Ordering::Relaxed) {
                drop(clock::pause(Span::from_millis(100)));
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
        let duration = WHILE.to_string();
        let ended =
            Command::new(howlate).args(["top", "--duration", &duration]).stdout(Stdio::null()).status();
        let (after, lasted) = (cpu_ns(), clock::now().since(began));
        over.store(true, Ordering::Relaxed);
        match ended?.success() {
            true => Ok(100.0 * (after - before) as f64 / lasted.as_nanos() as f64),
            false => Err(io::Error::other("howlate top failed")),
        }
    })
}

/// Of children that have ended.
fn cpu_ns() -> u64 {
    let usage = of_ended_children();
    usage.user.plus(usage.system).as_nanos()
}
