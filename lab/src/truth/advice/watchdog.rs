//! A watchdog with the highest real-time priority, which ends a cell that starves normal threads, the bystanders.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use howlate_linux::{clock, sched};
use howlate_model::{CpuSet, Policy, Priority, Span};

use super::super::control_group::ControlGroup;

/// Period of a bystander.
const BEAT: Span = Span::from_millis(10);
/// Period of the watchdog.
const LOOK: Span = Span::from_millis(20);
/// A bystander that has not run for this long is starved: three periods of real-time throttling.
const STARVED: Span = Span::from_millis(3_000);
/// A priority above all in the cell.
const HIGHEST: u32 = 99;

/// A normal thread bound to one CPU. Times in ns of `CLOCK_MONOTONIC`.
#[derive(Debug, Default)]
struct Bystander {
    last_ran: AtomicI64,
    latest: AtomicI64,
}

struct Shared {
    bystanders: Vec<Bystander>,
    over: AtomicBool,
    ended: Mutex<Option<String>>,
}

/// The watchdog and the bystanders, until they are dropped.
pub struct Watchdog {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Watchdog {
    /// Ends everything in `groups` after `bound`, or as soon as a bystander on one of the CPUs has starved.
    pub fn start(groups: Vec<Arc<ControlGroup>>, bound: Span, cpus: &CpuSet) -> io::Result<Self> {
        let now = nanos();
        let bystander = |_| Bystander { last_ran: AtomicI64::new(now), latest: AtomicI64::new(0) };
        let shared = Arc::new(Shared {
            bystanders: cpus.iter().map(bystander).collect(),
            over: AtomicBool::new(false),
            ended: Mutex::new(None),
        });
        let mut threads = Vec::new();
        for (number, cpu) in cpus.iter().enumerate() {
            let shared = Arc::clone(&shared);
            let body = move || beat(&shared, number, cpu);
            threads.push(Builder::new().name("bystander".to_owned()).spawn(body)?);
        }
        let watching = Arc::clone(&shared);
        let body = move || watch(&watching, &groups, bound);
        threads.push(Builder::new().name("watchdog".to_owned()).spawn(body)?);
        Ok(Self { shared, threads })
    }

    /// Largest lateness of a bystander, µs.
    pub fn latest_us(&self) -> f64 {
        let now = nanos();
        let late = |bystander: &Bystander| {
            // One that has not run again is late already.
            let waits = now - bystander.last_ran.load(Ordering::Relaxed) - BEAT.as_nanos() as i64;
            bystander.latest.load(Ordering::Relaxed).max(waits)
        };
        self.shared.bystanders.iter().map(late).max().unwrap_or(0) as f64 / 1_000.0
    }

    /// Forgets the lateness so far.
    pub fn reset(&self) {
        self.shared.bystanders.iter().for_each(|bystander| bystander.latest.store(0, Ordering::Relaxed));
    }

    /// Why the cell had to be ended, if it had.
    pub fn ended(&self) -> Option<String> {
        self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A panic was printed already.
            drop(thread.join());
        }
    }
}

fn nanos() -> i64 {
    clock::now().as_nanos() as i64
}

fn beat(shared: &Shared, number: usize, cpu: u32) {
    drop(sched::bind(&CpuSet::from_iter([cpu])));
    let bystander = &shared.bystanders[number];
    while !shared.over.load(Ordering::Relaxed) {
        let due = nanos() + BEAT.as_nanos() as i64;
        drop(clock::sleep_for(BEAT));
        let ran = nanos();
        bystander.latest.fetch_max(ran - due, Ordering::Relaxed);
        bystander.last_ran.store(ran, Ordering::Relaxed);
    }
}

fn watch(shared: &Shared, groups: &[Arc<ControlGroup>], bound: Span) {
    // Without the privilege the watchdog still works, unless the cell starves this thread.
    if let Some(priority) = Priority::new(HIGHEST) {
        drop(sched::set_policy(sched::THIS_THREAD, Policy::Fifo { priority }));
    }
    let until = clock::now().plus(bound);
    while !shared.over.load(Ordering::Relaxed) {
        if let Some(why) = reason(shared, clock::now() >= until, bound) {
            *shared.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
            groups.iter().for_each(|group| group.kill());
            return;
        }
        drop(clock::sleep_for(LOOK));
    }
}

fn reason(shared: &Shared, is_late: bool, bound: Span) -> Option<String> {
    let starved = nanos() - STARVED.as_nanos() as i64;
    if shared.bystanders.iter().any(|bystander| bystander.last_ran.load(Ordering::Relaxed) < starved) {
        return Some(format!("a bystander did not run for {STARVED}"));
    }
    is_late.then(|| format!("it had not ended after {bound}"))
}
