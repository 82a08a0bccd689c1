//! Feeding a target.

use std::fmt;
use std::panic;
use std::process::abort;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use howlate_linux::clock;
use howlate_model::Span;

use crate::{Target, corpus, mutate};

/// Inputs that share one state of the random numbers: a run can be taken up at any of these.
const BATCH: u64 = 4_096;

/// An input that takes longer than this hangs. Machines that run tests are shared, so it is long.
const HANG: Duration = Duration::from_secs(30);

/// How long to feed a target.
#[derive(Clone, Copy, Debug)]
pub enum Extent {
    /// This many inputs.
    Inputs(u64),
    /// For so long.
    For(Span),
}

/// What a target was fed.
#[derive(Clone, Copy, Debug)]
pub struct Tally {
    /// The target's name.
    pub target: &'static str,
    /// How many inputs, none of which failed.
    pub inputs: u64,
    /// How long it took.
    pub took: Span,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.took.as_secs_f64();
        write!(f, "{}: {} inputs in {seconds:.0} s, none failed", self.target, self.inputs)
    }
}

/// What is being read, for when it fails.
static CURRENT: Mutex<(&str, Vec<u8>)> = Mutex::new(("", Vec::new()));
static FED: AtomicU64 = AtomicU64::new(0);

/// Feeds a target, beginning with batch number `first`. A panic, or an input that takes too long, is written into
/// the corpus and ends the program.
pub fn run(target: &Target, extent: Extent, first: u64) -> Tally {
    keep_what_fails();
    let (over, watched) = channel::<()>();
    let watcher = std::thread::spawn(move || watch(&watched));
    let began = clock::now();
    let mut seeds = (target.seeds)();
    let kept = corpus::kept(target.name);
    seeds.extend(kept.iter().cloned());
    assert!(!seeds.is_empty(), "{} has no seeds", target.name);
    let mut inputs = 0;
    seeds.iter().for_each(|seed| feed(target, seed, &mut inputs));
    for batch in first.. {
        let mut random = Rng::with_seed(batch);
        for _ in 0..BATCH {
            let done = match extent {
                Extent::Inputs(most) => inputs >= most,
                Extent::For(time) => inputs % 16 == 0 && clock::now().since(began) >= time,
            };
            if done {
                drop(over);
                drop(watcher.join());
                return Tally { target: target.name, inputs, took: clock::now().since(began) };
            }
            feed(target, &mutate::mutated(&seeds, &mut random), &mut inputs);
        }
    }
    unreachable!("there are more batches than time")
}

fn feed(target: &Target, input: &[u8], inputs: &mut u64) {
    {
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        current.0 = target.name;
        current.1.clear();
        current.1.extend_from_slice(input);
    }
    (target.body)(input);
    *inputs += 1;
    FED.fetch_add(1, Ordering::Relaxed);
}

/// Ends the program when no input was finished for long.
fn watch(over: &std::sync::mpsc::Receiver<()>) {
    let mut before = FED.load(Ordering::Relaxed);
    while over.recv_timeout(HANG) == Err(RecvTimeoutError::Timeout) {
        let now = FED.load(Ordering::Relaxed);
        if now == before {
            keep("took too long");
            abort();
        }
        before = now;
    }
}

fn keep_what_fails() {
    static ONCE: Once = Once::new();
    static FAILED: AtomicBool = AtomicBool::new(false);
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            usual(info);
            if !FAILED.swap(true, Ordering::Relaxed) {
                keep("panicked");
            }
        }));
    });
}

fn keep(what: &str) {
    let current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    let (target, input) = &*current;
    match corpus::keep(target, input) {
        Ok(path) => eprintln!("{target} {what}; the input is in {}", path.display()),
        Err(error) => eprintln!("{target} {what}; its input could not be kept: {error}"),
    }
}
