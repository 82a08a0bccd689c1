//! Options of oslat, as they are typed.

use std::path::PathBuf;

use crate::getopt::{GivenOption, OptionSpec, Takes, getopt};
use crate::number::{leading, seconds};
use howlate_model::{CpuSet, Policy, Priority};

use crate::compat::Compat;

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whose output to write.
    pub dialect: Compat,
    /// Buckets; the last one holds what is longer.
    pub buckets: usize,
    /// How wide each is, in nanoseconds.
    pub width_ns: u64,
    /// Whether the shortest time of the warm-up is taken off.
    pub bias: bool,
    /// CPUs, as typed; `None`: all.
    pub cpu_list: Option<String>,
    /// CPUs to measure.
    pub cpus: CpuSet,
    /// Where everything else runs.
    pub main_cpu: u32,
    /// For how long, in seconds.
    pub seconds: u64,
    /// Of the measuring threads.
    pub policy: Policy,
    /// A time that ends the run, in microseconds.
    pub threshold_us: Option<u64>,
    /// Bytes that are copied at each turn.
    pub workload: Option<usize>,
    /// Where JSON goes.
    pub json: Option<PathBuf>,
    /// Print nothing but the summary.
    pub quiet: bool,
    /// Warm up on one CPU.
    pub single_preheat: bool,
    /// Leave out buckets in which nothing is.
    pub omit_zero: bool,
}

/// Why nothing is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The usage was asked for.
    Help,
    /// The version was asked for.
    Version,
    /// What could not be read, in the words of `getopt_long`.
    Unreadable(String),
    /// What cannot be, with what can.
    Invalid(String),
    /// CPUs that cannot be measured, with those that can.
    NoCpus(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Buckets,
    Width,
    Bias,
    Cpus,
    MainCpu,
    Duration,
    Json,
    Priority,
    Memory,
    Quiet,
    SinglePreheat,
    Threshold,
    Workload,
    OmitZero,
    Version,
    Help,
}

const fn option(short: char, long: &'static str, takes: Takes, id: Id) -> OptionSpec<Id> {
    OptionSpec { short: Some(short), long: Some(long), abbreviates: true, takes, id }
}

const KNOWN: [OptionSpec<Id>; 16] = [
    option('b', "bucket-size", Takes::Value, Id::Buckets),
    option('W', "bucket-width", Takes::Value, Id::Width),
    option('B', "bias", Takes::Nothing, Id::Bias),
    option('c', "cpu-list", Takes::Value, Id::Cpus),
    option('C', "cpu-main-thread", Takes::Value, Id::MainCpu),
    option('D', "duration", Takes::Value, Id::Duration),
    OptionSpec { short: None, long: Some("json"), abbreviates: true, takes: Takes::Value, id: Id::Json },
    option('f', "rtprio", Takes::Value, Id::Priority),
    option('m', "workload-mem", Takes::Value, Id::Memory),
    option('q', "quiet", Takes::Nothing, Id::Quiet),
    option('s', "single-preheat", Takes::Nothing, Id::SinglePreheat),
    option('T', "trace-threshold", Takes::Value, Id::Threshold),
    option('w', "workload", Takes::Value, Id::Workload),
    option('z', "zero-omit", Takes::Nothing, Id::OmitZero),
    option('v', "version", Takes::Nothing, Id::Version),
    option('h', "help", Takes::Nothing, Id::Help),
];

/// What is copied at each turn, if nothing else is asked for.
const MEMORY: usize = 4 * 1024;
const BUCKETS: usize = 32;

/// Reads what was typed behind the program's name, where threads can be bound to the CPUs `bindable`.
///
/// # Errors
///
/// For help, and for what cannot be.
pub fn read(words: &[String], bindable: &CpuSet, dialect: Compat) -> Result<Options, Refusal> {
    let known: Vec<_> = KNOWN.into_iter().filter(|one| one.id != Id::Width || dialect.has_widths()).collect();
    let given = getopt(words, &known).map_err(|error| Refusal::Unreadable(error.to_string()))?;
    let mut draft = Draft::new(dialect);
    for one in &given {
        draft.take(one)?;
    }
    draft.finish(bindable)
}

struct Draft {
    options: Options,
    memory: usize,
    copies: bool,
    buckets: Option<usize>,
}

impl Draft {
    fn new(dialect: Compat) -> Self {
        let options = Options {
            dialect,
            buckets: BUCKETS,
            width_ns: 1_000,
            bias: false,
            cpu_list: None,
            cpus: CpuSet::default(),
            main_cpu: 0,
            seconds: 1,
            policy: Policy::OTHER,
            threshold_us: None,
            workload: None,
            json: None,
            quiet: false,
            single_preheat: false,
            omit_zero: false,
        };
        Self { options, memory: MEMORY, copies: false, buckets: None }
    }

    fn take(&mut self, given: &GivenOption<Id>) -> Result<(), Refusal> {
        let (options, value) = (&mut self.options, given.value.as_deref().unwrap_or_default());
        let number = leading(value);
        match given.id {
            Id::Buckets => self.buckets = Some(buckets(value)?),
            Id::Width => options.width_ns = positive(number, || format!("Illegal bucket width: {value}"))?,
            Id::Bias => options.bias = true,
            Id::Cpus => options.cpu_list = Some(value.to_owned()),
            Id::MainCpu => {
                options.main_cpu = u32::try_from(number)
                    .map_err(|_| invalid(format!("Illegal core for main thread: {value}")))?;
            }
            Id::Duration => {
                options.seconds = positive(seconds(value), || format!("Illegal runtime: {value}"))?;
            }
            Id::Json => options.json = Some(PathBuf::from(value)),
            Id::Priority => options.policy = fifo(number, value)?,
            Id::Memory => self.memory = memory(value)?,
            Id::Quiet => options.quiet = true,
            Id::SinglePreheat => options.single_preheat = true,
            Id::Threshold => {
                let refused = || "Parameter --trace-threshold needs to be positive".to_owned();
                options.threshold_us = Some(positive(number, refused)?);
            }
            Id::Workload => self.copies = workload(value)?,
            Id::OmitZero => options.omit_zero = true,
            Id::Version => return Err(Refusal::Version),
            Id::Help => return Err(Refusal::Help),
        }
        Ok(())
    }

    fn finish(self, bindable: &CpuSet) -> Result<Options, Refusal> {
        let cpus = cpus(self.options.cpu_list.as_deref(), bindable)?;
        // Narrow buckets reach as far as usual ones.
        let usual = match self.options.width_ns {
            narrow @ 1..1_000 => usize::try_from(32_000 / narrow).unwrap_or(BUCKETS),
            _ => BUCKETS,
        };
        let workload = self.copies.then_some(self.memory);
        Ok(Options { cpus, buckets: self.buckets.unwrap_or(usual), workload, ..self.options })
    }
}

fn invalid(text: String) -> Refusal {
    Refusal::Invalid(text)
}

fn positive(number: i64, refused: impl Fn() -> String) -> Result<u64, Refusal> {
    u64::try_from(number).ok().filter(|number| *number > 0).ok_or_else(|| invalid(refused()))
}

/// The original refuses 4 as well, which its own words allow.
fn buckets(value: &str) -> Result<usize, Refusal> {
    let number = usize::try_from(leading(value)).ok().filter(|number| (5..=1024).contains(number));
    number.ok_or_else(|| invalid(format!("Illegal bucket size: {value} (should be: 4-1024)")))
}

fn fifo(number: i64, value: &str) -> Result<Policy, Refusal> {
    let priority = u32::try_from(number).ok().and_then(Priority::new);
    let refused = || invalid(format!("Illegal RT priority: {value} (should be: 1-99)"));
    priority.map(|priority| Policy::Fifo { priority }).ok_or_else(refused)
}

/// Whether memory is copied.
fn workload(value: &str) -> Result<bool, Refusal> {
    match value {
        "no" => Ok(false),
        "memmove" => Ok(true),
        other => Err(invalid(format!("Unknown workload '{other}'.  Please choose from: 'no', 'memmove'"))),
    }
}

/// Bytes: `4K`, `1M`.
fn memory(value: &str) -> Result<usize, Refusal> {
    let unit = match value.chars().last().map(|last| last.to_ascii_uppercase()) {
        Some('K') => 1 << 10,
        Some('M') => 1 << 20,
        Some('G') => 1 << 30,
        Some(last) if last.is_ascii_digit() => 1,
        _ => 0,
    };
    let bytes = usize::try_from(leading(value)).ok().and_then(|number| number.checked_mul(unit));
    let refused = || invalid(format!("Unknown workload memory size '{value}'."));
    // Two buffers for each CPU are to fit the machine.
    bytes.filter(|bytes| (1..=1 << 30).contains(bytes)).ok_or_else(refused)
}

fn cpus(list: Option<&str>, bindable: &CpuSet) -> Result<CpuSet, Refusal> {
    let named = match list.map(str::trim) {
        None | Some("all") => return Ok(bindable.clone()),
        Some(list) => list.parse::<CpuSet>(),
    };
    let refused =
        || Refusal::NoCpus(format!("parse_cpumask failed: threads can be bound to CPUs {bindable}."));
    let named = named.map_err(|_| refused())?;
    if named.is_empty() || named.first_outside(bindable).is_some() { Err(refused()) } else { Ok(named) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as(line: &str, dialect: Compat) -> Result<Options, Refusal> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        read(&words, &"0-3".parse().unwrap(), dialect)
    }

    fn ok(line: &str) -> Options {
        read_as(line, Compat::V2_4).unwrap()
    }

    #[test]
    fn what_a_pod_of_openshifts_asks_for_is_understood() {
        let options = ok("--duration 10m --rtprio 1 --cpu-list 2-3 --cpu-main-thread 1");
        let fifo = Policy::Fifo { priority: Priority::new(1).unwrap() };
        assert_eq!((options.seconds, options.policy, options.main_cpu), (600, fifo, 1));
        assert_eq!(options.cpus.to_string(), "2-3");
    }

    #[test]
    fn what_is_not_said_is_as_in_the_original() {
        let options = ok("");
        assert_eq!((options.buckets, options.width_ns, options.seconds), (32, 1_000, 1));
        assert_eq!((options.cpus.to_string().as_str(), options.main_cpu, options.workload), ("0-3", 0, None));
        assert_eq!(ok("-w memmove").workload, Some(4_096));
        assert_eq!(ok("-w memmove -m1M").workload, Some(1 << 20));
        assert_eq!(ok("-m1M").workload, None);
        assert_eq!(ok("-qzsB --json=x -T 50 -b 5").threshold_us, Some(50));
    }

    #[test]
    fn widths_came_after_2_4() {
        assert!(matches!(read_as("-W 500", Compat::V2_4), Err(Refusal::Unreadable(_))));
        let options = read_as("-W 500", Compat::V2_6).unwrap();
        assert_eq!((options.width_ns, options.buckets), (500, 64));
        assert_eq!(read_as("-W 2000", Compat::V2_10).unwrap().buckets, 32);
    }

    #[test]
    fn what_cannot_be_is_refused_in_the_originals_words() {
        for (line, words) in [
            ("-b 4", "Illegal bucket size: 4 (should be: 4-1024)"),
            ("-f 100", "Illegal RT priority: 100 (should be: 1-99)"),
            ("-D 0", "Illegal runtime: 0"),
            ("-T 0", "Parameter --trace-threshold needs to be positive"),
            ("-m 4X", "Unknown workload memory size '4X'."),
            ("-w cpu", "Unknown workload 'cpu'.  Please choose from: 'no', 'memmove'"),
        ] {
            assert_eq!(read_as(line, Compat::V2_4), Err(Refusal::Invalid(words.to_owned())), "{line}");
        }
        let no_cpus = "parse_cpumask failed: threads can be bound to CPUs 0-3.";
        assert_eq!(read_as("-c 9", Compat::V2_4), Err(Refusal::NoCpus(no_cpus.to_owned())));
        assert_eq!(
            read_as("--nothing", Compat::V2_4),
            Err(Refusal::Unreadable("unrecognized option '--nothing'".into()))
        );
        assert_eq!(read_as("-h", Compat::V2_4), Err(Refusal::Help));
    }
}
