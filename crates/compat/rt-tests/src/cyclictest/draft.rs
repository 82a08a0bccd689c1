//! Options as they are collected, one word after another: the later one counts.

use std::path::PathBuf;

use howlate_model::WaitClock;

use crate::compat::Compat;
use crate::cyclictest::affinity::{self, CpuMasks};
use crate::cyclictest::options::{Affinity, Align, HistogramAsked, Options, PolicyName, Power, Unit};
use crate::cyclictest::table::Opt;
use crate::cyclictest::warning::Warning;
use crate::getopt::GivenOption;
use crate::number::{is_number, leading, seconds};

/// Values as they are collected; checked when all words are read.
pub(crate) struct Draft {
    pub(crate) options: Options,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) errors: Vec<Warning>,
    /// `None`: not given. 0 or less: one per CPU.
    pub(crate) threads: Option<i64>,
    pub(crate) distance: Option<i64>,
    pub(crate) aligned: bool,
    pub(crate) secaligned: bool,
    /// The number that was typed, where it stands for no clock.
    pub(crate) clock: Result<WaitClock, i64>,
    pub(crate) oscope: i64,
    pub(crate) priority: i64,
    pub(crate) duration: i64,
    pub(crate) buckets: Option<i64>,
    pub(crate) smp: bool,
}

impl Draft {
    pub(crate) fn new(compat: Compat) -> Self {
        Self {
            options: Options::unasked(compat),
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

    pub(crate) fn take(&mut self, given: &GivenOption<Opt>, masks: &CpuMasks) {
        let text = given.value.as_deref().unwrap_or_default();
        let path = || Some(PathBuf::from(text));
        let options = &mut self.options;
        match given.id {
            Opt::DefaultSystem => options.power = Power::DefaultSystem,
            Opt::Laptop => options.power = Power::Laptop,
            Opt::Fifo => options.fifo = path(),
            Opt::Histfile => options.histfile = path(),
            Opt::HowlateOut => options.howlate_out = path(),
            Opt::Json => options.json = path(),
            Opt::Mlockall => options.mlockall = true,
            Opt::Nsecs => options.unit = Unit::Nanos,
            Opt::PosixTimers => options.posix_timers = true,
            Opt::Priospread => options.priospread = true,
            Opt::Quiet => options.quiet = true,
            Opt::RefreshOnMax => options.refresh_on_max = true,
            Opt::Relative => options.relative = true,
            Opt::Resolution => options.resolution = true,
            Opt::Smi => options.smi = true,
            Opt::System => options.system = true,
            Opt::Tracemark => options.tracemark = true,
            Opt::Verbose => options.verbose = true,
            Opt::Duration => self.duration = seconds(text),
            Opt::Compat | Opt::Debug | Opt::Help | Opt::Unbuffered => {}
            Opt::Retired => self.warnings.push(Warning::Retired { typed: given.typed.clone() }),
            Opt::RetiredPolicy => self.renamed(given, "--policy"),
            Opt::RetiredLatency => self.renamed(given, "--latency"),
            Opt::Policy => self.policy(text),
            Opt::Affinity | Opt::MainAffinity | Opt::Smp | Opt::Threads => self.place(given, text, masks),
            _ => self.number(given, text),
        }
    }

    fn place(&mut self, given: &GivenOption<Opt>, text: &str, masks: &CpuMasks) {
        match given.id {
            Opt::Smp => self.smp(),
            Opt::Threads if self.smp => self.warnings.push(Warning::ThreadsIgnored),
            Opt::Threads => self.threads = Some(leading(text)),
            Opt::Affinity if self.smp => self.warnings.push(Warning::AffinityIgnored),
            Opt::Affinity if given.value.is_none() => self.options.affinity = Affinity::All,
            Opt::Affinity => match affinity::cpus(text, masks) {
                Ok(set) => self.options.affinity = Affinity::Set(set),
                Err(warning) => self.errors.push(warning),
            },
            // As in the original, a main thread that cannot be moved stays where it is.
            _ => match affinity::cpus(text, masks) {
                Ok(set) => self.options.main_affinity = Some(set),
                Err(warning) => self.warnings.push(warning),
            },
        }
    }

    fn smp(&mut self) {
        self.smp = true;
        self.threads = Some(0);
        self.options.affinity = Affinity::All;
    }

    fn number(&mut self, given: &GivenOption<Opt>, text: &str) {
        let value = leading(text);
        if text.starts_with('-') && !is_number(text) {
            let (option, value) = (given.typed.clone(), text.to_owned());
            self.warnings.push(Warning::ValueLooksLikeOption { option, value });
        }
        let options = &mut self.options;
        match given.id {
            Opt::Aligned => (self.aligned, options.align) = (true, Align::Together(value)),
            Opt::Secaligned => (self.secaligned, options.align) = (true, Align::FullSecond(value)),
            Opt::Breaktrace => options.break_above = Some(value).filter(|above| *above > 0),
            Opt::Clock => self.clock = text.parse().or_else(|_| numbered(value)),
            Opt::DeepestIdleState => options.power = Power::DeepestIdleState(value),
            Opt::Distance => self.distance = Some(value),
            Opt::Histogram => self.histogram(value, false),
            Opt::Histofall => self.histogram(value, true),
            Opt::Interval => options.interval_us = value,
            Opt::Latency => {
                options.power = Power::Latency(i32::try_from(value.max(0)).unwrap_or(i32::MAX));
            }
            Opt::Loops => options.loops = u64::try_from(value).ok().filter(|loops| *loops > 0),
            Opt::Oscope => self.oscope = value,
            Opt::Priority => self.priority(value),
            Opt::Spike => options.spike_above = Some(value).filter(|above| *above > 0),
            Opt::SpikeNodes => options.spike_nodes = usize::try_from(value).unwrap_or(0),
            _ => {}
        }
    }

    /// A priority makes the policy fifo, unless it is a real-time one already.
    fn priority(&mut self, priority: i64) {
        self.priority = priority;
        if !self.options.policy.is_realtime() {
            self.options.policy = PolicyName::Fifo;
        }
    }

    fn histogram(&mut self, buckets: i64, sum: bool) {
        /// As in the original: one second in microseconds.
        const MOST: i64 = 1_000_000;
        self.buckets = Some(buckets);
        let sum = sum || self.options.histogram.is_some_and(|asked| asked.sum);
        let buckets = usize::try_from(buckets.clamp(0, MOST)).unwrap_or(0);
        self.options.histogram = Some(HistogramAsked { buckets, sum });
    }

    /// The beginning of the name counts, in any case: `FIFO`, `fifo-and-more`.
    fn policy(&mut self, text: &str) {
        let text = text.to_ascii_lowercase();
        let named = |name: &str| text.starts_with(name);
        self.options.policy = match () {
            () if named("other") || named("normal") => PolicyName::Other,
            () if named("batch") => PolicyName::Batch,
            () if named("idle") => PolicyName::Idle,
            () if named("fifo") => PolicyName::Fifo,
            () if named("rr") => PolicyName::Rr,
            () => {
                self.warnings.push(Warning::UnknownPolicy { typed: text });
                PolicyName::Other
            }
        };
    }

    /// An old name of an option that is still there.
    fn renamed(&mut self, given: &GivenOption<Opt>, now: &'static str) {
        self.warnings.push(Warning::Renamed { typed: given.typed.clone(), now });
        let text = given.value.as_deref().unwrap_or_default();
        if given.id == Opt::RetiredPolicy {
            self.policy(text);
        } else {
            self.number(&GivenOption { id: Opt::Latency, ..given.clone() }, text);
        }
    }
}

/// cyclictest's own two numbers, and the kernel's of auxiliary clocks, which 2.11 added to them.
fn numbered(number: i64) -> Result<WaitClock, i64> {
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
