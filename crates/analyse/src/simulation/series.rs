//! Machines whose wake-ups are late in known ways.

use std::fmt;

/// How a machine's lateness behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Series {
    /// Every wake-up for itself.
    Independent,
    /// Like its neighbours, and like what was half a second ago: what idle machines look like.
    Autoregressive,
    /// The level wanders over seconds, as beside other work.
    Drifting,
    /// Spells of disturbance, and rare bursts far later than all else.
    Mixture,
    /// Now fast, now slow, for seconds each, as where a hypervisor or a governor decides.
    TwoStates,
}

impl Series {
    /// All but the one with two states, of which a run as short as most here sees too little to say anything.
    pub const ALL: [Self; 4] = [Self::Independent, Self::Autoregressive, Self::Drifting, Self::Mixture];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Independent => "independent",
            Self::Autoregressive => "autoregressive",
            Self::Drifting => "drifting",
            Self::Mixture => "mixture",
            Self::TwoStates => "two states",
        }
    }

    /// After how many wake-ups the level has lost most of its memory; how far it goes, as a logarithm.
    const fn level(self) -> (f64, f64) {
        match self {
            Self::Independent => (1.0, 0.0),
            Self::Autoregressive => (500.0, 0.1),
            Self::Drifting => (5_000.0, 0.2),
            Self::Mixture => (500.0, 0.05),
            Self::TwoStates => (500.0, 0.02),
        }
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Latency of a quiet wake-up, in nanoseconds.
const QUIET: f64 = 20_000.0;
/// Memory from wake-up to wake-up, and how far single ones go.
const FAST: f64 = 0.9;
const SINGLE: f64 = 0.2;
/// Spells: how probable one begins, ends, and by how much it is later.
const SPELL_BEGINS: f64 = 1.0 / 1_000.0;
const SPELL_ENDS: f64 = 1.0 / 30.0;
const SPELL: f64 = 4.0;
/// The other of two states: how probable it is that they change, and how much slower it is.
const CHANGES: f64 = 1.0 / 2_000.0;
const SLOWER: f64 = 1.6;
/// Bursts: how probable one begins and ends. Its sizes have a Pareto tail.
const BURST_BEGINS: f64 = 1.0 / 2_000.0;
const BURST_ENDS: f64 = 1.0 / 3.0;

/// A machine, wake-up by wake-up.
pub(crate) struct Simulated {
    series: Series,
    pub(crate) random: fastrand::Rng,
    level: f64,
    fast: f64,
    in_spell: bool,
    in_burst: bool,
    is_slow: bool,
}

impl Simulated {
    /// A machine that has run for a long time already.
    pub(crate) fn new(series: Series, seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        let mut machine =
            Self { series, random, level: 0.0, fast: 0.0, in_spell: false, in_burst: false, is_slow: false };
        machine.is_slow = series == Series::TwoStates && machine.random.bool();
        machine.level = machine.normal();
        machine.fast = machine.normal();
        (0..200).for_each(|_| {
            machine.latency();
        });
        machine
    }

    /// Bell-shaped, with variance 1.
    fn normal(&mut self) -> f64 {
        2.0 * ((0..3).map(|_| self.random.f64()).sum::<f64>() - 1.5)
    }

    /// The next wake-up's latency in nanoseconds.
    pub(crate) fn latency(&mut self) -> f64 {
        let (memory, far) = self.series.level();
        if self.series == Series::Independent {
            return QUIET * (SINGLE * self.normal()).exp();
        }
        let stays = 1.0 - 1.0 / memory;
        self.level = stays * self.level + (1.0 - stays * stays).sqrt() * self.normal();
        self.fast = FAST * self.fast + (1.0 - FAST * FAST).sqrt() * self.normal();
        let latency = QUIET * (far * self.level + SINGLE * self.fast).exp();
        match self.series {
            Series::Mixture => latency * self.disturbed(),
            Series::TwoStates => latency * self.slowed(),
            _ => latency,
        }
    }

    /// By how many times the state that it is in makes it later.
    fn slowed(&mut self) -> f64 {
        self.is_slow ^= self.random.f64() < CHANGES;
        if self.is_slow { SLOWER } else { 1.0 }
    }

    /// By how many times a disturbance makes it later.
    fn disturbed(&mut self) -> f64 {
        self.in_spell = self.random.f64() < if self.in_spell { 1.0 - SPELL_ENDS } else { SPELL_BEGINS };
        self.in_burst = self.random.f64() < if self.in_burst { 1.0 - BURST_ENDS } else { BURST_BEGINS };
        let burst = if self.in_burst { 10.0 / self.random.f64().max(1e-9).sqrt() } else { 1.0 };
        if self.in_spell { SPELL * burst } else { burst }
    }
}
