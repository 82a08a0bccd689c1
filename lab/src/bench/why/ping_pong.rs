//! Slowdown of two threads that wake each other through pipes on one CPU, while other threads are traced.

use std::io::{self, PipeReader, PipeWriter, Read, Write, pipe};
use std::process::Command;
use std::thread;

use howlate_analyse::quantile_ranks;
use howlate_linux::{clock, sched};
use howlate_model::{CpuSet, Span};
use howlate_trace::{Choice, Tier, open};

use super::limit::{BenchFigure, BenchLimits};
use crate::bench::paired::median;

pub(in crate::bench) const PAIRS: usize = 60;
const TURN: Span = Span::from_millis(200);
/// Time for the kernel to settle after its code was patched.
const SETTLING: Span = Span::from_millis(10);
const MOST: f64 = 8.0;

/// The limit is for threads that are not traced; the slowdown of traced ones is printed without a limit.
pub(super) fn run(limits: &mut BenchLimits) -> io::Result<()> {
    let mut watched = Command::new("sleep").arg("infinity").spawn()?;
    let losses = lost(watched.id());
    watched.kill()?;
    watched.wait()?;
    let (value, interval) = middle(losses?);
    let name = "bpf: lost of a pipe ping-pong on one CPU";
    limits.judge(&BenchFigure { name, value, interval, most: MOST, unit: "%" });
    let (value, interval) = middle(lost(std::process::id())?);
    let (low, high) = interval.unwrap_or((f64::NAN, f64::NAN));
    println!("the same, if both ends are watched: {value:.2} [{low:.2}, {high:.2}] %");
    Ok(())
}

/// The median and its interval.
pub(in crate::bench) fn middle(mut losses: Vec<f64>) -> (f64, Option<(f64, f64)>) {
    losses.sort_by(f64::total_cmp);
    let ranks = quantile_ranks(losses.len() as u64, 0.5);
    let interval = ranks.map(|(low, high)| (losses[low as usize - 1], losses[high as usize - 1]));
    (median(&losses), interval)
}

/// Loss of round trips by the loaded BPF programs, percent, per pair, in random order.
fn lost(watched: u32) -> io::Result<Vec<f64>> {
    let mut opened = open(Choice::Only(Tier::Bpf), &[watched]);
    let Some(tracer) = &mut opened.tracer else {
        return Err(io::Error::other(format!("bpf: {}", opened.refused[0].1)));
    };
    let refused = |refusal: howlate_model::TracerRefusal| io::Error::other(refusal.to_string());
    losses(PAIRS, || {
        tracer.start().map_err(refused)?;
        let traced = round_trips();
        tracer.stop();
        // The results are not needed.
        tracer.read(&mut drop);
        traced
    })
}

/// Loss of round trips when `watched` makes them, percent, in pairs of random order.
pub(in crate::bench) fn losses(
    pairs: usize,
    mut watched: impl FnMut() -> io::Result<f64>,
) -> io::Result<Vec<f64>> {
    let mut losses = Vec::new();
    for _ in 0..pairs {
        let before = if fastrand::bool() { Some(round_trips()?) } else { None };
        let watched = watched()?;
        let alone = before.map_or_else(round_trips, Ok)?;
        losses.push(100.0 * (1.0 - watched / alone));
    }
    Ok(losses)
}

/// Round trips per second.
pub(in crate::bench) fn round_trips() -> io::Result<f64> {
    clock::sleep_for(SETTLING)?;
    let ((their_end, mut to_them), (mut from_them, my_end)) = (pipe()?, pipe()?);
    let echo = thread::spawn(move || bound().and_then(|()| echo(their_end, my_end)));
    let mine = thread::spawn(move || {
        bound()?;
        let (begin, mut byte, mut count) = (clock::now(), [0], 0_u32);
        while clock::now().since(begin) < TURN {
            to_them.write_all(&byte)?;
            from_them.read_exact(&mut byte)?;
            count += 1;
        }
        Ok(f64::from(count) / clock::now().since(begin).as_secs_f64())
    });
    let failed = |_| io::Error::other("a thread of the ping-pong failed");
    let counted = mine.join().map_err(failed)?;
    echo.join().map_err(failed)??;
    counted
}

/// Both threads on the last CPU, which has the least work of the kernel.
fn bound() -> io::Result<()> {
    let last = sched::bindable_cpus()?.iter().max().unwrap_or(0);
    sched::bind(&CpuSet::from_iter([last]))
}

/// Sends back each message until the pipe is closed.
fn echo(mut from: PipeReader, mut to: PipeWriter) -> io::Result<()> {
    let mut byte = [0];
    while from.read(&mut byte)? == 1 {
        to.write_all(&byte)?;
    }
    Ok(())
}
