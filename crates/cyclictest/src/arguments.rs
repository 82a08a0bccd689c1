//! From words to options.

use std::path::PathBuf;

use howlate_model::Span;

use crate::affinity::{self, Machine};
use crate::checks;
use crate::compat::Compat;
use crate::getopt::{Given, getopt};
use crate::number::{is_number, leading, seconds};
use crate::options::{Affinity, Align, HistogramAsked, Options, PolicyName, Power, Unit};
use crate::table::{Opt, known};
use crate::warning::Warning;

/// A command line that can be carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What to do.
    pub options: Options,
    /// What to say beforehand.
    pub warnings: Vec<Warning>,
}

/// Why there is nothing to carry out. In each case the usage is printed on standard output.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Help was asked for. Status 0.
    Help(Compat),
    /// An option that nobody knows; the text is `getopt_long`'s, without the program's name. Status 0.
    Unreadable(Compat, String),
    /// Options that cannot be carried out, with the reasons. Status 1.
    Invalid(Compat, Vec<Warning>),
}

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
    pub(crate) clock: i64,
    pub(crate) oscope: i64,
    pub(crate) priority: i64,
    pub(crate) duration: i64,
    pub(crate) buckets: Option<i64>,
    pub(crate) smp: bool,
}

/// Reads a command line, the program's name left out.
///
/// # Errors
///
/// When help was asked for, a word cannot be read, or a value cannot be meant.
pub fn read(words: &[String], machine: &Machine) -> Result<Request, Refusal> {
    let compat = dialect(words)?;
    let given = getopt(words, &known(compat))
        .map_err(|unreadable| Refusal::Unreadable(compat, unreadable.to_string()))?;
    let mut draft = Draft::new(compat);
    for one in given {
        if one.id == Opt::Help {
            return Err(Refusal::Help(compat));
        }
        draft.take(&one, machine);
    }
    checks::finish(draft, machine)
}

/// The dialect must be known before the other words are read, even if they cannot be.
fn dialect(words: &[String]) -> Result<Compat, Refusal> {
    let mut asked = None;
    let mut words = words.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        asked = match word.strip_prefix("--compat") {
            Some("") => words.next().map(String::as_str),
            Some(value) if value.starts_with('=') => Some(&value[1..]),
            _ => asked,
        };
    }
    let Some(asked) = asked else { return Ok(Compat::default()) };
    asked.parse().map_err(|error: crate::compat::UnknownCompat| {
        Refusal::Invalid(Compat::default(), vec![Warning::UnknownCompat(error.to_string())])
    })
}

impl Draft {
    fn new(compat: Compat) -> Self {
        Self {
            options: defaults(compat),
            warnings: Vec::new(),
            errors: Vec::new(),
            threads: None,
            distance: None,
            aligned: false,
            secaligned: false,
            clock: 0,
            oscope: 1,
            priority: 0,
            duration: 0,
            buckets: None,
            smp: false,
        }
    }

    fn take(&mut self, given: &Given<Opt>, machine: &Machine) {
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
            Opt::Affinity | Opt::MainAffinity | Opt::Smp | Opt::Threads => self.place(given, text, machine),
            _ => self.number(given, text),
        }
    }

    fn place(&mut self, given: &Given<Opt>, text: &str, machine: &Machine) {
        match given.id {
            Opt::Smp => self.smp(),
            Opt::Threads if self.smp => self.warnings.push(Warning::ThreadsIgnored),
            Opt::Threads => self.threads = Some(leading(text)),
            Opt::Affinity if self.smp => self.warnings.push(Warning::AffinityIgnored),
            Opt::Affinity if given.value.is_none() => self.options.affinity = Affinity::All,
            Opt::Affinity => match affinity::cpus(text, machine) {
                Ok(set) => self.options.affinity = Affinity::Set(set),
                Err(warning) => self.errors.push(warning),
            },
            // As in the original, a main thread that cannot be moved stays where it is.
            _ => match affinity::cpus(text, machine) {
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

    fn number(&mut self, given: &Given<Opt>, text: &str) {
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
            Opt::Clock => self.clock = value,
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
    fn renamed(&mut self, given: &Given<Opt>, now: &'static str) {
        self.warnings.push(Warning::Renamed { typed: given.typed.clone(), now });
        let text = given.value.as_deref().unwrap_or_default();
        if given.id == Opt::RetiredPolicy {
            self.policy(text);
        } else {
            self.number(&Given { id: Opt::Latency, ..given.clone() }, text);
        }
    }
}

fn defaults(compat: Compat) -> Options {
    Options {
        compat,
        howlate_out: None,
        affinity: Affinity::Unset,
        main_affinity: None,
        align: Align::No,
        break_above: None,
        tracemark: false,
        clock: crate::options::Clock::Monotonic,
        power: Power::Latency(0),
        distance_us: 0,
        duration: None::<Span>,
        fifo: None,
        histogram: None,
        histfile: None,
        interval_us: 1_000,
        json: None,
        loops: None,
        mlockall: false,
        unit: Unit::Micros,
        oscope: 1,
        policy: PolicyName::Other,
        posix_timers: false,
        priority: 0,
        priospread: false,
        quiet: false,
        refresh_on_max: false,
        relative: false,
        resolution: false,
        smi: false,
        spike_above: None,
        spike_nodes: 1_024,
        system: false,
        threads: 1,
        verbose: false,
    }
}
