//! `cargo xtask truth top`: compares `howlate top` beside competing threads with the kernel's own events.
//!
//! `top` is based on the scheduler's accounting. The witness does not use it: a wait is the time from a wake-up or a preemption to the
//! next switch to the thread.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use howlate_linux::clock;
use howlate_model::Span;
use serde_json::Value;

use super::claims::{Scores, TruthClaim, score};
use super::turns::{OnCpu, turns};
use super::witness::{Instance, OF_THREADS};

/// Time for `top` to start before, and to end after, the threads compete.
const MARGIN: Span = Span::from_millis(1_500);
/// Allowed difference between the scheduler's clock and an event's time stamp, µs.
const NEAR: i64 = 3;
/// Allowed difference of the longest wait, µs: the scheduler reads its clock before the event, which is stamped after its other tracers
/// have run.
const STAMPED_APART: i64 = 30;
/// Allowed difference of the number of sleeps: a few are of another kind, or are woken before the switch that begins them.
const ODD_SLEEPS: u64 = 3;

/// Threads that start after `top`, and are idle before it ends, so that it sees all their waits.
struct Contenders {
    quiet: Arc<AtomicBool>,
    over: Vec<Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

/// Competes with a period that depends on `number`, then sleeps until the end.
fn contend(number: u64, quiet: &AtomicBool, tid: &Sender<u32>, over: &Receiver<()>) {
    // It competes even if the receiver is dropped.
    let _ = tid.send(howlate_linux::thread::id());
    let work = Span::from_micros(300 + 170 * number);
    while !quiet.load(Ordering::Relaxed) {
        let done = clock::now().plus(work);
        while clock::now() < done {
            std::hint::spin_loop();
        }
        drop(clock::sleep_for(Span::from_micros(200 + 90 * number)));
    }
    // Returns when the sender is dropped.
    let _ = over.recv();
}

impl Contenders {
    fn start(count: u64) -> io::Result<(Self, Vec<u32>)> {
        let quiet = Arc::new(AtomicBool::new(false));
        let (tell, receiver) = channel::<u32>();
        let (mut over, mut threads) = (Vec::new(), Vec::new());
        for number in 0..count {
            let (end, ended) = channel();
            let (quiet, tell) = (Arc::clone(&quiet), tell.clone());
            let named = Builder::new().name(format!("contends-{number}"));
            threads.push(named.spawn(move || contend(number, &quiet, &tell, &ended))?);
            over.push(end);
        }
        // `take`, as the channel stays open while the threads live.
        let tids = receiver.iter().take(threads.len()).collect();
        Ok((Self { quiet, over, threads }, tids))
    }

    fn keep_still(&self) {
        self.quiet.store(true, Ordering::Relaxed);
    }
}

impl Drop for Contenders {
    fn drop(&mut self) {
        self.keep_still();
        self.over.clear();
        for thread in self.threads.drain(..) {
            // A panic was printed already.
            drop(thread.join());
        }
    }
}

pub fn attack(program: &Path, seconds: u64, scores: &mut Scores) -> io::Result<()> {
    let length = Span::from_secs(seconds).plus(MARGIN).plus(MARGIN);
    let mut top = Command::new(program);
    top.args(["top", "--once", "--json", "--details", "--by", "thread", "--tracer", "bpf"]);
    top.args(["--duration", &format!("{}us", length.as_nanos() / 1_000)]);
    let instance = Instance::create("witness-top", OF_THREADS)?;
    let top = top.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    clock::sleep_for(MARGIN)?;
    let (contenders, tids) = Contenders::start(6)?;
    clock::sleep_for(Span::from_secs(seconds))?;
    let quiet = clock::now().as_nanos() / 1_000;
    contenders.keep_still();
    let output = top.wait_with_output()?;
    drop(contenders);
    let turns = turns(&instance.text()?);
    let document: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))?;
    for tid in tids {
        let rows = document["threads"].as_array().into_iter().flatten();
        let row = rows.into_iter().find(|row| row["tid"].as_u64() == Some(u64::from(tid)));
        let all = turns.get(&tid).map_or(&[][..], Vec::as_slice);
        judge(row, all, quiet, scores);
    }
    Ok(())
}

/// `quiet`: when the threads stopped competing, µs; the one long sleep after that does not count.
fn judge(row: Option<&Value>, turns: &[OnCpu], quiet: i64, scores: &mut Scores) {
    let wait = |kind: &str| {
        let waits = row.and_then(|row| row["waits"].as_array()).into_iter().flatten();
        waits.into_iter().find(|wait| wait["kind"] == kind).cloned().unwrap_or_default()
    };
    let micros = |wait: &Value, name: &str| wait[name].as_i64().unwrap_or(0) / 1_000;
    // The wait before the first turn has no event; `top` does not count it either.
    let waited: Vec<i64> = turns.iter().filter_map(OnCpu::waited).collect();
    let (cpu, sum) = (wait("cpu"), waited.iter().sum::<i64>());
    let near = sum / 100 + NEAR * waited.len() as i64;
    let what = || format!("{cpu}, the witness: {sum} µs in {} turns", waited.len());
    score(scores, TruthClaim::TopWaits, (micros(&cpu, "total_ns") - sum).abs() <= near, what);
    let longest = waited.iter().max().copied().unwrap_or(0);
    let at_most = turns.iter().filter_map(OnCpu::waited_at_most).max().unwrap_or(0);
    let what = || format!("{cpu}, the witness: {longest} to {at_most} µs");
    let is_so = (longest - STAMPED_APART..=at_most + STAMPED_APART).contains(&micros(&cpu, "max_ns"));
    score(scores, TruthClaim::TopLongest, is_so, what);
    let began_before = |stretch: &&OnCpu| stretch.left.is_some_and(|(left, _)| left < quiet);
    let slept: Vec<i64> = turns.iter().filter(began_before).filter_map(OnCpu::slept).collect();
    let (timer, sum) = (wait("timer"), slept.iter().sum::<i64>());
    let count = slept.len() as u64;
    let is_so = timer["count"].as_u64().is_some_and(|reported| reported.abs_diff(count) <= ODD_SLEEPS)
        && (micros(&timer, "total_ns") - sum).abs() <= sum / 100 + NEAR * slept.len() as i64;
    let what = || format!("{timer}, the witness: {sum} µs in {} sleeps", slept.len());
    score(scores, TruthClaim::TopSleeps, is_so, what);
}
