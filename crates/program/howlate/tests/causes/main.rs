//! Who makes wake-ups late: traced, watched, tried and checked on real scheduling.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../common/mod.rs"]
mod common;

mod asked;
mod hostile;
mod marked_loops;
mod periodicity;
mod record;
mod selfcheck;
mod spans;
mod timelines;
mod top;
mod tune;
mod tune_program;
mod watch;
mod why;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What takes the CPUs from others, floods their tracers, or must lose nothing itself, does so one after the other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
