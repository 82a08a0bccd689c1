//! What is said to come back, where it is known what does.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "simulated times are those of a run"
)]

use std::fmt;
use std::ops::Range;

use howlate_model::{Block, Latency, Line, MonotonicTime, Span, Wakeup};

use super::recorded::track;
use super::tally::{Observation, Tally, tallied};

/// A loop of a millisecond, as the recorded ones are.
const PERIOD: i64 = 1_000_000;
const SECOND: i64 = 1_000_000_000;
/// How late it usually is, ns.
const USUALLY: f64 = 20_000.0;
/// By how much what comes back makes it later, and what does not, ns.
const LATER: (f64, f64) = (100_000.0, 900_000.0);
/// Late wake-ups of a burst, and how long it lasts, ns.
const OF_A_BURST: u64 = 30;
const BURST: f64 = 2e9;
/// What is told must be the period to this share of it.
const NEAR: f64 = 0.01;

/// What makes wake-ups late.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    /// What comes back does so after this time; `None`: nothing does.
    pub period: Option<Span>,
    /// How many others are late in a second,
    pub others: f64,
    /// and whether these come in bursts.
    pub in_bursts: bool,
    /// How long the run lasts, in seconds.
    pub seconds: i64,
}

impl Planted {
    /// Of 47 ms to 47 s, with as many others as there are in a quiet machine and on a busy one; and nothing at all.
    pub fn all() -> Vec<Self> {
        let one = |millis: Option<u64>, others, in_bursts, seconds| Self {
            period: millis.map(Span::from_millis),
            others,
            in_bursts,
            seconds,
        };
        let with = |millis: u64, seconds| {
            [(0.3, false), (3.0, false), (3.0, true)]
                .map(|(others, in_bursts)| one(Some(millis), others, in_bursts, seconds))
        };
        let nothing = [(0.5, false), (3.0, false), (1.0, true), (3.0, true)]
            .map(|(others, in_bursts)| one(None, others, in_bursts, 60));
        let rhythms =
            [(47, 60), (143, 60), (250, 60), (1_000, 60), (2_500, 60), (13_700, 900), (47_030, 900)];
        rhythms.into_iter().flat_map(|(millis, seconds)| with(millis, seconds)).chain(nothing).collect()
    }
}

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.in_bursts { ", in bursts" } else { "" };
        let (others, seconds) = (self.others, self.seconds);
        match self.period {
            Some(period) => {
                write!(f, "every {} ms, {others}/s others{how}, {seconds} s", period.as_nanos() / 1_000_000)
            }
            None => write!(f, "no rhythm, {others}/s{how}, {seconds} s"),
        }
    }
}

/// What is said of such runs: each statement that is made is a trial of its own, and saying nothing is told beside it.
pub fn rhythms(planted: Planted, seeds: Range<u64>) -> Vec<Tally> {
    tallied(seeds, |seed| {
        let mut track = track(1);
        run(planted, seed).into_iter().for_each(|line| track.add(&line));
        let found = track.analysis.recurrences();
        said(planted, found.first().map(|one| one.rhythm.period))
    })
}

fn said(planted: Planted, found: Option<Span>) -> Vec<Observation> {
    let Some(period) = planted.period else {
        return vec![(format!("{planted}: says nothing"), Some(0.999), found.is_none())];
    };
    let mut said = vec![(format!("{planted}: says something"), None, found.is_some())];
    if let Some(found) = found {
        let is_so = (found.as_nanos() as f64 / period.as_nanos() as f64 - 1.0).abs() < NEAR;
        said.push((format!("{planted}: the period"), Some(0.95), is_so));
    }
    said
}

/// A block for each second.
fn run(planted: Planted, seed: u64) -> Vec<Line> {
    let mut random = fastrand::Rng::with_seed(seed);
    let wakeups = (planted.seconds * SECOND / PERIOD) as usize;
    let mut late: Vec<f64> = (0..wakeups).map(|_| USUALLY * (0.8 + 0.4 * random.f64())).collect();
    for at in due(planted, &mut random) {
        if let Some(late) = late.get_mut((at / PERIOD as f64) as usize) {
            *late += LATER.0 + random.f64() * (LATER.1 - LATER.0);
        }
    }
    let per_second = (SECOND / PERIOD) as usize;
    (0..planted.seconds).zip(late.chunks(per_second)).map(|(second, late)| block(second, late)).collect()
}

fn block(second: i64, late: &[f64]) -> Line {
    let at = MonotonicTime::from_nanos;
    let mut block = Block { from: at(second * SECOND), until: at((second + 1) * SECOND), ..Block::default() };
    for (number, late) in (0..).zip(late) {
        let expected = at(second * SECOND + number * PERIOD);
        let ran = at(expected.as_nanos() + Latency::from_nanos(*late as i64).as_nanos());
        block.record(Wakeup { expected, ran }, None);
    }
    Line::Block(Box::new(block))
}

/// When something makes a wake-up late, in nanoseconds.
fn due(planted: Planted, random: &mut fastrand::Rng) -> Vec<f64> {
    let whole = (planted.seconds * SECOND) as f64;
    let mut all = Vec::new();
    if let Some(period) = planted.period.map(|period| period.as_nanos() as f64) {
        let mut at = random.f64() * period;
        while at < whole {
            all.push(at);
            at += period;
        }
    }
    let others = (planted.others * planted.seconds as f64) as u64;
    match planted.in_bursts {
        false => all.extend((0..others).map(|_| random.f64() * whole)),
        true => {
            for _ in 0..others.div_ceil(OF_A_BURST) {
                let began = random.f64() * whole;
                all.extend((0..OF_A_BURST).map(|_| began + random.f64() * BURST));
            }
        }
    }
    all
}
