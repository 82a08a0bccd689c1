//! Machines whose wake-ups are late in known ways.

use std::fmt;

use howlate_model::Span;

/// How a machine's lateness behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Series {
    /// Every wake-up for itself.
    Independent,
    /// Like its neighbours, and like what was half a second ago: what idle machines look like.
    Autoregressive,
    /// The level wanders over so many seconds, as beside other work.
    Drifting(u32),
    /// Spells of disturbance, and rare bursts far later than all else.
    Mixture,
    /// Every fiftieth by itself, so far that it has no variance.
    HeavyTail,
    /// Every wake-up for itself, told in steps of 4 µs.
    Steps,
    /// Now fast, now slow, for so many seconds each, as where a hypervisor or a governor decides.
    TwoStates(u32),
    /// Once in 20 s, all wake-ups of so many milliseconds are far later than all else.
    Bursts(u32),
}

impl Series {
    /// What a run as short as most here sees all of.
    pub const ALL: [Self; 4] = [Self::Independent, Self::Autoregressive, Self::Drifting(5), Self::Mixture];

    /// Those, and what changes more slowly than runs last.
    pub const MACHINES: [Self; 12] = [
        Self::Independent,
        Self::Autoregressive,
        Self::HeavyTail,
        Self::Steps,
        Self::Mixture,
        Self::Drifting(1),
        Self::Drifting(5),
        Self::Drifting(60),
        Self::TwoStates(2),
        Self::TwoStates(60),
        Self::Bursts(30),
        Self::Bursts(300),
    ];

    /// After how many wake-ups the level has lost most of its memory; how far it goes, as a logarithm.
    fn level(self) -> (f64, f64) {
        match self {
            Self::Independent | Self::HeavyTail | Self::Steps | Self::Bursts(_) => (1.0, 0.0),
            Self::Autoregressive => (500.0, 0.1),
            Self::Drifting(seconds) => (f64::from(seconds) * PER_SECOND, 0.2),
            Self::Mixture => (500.0, 0.05),
            Self::TwoStates(_) => (500.0, 0.02),
        }
    }

    /// How long what it does lasts, or how long it takes until it is done again: whoever watches it for less sees a part.
    pub fn slowest(self) -> Span {
        match self {
            Self::Independent | Self::HeavyTail | Self::Steps => Span::ZERO,
            Self::Autoregressive => Span::from_millis(500),
            Self::Mixture => Span::from_secs(2),
            Self::Drifting(seconds) | Self::TwoStates(seconds) => Span::from_secs(seconds.into()),
            Self::Bursts(_) => BETWEEN_BURSTS,
        }
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Independent => "independent".to_owned(),
            Self::Autoregressive => "autoregressive".to_owned(),
            Self::Drifting(seconds) => format!("drift, {seconds} s"),
            Self::Mixture => "mixture".to_owned(),
            Self::HeavyTail => "heavy tail".to_owned(),
            Self::Steps => "steps".to_owned(),
            Self::TwoStates(seconds) => format!("states, {seconds} s"),
            Self::Bursts(millis) => format!("bursts, {millis} ms"),
        };
        f.pad(&name)
    }
}

/// Simulated wake-ups per second.
const PER_SECOND: f64 = 1_000.0;
/// Latency of a quiet wake-up, in nanoseconds.
const QUIET: f64 = 20_000.0;
/// Memory from wake-up to wake-up, and how far single ones go.
const FAST: f64 = 0.9;
const SINGLE: f64 = 0.2;
/// Spells: how probable one begins, ends, and by how much it is later.
const SPELL_BEGINS: f64 = 1.0 / 1_000.0;
const SPELL_ENDS: f64 = 1.0 / 30.0;
const SPELL: f64 = 4.0;
/// The other of two states: how much slower it is.
const SLOWER: f64 = 1.6;
/// Bursts: how probable one begins and ends. Its sizes have a Pareto tail.
const BURST_BEGINS: f64 = 1.0 / 2_000.0;
const BURST_ENDS: f64 = 1.0 / 3.0;
/// Long bursts: how far apart they are, how much later they are at least, and the exponent of their tail.
const BETWEEN_BURSTS: Span = Span::from_secs(20);
const BURST: f64 = 20.0;
const BURST_TAIL: f64 = 1.5;
/// A heavy tail: its share and its exponent.
const FAR: f64 = 0.02;
const FAR_TAIL: f64 = 1.2;
/// What latencies are told in, where they are told in steps.
const STEP: f64 = 4_000.0;

/// A machine, wake-up by wake-up.
pub(crate) struct Simulated {
    series: Series,
    pub(crate) random: fastrand::Rng,
    level: f64,
    fast: f64,
    in_spell: bool,
    in_burst: bool,
    is_slow: bool,
    /// By how many times the long burst that it is in makes it later; 1 in none.
    burst: f64,
}

impl Simulated {
    /// A machine that has run for a long time already.
    pub(crate) fn new(series: Series, seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        let (in_spell, in_burst) = (false, false);
        let mut machine =
            Self { series, random, level: 0.0, fast: 0.0, in_spell, in_burst, is_slow: false, burst: 1.0 };
        machine.is_slow = matches!(series, Series::TwoStates(_)) && machine.random.bool();
        if let Series::Bursts(millis) = series {
            let share = f64::from(millis) / (BETWEEN_BURSTS.as_secs_f64() * PER_SECOND);
            machine.burst = if machine.random.f64() < share { machine.burst() } else { 1.0 };
        }
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
        let single = |machine: &mut Self| QUIET * (SINGLE * machine.normal()).exp();
        match self.series {
            Series::Independent => return single(self),
            Series::HeavyTail => return single(self) * self.far(),
            Series::Steps => return STEP * (single(self) / STEP).ceil(),
            Series::Bursts(millis) => return single(self) * self.in_long_burst(f64::from(millis)),
            Series::Autoregressive | Series::Drifting(_) | Series::Mixture | Series::TwoStates(_) => {}
        }
        let stays = 1.0 - 1.0 / memory;
        self.level = stays * self.level + (1.0 - stays * stays).sqrt() * self.normal();
        self.fast = FAST * self.fast + (1.0 - FAST * FAST).sqrt() * self.normal();
        let latency = QUIET * (far * self.level + SINGLE * self.fast).exp();
        match self.series {
            Series::Mixture => latency * self.disturbed(),
            Series::TwoStates(seconds) => latency * self.slowed(f64::from(seconds) * PER_SECOND),
            _ => latency,
        }
    }

    /// By how many times the state that it is in makes it later; each lasts for so many wake-ups.
    fn slowed(&mut self, lasts: f64) -> f64 {
        self.is_slow ^= self.random.f64() < 1.0 / lasts;
        if self.is_slow { SLOWER } else { 1.0 }
    }

    /// A value from a Pareto tail, from 1 on.
    fn pareto(&mut self, exponent: f64) -> f64 {
        self.random.f64().max(1e-9).powf(-1.0 / exponent)
    }

    fn far(&mut self) -> f64 {
        if self.random.f64() < FAR { self.pareto(FAR_TAIL).min(1e6) } else { 1.0 }
    }

    /// By how many times a new burst makes it later.
    fn burst(&mut self) -> f64 {
        BURST * (1.0 + self.pareto(BURST_TAIL))
    }

    /// Bursts of so many wake-ups.
    fn in_long_burst(&mut self, lasts: f64) -> f64 {
        if self.random.f64() < 1.0 / (BETWEEN_BURSTS.as_secs_f64() * PER_SECOND) {
            self.burst = self.burst();
        } else if self.burst > 1.0 && self.random.f64() < 1.0 / lasts {
            self.burst = 1.0;
        }
        if self.burst > 1.0 { self.burst * (0.3 * self.normal()).exp() } else { 1.0 }
    }

    /// By how many times a disturbance makes it later.
    fn disturbed(&mut self) -> f64 {
        self.in_spell = self.random.f64() < if self.in_spell { 1.0 - SPELL_ENDS } else { SPELL_BEGINS };
        self.in_burst = self.random.f64() < if self.in_burst { 1.0 - BURST_ENDS } else { BURST_BEGINS };
        let burst = if self.in_burst { 10.0 / self.random.f64().max(1e-9).sqrt() } else { 1.0 };
        if self.in_spell { SPELL * burst } else { burst }
    }
}
