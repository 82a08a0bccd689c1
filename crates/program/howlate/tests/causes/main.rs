//! Causes of late wake-ups: `why`, `watch`, `top`, `tune`, `record` and `selfcheck` on real scheduling.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../common/mod.rs"]
mod common;

mod asked;
mod hostile;
mod idle_cpu;
mod marked_loops;
mod periodicity;
mod record;
mod recorded_all;
mod requests;
mod selfcheck;
mod slowest_iterations;
mod spans;
mod timelines;
mod top;
mod tune;
mod tune_program;
mod watch;
mod why;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lock for tests that take CPUs from others, flood tracers, or must lose no event.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
