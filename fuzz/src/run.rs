//! Runs a target on seeds and mutations.

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

/// Inputs per random seed: a run can start again at any batch.
const BATCH: u64 = 4_096;

/// An input that takes longer counts as a hang. Generous, because test machines are shared.
const HANG: Duration = Duration::from_secs(30);

/// How long to run a target.
#[derive(Clone, Copy, Debug)]
pub enum FuzzLimit {
    Inputs(u64),
    For(Span),
}

/// Summary of a target's run, in which no input failed.
#[derive(Clone, Copy, Debug)]
pub struct FuzzSummary {
    pub target: &'static str,
    pub inputs: u64,
    pub duration: Span,
}

impl fmt::Display for FuzzSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.duration.as_secs_f64();
        write!(f, "{}: {} inputs in {seconds:.0} s, none failed", self.target, self.inputs)
    }
}

/// Target and input that run now, to be saved if they fail.
static CURRENT: Mutex<(&str, Vec<u8>)> = Mutex::new(("", Vec::new()));
/// Inputs that were finished.
static FINISHED: AtomicU64 = AtomicU64::new(0);

/// Runs a target, beginning with batch number `first`. An input that panics or hangs is written into the corpus and ends
/// the program.
pub fn run(target: &Target, limit: FuzzLimit, first: u64) -> FuzzSummary {
    save_on_panic();
    let (over, end) = channel::<()>();
    let watcher = std::thread::spawn(move || watch(&end));
    let began = clock::now();
    let mut seeds = (target.seeds)();
    seeds.extend(corpus::saved_inputs(target.name));
    assert!(!seeds.is_empty(), "{} has no seeds", target.name);
    let mut inputs = 0;
    seeds.iter().for_each(|seed| run_input(target, seed, &mut inputs));
    for batch in first.. {
        let mut random = Rng::with_seed(batch);
        for _ in 0..BATCH {
            let done = match limit {
                FuzzLimit::Inputs(count) => inputs >= count,
                FuzzLimit::For(time) => inputs % 16 == 0 && clock::now().since(began) >= time,
            };
            if done {
                drop(over);
                drop(watcher.join());
                return FuzzSummary { target: target.name, inputs, duration: clock::now().since(began) };
            }
            run_input(target, &mutate::mutate(&seeds, &mut random), &mut inputs);
        }
    }
    unreachable!("there are more batches than time")
}

fn run_input(target: &Target, input: &[u8], inputs: &mut u64) {
    {
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        current.0 = target.name;
        current.1.clear();
        current.1.extend_from_slice(input);
    }
    (target.body)(input);
    *inputs += 1;
    FINISHED.fetch_add(1, Ordering::Relaxed);
}

/// Saves the current input and aborts when none was finished for `HANG`.
fn watch(end: &std::sync::mpsc::Receiver<()>) {
    let mut before = FINISHED.load(Ordering::Relaxed);
    while end.recv_timeout(HANG) == Err(RecvTimeoutError::Timeout) {
        let now = FINISHED.load(Ordering::Relaxed);
        if now == before {
            save_current("took too long");
            abort();
        }
        before = now;
    }
}

/// Installs a panic hook that saves the current input, once.
fn save_on_panic() {
    static ONCE: Once = Once::new();
    static FAILED: AtomicBool = AtomicBool::new(false);
    ONCE.call_once(|| {
        let default_hook = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            default_hook(info);
            if !FAILED.swap(true, Ordering::Relaxed) {
                save_current("panicked");
            }
        }));
    });
}

/// Saves the current input; `failure` says how it failed.
fn save_current(failure: &str) {
    let current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    let (target, input) = &*current;
    match corpus::save(target, input) {
        Ok(path) => eprintln!("{target} {failure}; the input is in {}", path.display()),
        Err(error) => eprintln!("{target} {failure}; its input could not be kept: {error}"),
    }
}
