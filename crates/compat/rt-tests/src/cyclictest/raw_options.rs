//! Options as given on the command line; the last value of an option counts.

use std::path::PathBuf;

use howlate_model::WaitClock;

use crate::compat::Compat;
use crate::cyclictest::affinity::{self, CpuMasks};
use crate::cyclictest::options::{
    Affinity, Align, CyclictestOptions, HistogramOptions, LatencyUnit, PolicyName, PowerManagement,
};
use crate::cyclictest::table::CyclictestOption;
use crate::cyclictest::warning::CyclictestWarning;
use crate::getopt::GivenOption;
use crate::number::{leading_number, seconds, starts_with_number};

/// Values as given so far. Limits and combinations are checked when all arguments have been parsed.
pub(crate) struct RawCyclictestOptions {
    pub(crate) options: CyclictestOptions,
    pub(crate) warnings: Vec<CyclictestWarning>,
    pub(crate) errors: Vec<CyclictestWarning>,
    /// `None`: not given. 0 or less: one per CPU.
    pub(crate) threads: Option<i64>,
    pub(crate) distance: Option<i64>,
    pub(crate) aligned: bool,
    pub(crate) secaligned: bool,
    /// `Err`: a number that no clock has.
    pub(crate) clock: Result<WaitClock, i64>,
    pub(crate) oscope: i64,
    pub(crate) priority: i64,
    pub(crate) duration: i64,
    pub(crate) buckets: Option<i64>,
    pub(crate) smp: bool,
}

impl RawCyclictestOptions {
    pub(crate) fn new(compat: Compat) -> Self {
        Self {
            options: CyclictestOptions::defaults(compat),
            warnings: Vec::new(),
            errors: Vec::new(),
            threads: None,
            distance: None,
            aligned: false,
            secaligned: false,
            clock: Ok(WaitClock::Monotonic),
            oscope: 1,
            priority: 0,
            duration: 0,
            buckets: None,
            smp: false,
        }
    }

    pub(crate) fn apply(&mut self, given: &GivenOption<CyclictestOption>, masks: &CpuMasks) {
        let text = given.value.as_deref().unwrap_or_default();
        let path = || Some(PathBuf::from(text));
        let options = &mut self.options;
        match given.id {
            CyclictestOption::DefaultSystem => options.power = PowerManagement::DefaultSystem,
            CyclictestOption::Laptop => options.power = PowerManagement::Laptop,
            CyclictestOption::Fifo => options.fifo = path(),
            CyclictestOption::Histfile => options.histfile = path(),
            CyclictestOption::HowlateOut => options.howlate_out = path(),
            CyclictestOption::Json => options.json = path(),
            CyclictestOption::Mlockall => options.mlockall = true,
            CyclictestOption::Nsecs => options.unit = LatencyUnit::Nanos,
            CyclictestOption::PosixTimers => options.posix_timers = true,
            CyclictestOption::Priospread => options.priospread = true,
            CyclictestOption::Quiet => options.quiet = true,
            CyclictestOption::RefreshOnMax => options.refresh_on_max = true,
            CyclictestOption::Relative => options.relative = true,
            CyclictestOption::Resolution => options.resolution = true,
            CyclictestOption::Smi => options.smi = true,
            CyclictestOption::System => options.system = true,
            CyclictestOption::Tracemark => options.tracemark = true,
            CyclictestOption::Verbose => options.verbose = true,
            CyclictestOption::Duration => self.duration = seconds(text),
            CyclictestOption::Compat
            | CyclictestOption::Debug
            | CyclictestOption::Help
            | CyclictestOption::Unbuffered => {}
            CyclictestOption::Retired => {
                self.warnings.push(CyclictestWarning::Retired { option: given.name.clone() })
            }
            CyclictestOption::RetiredPolicy => self.apply_renamed(given, "--policy"),
            CyclictestOption::RetiredLatency => self.apply_renamed(given, "--latency"),
            CyclictestOption::Policy => self.set_policy(text),
            CyclictestOption::Affinity
            | CyclictestOption::MainAffinity
            | CyclictestOption::Smp
            | CyclictestOption::Threads => self.apply_cpus_or_threads(given, text, masks),
            _ => self.apply_number(given, text),
        }
    }

    fn apply_cpus_or_threads(&mut self, given: &GivenOption<CyclictestOption>, text: &str, masks: &CpuMasks) {
        match given.id {
            CyclictestOption::Smp => self.set_smp(),
            CyclictestOption::Threads if self.smp => self.warnings.push(CyclictestWarning::ThreadsIgnored),
            CyclictestOption::Threads => self.threads = Some(leading_number(text)),
            CyclictestOption::Affinity if self.smp => self.warnings.push(CyclictestWarning::AffinityIgnored),
            CyclictestOption::Affinity if given.value.is_none() => self.options.affinity = Affinity::All,
            CyclictestOption::Affinity => match affinity::parse_cpus(text, masks) {
                Ok(set) => self.options.affinity = Affinity::Set(set),
                Err(warning) => self.errors.push(warning),
            },
            // As in the original, invalid CPUs leave the main thread where it is.
            _ => match affinity::parse_cpus(text, masks) {
                Ok(set) => self.options.main_affinity = Some(set),
                Err(warning) => self.warnings.push(warning),
            },
        }
    }

    fn set_smp(&mut self) {
        self.smp = true;
        self.threads = Some(0);
        self.options.affinity = Affinity::All;
    }

    fn apply_number(&mut self, given: &GivenOption<CyclictestOption>, text: &str) {
        let value = leading_number(text);
        if text.starts_with('-') && !starts_with_number(text) {
            let (option, value) = (given.name.clone(), text.to_owned());
            self.warnings.push(CyclictestWarning::ValueLooksLikeOption { option, value });
        }
        let options = &mut self.options;
        match given.id {
            CyclictestOption::Aligned => (self.aligned, options.align) = (true, Align::Together(value)),
            CyclictestOption::Secaligned => {
                (self.secaligned, options.align) = (true, Align::FullSecond(value))
            }
            CyclictestOption::Breaktrace => {
                options.break_above = Some(value).filter(|threshold| *threshold > 0)
            }
            CyclictestOption::Clock => self.clock = text.parse().or_else(|_| clock_by_number(value)),
            CyclictestOption::DeepestIdleState => options.power = PowerManagement::DeepestIdleState(value),
            CyclictestOption::Distance => self.distance = Some(value),
            CyclictestOption::Histogram => self.set_histogram(value, false),
            CyclictestOption::Histofall => self.set_histogram(value, true),
            CyclictestOption::Interval => options.interval_us = value,
            CyclictestOption::Latency => {
                options.power = PowerManagement::Latency(i32::try_from(value.max(0)).unwrap_or(i32::MAX));
            }
            CyclictestOption::Loops => options.loops = u64::try_from(value).ok().filter(|loops| *loops > 0),
            CyclictestOption::Oscope => self.oscope = value,
            CyclictestOption::Priority => self.set_priority(value),
            CyclictestOption::Spike => options.spike_above = Some(value).filter(|threshold| *threshold > 0),
            CyclictestOption::SpikeNodes => options.spike_nodes = usize::try_from(value).unwrap_or(0),
            _ => {}
        }
    }

    /// `-p` selects fifo unless a real-time policy is already set.
    fn set_priority(&mut self, priority: i64) {
        self.priority = priority;
        if !self.options.policy.is_realtime() {
            self.options.policy = PolicyName::Fifo;
        }
    }

    fn set_histogram(&mut self, buckets: i64, sum: bool) {
        /// Limit of the original: one second in microseconds.
        const MAX_BUCKETS: i64 = 1_000_000;
        self.buckets = Some(buckets);
        let sum = sum || self.options.histogram.is_some_and(|histogram| histogram.sum);
        let buckets = usize::try_from(buckets.clamp(0, MAX_BUCKETS)).unwrap_or(0);
        self.options.histogram = Some(HistogramOptions { buckets, sum });
    }

    /// Only the start of the name is compared, ignoring case: `FIFO` and `fifo-and-more` are fifo.
    fn set_policy(&mut self, text: &str) {
        let text = text.to_ascii_lowercase();
        let starts_with = |name: &str| text.starts_with(name);
        self.options.policy = match () {
            () if starts_with("other") || starts_with("normal") => PolicyName::Other,
            () if starts_with("batch") => PolicyName::Batch,
            () if starts_with("idle") => PolicyName::Idle,
            () if starts_with("fifo") => PolicyName::Fifo,
            () if starts_with("rr") => PolicyName::Rr,
            () => {
                self.warnings.push(CyclictestWarning::UnknownPolicy { name: text });
                PolicyName::Other
            }
        };
    }

    /// An old name of an option that still exists.
    fn apply_renamed(&mut self, given: &GivenOption<CyclictestOption>, new_name: &'static str) {
        self.warnings.push(CyclictestWarning::Renamed { option: given.name.clone(), new_name });
        let text = given.value.as_deref().unwrap_or_default();
        if given.id == CyclictestOption::RetiredPolicy {
            self.set_policy(text);
        } else {
            self.apply_number(&GivenOption { id: CyclictestOption::Latency, ..given.clone() }, text);
        }
    }
}

/// cyclictest's numbers of two clocks, and the kernel's ids of auxiliary clocks, which 2.11 added.
fn clock_by_number(number: i64) -> Result<WaitClock, i64> {
    const FIRST_AUXILIARY: i64 = 16;
    match number {
        0 => Ok(WaitClock::Monotonic),
        1 => Ok(WaitClock::Realtime),
        _ => number
            .checked_sub(FIRST_AUXILIARY)
            .and_then(|aux| u8::try_from(aux).ok())
            .filter(|aux| *aux < WaitClock::AUXILIARY)
            .map_or(Err(number), |aux| Ok(WaitClock::Aux(aux))),
    }
}
