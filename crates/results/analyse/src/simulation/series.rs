//! Simulated latencies with known behaviour.

use std::fmt;

use howlate_model::Span;

/// The behaviour of a machine's latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Series {
    /// Independent latencies.
    Independent,
    /// Correlated with the neighbours and with those of half a second ago, as on idle machines.
    Autoregressive,
    /// The level drifts over this many seconds, as with other work on the machine.
    Drifting(u32),
    /// Spells of disturbance, and rare bursts that are far later.
    Mixture,
    /// Every fiftieth latency, independently, from a tail with infinite variance.
    HeavyTail,
    /// Independent latencies, rounded up to 4 µs.
    Steps,
    /// A fast and a slow state of this many seconds each, as with a hypervisor or a frequency governor.
    TwoStates(u32),
    /// Once in 20 s, all wake-ups of this many milliseconds are far later.
    Bursts(u32),
    /// The level is a sine of this many seconds, as with the load of a day, and every hundredth latency has a heavy tail.
    Sine(u32),
    /// The level rises for this many seconds, and falls in a pause that grows with it, as with collected garbage.
    Sawtooth(u32),
}

impl Series {
    /// The series that short runs cover.
    pub const ALL: [Self; 4] = [Self::Independent, Self::Autoregressive, Self::Drifting(5), Self::Mixture];

    /// These, and series that change more slowly than runs last.
    pub const MACHINES: [Self; 16] = [
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
        Self::TwoStates(300),
        Self::Bursts(10),
        Self::Bursts(30),
        Self::Bursts(300),
        Self::Sine(600),
        Self::Sawtooth(3),
    ];

    /// Correlation time of the level in wake-ups, and its standard deviation as a logarithm.
    fn level(self) -> (f64, f64) {
        match self {
            Self::Independent
            | Self::HeavyTail
            | Self::Steps
            | Self::Bursts(_)
            | Self::Sine(_)
            | Self::Sawtooth(_) => (1.0, 0.0),
            Self::Autoregressive => (500.0, 0.1),
            Self::Drifting(seconds) => (f64::from(seconds) * PER_SECOND, 0.2),
            Self::Mixture => (500.0, 0.05),
            Self::TwoStates(_) => (500.0, 0.02),
        }
    }

    /// Whether it has a phase.
    const fn is_periodic(self) -> bool {
        matches!(self, Self::Sine(_) | Self::Sawtooth(_))
    }

    /// The duration of its slowest change, or the time between two: a shorter run sees only a part.
    pub fn slowest(self) -> Span {
        match self {
            Self::Independent | Self::HeavyTail | Self::Steps => Span::ZERO,
            Self::Autoregressive => Span::from_millis(500),
            Self::Mixture => Span::from_secs(2),
            Self::Drifting(seconds)
            | Self::TwoStates(seconds)
            | Self::Sine(seconds)
            | Self::Sawtooth(seconds) => Span::from_secs(seconds.into()),
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
            Self::Sine(seconds) => format!("sine, {seconds} s"),
            Self::Sawtooth(seconds) => format!("sawtooth, {seconds} s"),
        };
        f.pad(&name)
    }
}

/// Simulated wake-ups per second.
const PER_SECOND: f64 = 1_000.0;
/// Latency of a quiet wake-up, in nanoseconds.
const QUIET: f64 = 20_000.0;
/// Correlation of successive wake-ups, and the standard deviation of single ones as a logarithm.
const FAST: f64 = 0.9;
const SINGLE: f64 = 0.2;
/// Spells: the probabilities that one begins and ends, and the factor of its latencies.
const SPELL_BEGINS: f64 = 1.0 / 1_000.0;
const SPELL_ENDS: f64 = 1.0 / 30.0;
const SPELL: f64 = 4.0;
/// The factor of the slow state.
const SLOWER: f64 = 1.6;
/// Bursts: the probabilities that one begins and ends. Their sizes have a Pareto tail.
const BURST_BEGINS: f64 = 1.0 / 2_000.0;
const BURST_ENDS: f64 = 1.0 / 3.0;
/// Long bursts: time between two, least factor, and exponent of their tail.
const BETWEEN_BURSTS: Span = Span::from_secs(20);
const BURST: f64 = 20.0;
const BURST_TAIL: f64 = 1.5;
/// The heavy tail: its share and its exponent.
const FAR: f64 = 0.02;
const FAR_TAIL: f64 = 1.2;
/// The step of [`Series::Steps`], in nanoseconds.
const STEP: f64 = 4_000.0;
/// The sine: its amplitude as a logarithm, and of the heavy tail the share and the exponent.
const AMPLITUDE: f64 = 0.2;
const RARELY_FAR: f64 = 0.01;
const RARE_TAIL: f64 = 1.1;
/// The sawtooth: how far it rises as a factor, and the pause of a full tooth, in wake-ups, which a tooth exceeds or falls short of by half.
const RISES: f64 = 0.5;
const PAUSE: f64 = 20.0;

/// Generates the latencies of a machine, wake-up by wake-up.
pub(crate) struct LatencyGenerator {
    series: Series,
    pub(crate) random: fastrand::Rng,
    level: f64,
    fast: f64,
    in_spell: bool,
    in_burst: bool,
    is_slow: bool,
    /// The factor of the present long burst; 1 outside of bursts.
    burst: f64,
    /// Where the sine or the tooth is, as a share of its length.
    phase: f64,
    /// Wake-ups that the present pause still holds up.
    paused: f64,
}

impl LatencyGenerator {
    /// A machine that has run for a long time already.
    pub(crate) fn new(series: Series, seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        let (in_spell, in_burst) = (false, false);
        let mut generator = Self {
            series,
            random,
            level: 0.0,
            fast: 0.0,
            in_spell,
            in_burst,
            is_slow: false,
            burst: 1.0,
            phase: 0.0,
            paused: 0.0,
        };
        generator.phase = if series.is_periodic() { generator.random.f64() } else { 0.0 };
        generator.is_slow = matches!(series, Series::TwoStates(_)) && generator.random.bool();
        if let Series::Bursts(millis) = series {
            let share = f64::from(millis) / (BETWEEN_BURSTS.as_secs_f64() * PER_SECOND);
            generator.burst = if generator.random.f64() < share { generator.new_burst() } else { 1.0 };
        }
        generator.level = generator.normal();
        generator.fast = generator.normal();
        (0..200).for_each(|_| {
            generator.latency();
        });
        generator
    }

    /// Approximately normal, with mean 0 and variance 1.
    fn normal(&mut self) -> f64 {
        2.0 * ((0..3).map(|_| self.random.f64()).sum::<f64>() - 1.5)
    }

    /// The next wake-up's latency in nanoseconds.
    pub(crate) fn latency(&mut self) -> f64 {
        let (correlation_time, deviation) = self.series.level();
        let single = |machine: &mut Self| QUIET * (SINGLE * machine.normal()).exp();
        match self.series {
            Series::Independent => return single(self),
            Series::HeavyTail => return single(self) * self.heavy_tail_factor(),
            Series::Steps => return STEP * (single(self) / STEP).ceil(),
            Series::Bursts(millis) => return single(self) * self.long_burst_factor(f64::from(millis)),
            Series::Sine(seconds) => return single(self) * self.sine_factor(f64::from(seconds)),
            Series::Sawtooth(seconds) => {
                let level = self.tooth_factor(f64::from(seconds));
                return single(self) * level + self.paused * 1e9 / PER_SECOND;
            }
            Series::Autoregressive | Series::Drifting(_) | Series::Mixture | Series::TwoStates(_) => {}
        }
        let correlation = 1.0 - 1.0 / correlation_time;
        self.level = correlation * self.level + (1.0 - correlation * correlation).sqrt() * self.normal();
        self.fast = FAST * self.fast + (1.0 - FAST * FAST).sqrt() * self.normal();
        let latency = QUIET * (deviation * self.level + SINGLE * self.fast).exp();
        match self.series {
            Series::Mixture => latency * self.disturbance_factor(),
            Series::TwoStates(seconds) => latency * self.state_factor(f64::from(seconds) * PER_SECOND),
            _ => latency,
        }
    }

    /// The factor of the present state; states last for `wakeups` on average.
    fn state_factor(&mut self, wakeups: f64) -> f64 {
        self.is_slow ^= self.random.f64() < 1.0 / wakeups;
        if self.is_slow { SLOWER } else { 1.0 }
    }

    /// A value from a Pareto tail, from 1 on.
    fn pareto(&mut self, exponent: f64) -> f64 {
        self.random.f64().max(1e-9).powf(-1.0 / exponent)
    }

    fn heavy_tail_factor(&mut self) -> f64 {
        if self.random.f64() < FAR { self.pareto(FAR_TAIL).min(1e6) } else { 1.0 }
    }

    /// The factor of a new long burst.
    fn new_burst(&mut self) -> f64 {
        BURST * (1.0 + self.pareto(BURST_TAIL))
    }

    /// The factor of the long burst, if any; bursts last for `wakeups` on average.
    fn long_burst_factor(&mut self, wakeups: f64) -> f64 {
        if self.random.f64() < 1.0 / (BETWEEN_BURSTS.as_secs_f64() * PER_SECOND) {
            self.burst = self.new_burst();
        } else if self.burst > 1.0 && self.random.f64() < 1.0 / wakeups {
            self.burst = 1.0;
        }
        if self.burst > 1.0 { self.burst * (0.3 * self.normal()).exp() } else { 1.0 }
    }

    fn sine_factor(&mut self, seconds: f64) -> f64 {
        self.phase = (self.phase + 1.0 / (seconds * PER_SECOND)).fract();
        let is_far = self.random.f64() < RARELY_FAR;
        let far = if is_far { self.pareto(RARE_TAIL).min(1e6) } else { 1.0 };
        far * (AMPLITUDE * (std::f64::consts::TAU * self.phase).sin()).exp()
    }

    /// The factor of the level; at the end of a tooth a pause begins.
    fn tooth_factor(&mut self, seconds: f64) -> f64 {
        self.paused = (self.paused - 1.0).max(0.0);
        self.phase += 1.0 / (seconds * PER_SECOND);
        if self.phase >= 1.0 {
            // Teeth are of unequal length.
            self.phase = 0.4 * (self.random.f64() - 0.5);
            self.paused = PAUSE * (0.5 + self.random.f64());
        }
        1.0 + RISES * self.phase
    }

    /// The factor of spells and short bursts.
    fn disturbance_factor(&mut self) -> f64 {
        self.in_spell = self.random.f64() < if self.in_spell { 1.0 - SPELL_ENDS } else { SPELL_BEGINS };
        self.in_burst = self.random.f64() < if self.in_burst { 1.0 - BURST_ENDS } else { BURST_BEGINS };
        let burst = if self.in_burst { 10.0 / self.random.f64().max(1e-9).sqrt() } else { 1.0 };
        if self.in_spell { SPELL * burst } else { burst }
    }
}
