//! Options of oslat.

use std::path::PathBuf;

use crate::getopt::{Argument, GivenOption, OptionSpec, getopt};
use crate::number::{leading_number, seconds};
use howlate_model::{CpuSet, Policy, Priority};

use crate::compat::Compat;

/// A parsed command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OslatOptions {
    /// Version of rt-tests whose output is written.
    pub compat: Compat,
    /// Number of buckets; the last one also holds longer gaps.
    pub buckets: usize,
    /// Width of a bucket.
    pub width_ns: u64,
    /// Subtract the shortest iteration of the warm-up.
    pub bias: bool,
    /// `--cpu-list` as given; `None`: all.
    pub cpu_list: Option<String>,
    pub cpus: CpuSet,
    /// CPU of the main thread.
    pub main_cpu: u32,
    /// Duration of the run.
    pub seconds: u64,
    /// Policy of the measuring threads.
    pub policy: Policy,
    /// Length of a gap that ends the run.
    pub threshold_us: Option<u64>,
    /// Bytes copied in each iteration; `None`: no workload.
    pub workload: Option<usize>,
    /// File for the results as JSON.
    pub json: Option<PathBuf>,
    /// Print the summary only.
    pub quiet: bool,
    /// Warm up on one CPU only.
    pub single_preheat: bool,
    pub omit_zero: bool,
}

/// Why the program ends without measuring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OslatEarlyExit {
    Help,
    Version,
    /// A message of `getopt_long`.
    GetoptError(String),
    /// An invalid value, with the valid ones.
    Invalid(String),
    /// CPUs to which threads cannot be bound, with those to which they can.
    NoCpus(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OslatOption {
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

const fn option(
    short: char,
    long: &'static str,
    argument: Argument,
    id: OslatOption,
) -> OptionSpec<OslatOption> {
    OptionSpec { short: Some(short), long: Some(long), abbreviates: true, argument, id }
}

const OPTIONS: [OptionSpec<OslatOption>; 16] = [
    option('b', "bucket-size", Argument::Required, OslatOption::Buckets),
    option('W', "bucket-width", Argument::Required, OslatOption::Width),
    option('B', "bias", Argument::None, OslatOption::Bias),
    option('c', "cpu-list", Argument::Required, OslatOption::Cpus),
    option('C', "cpu-main-thread", Argument::Required, OslatOption::MainCpu),
    option('D', "duration", Argument::Required, OslatOption::Duration),
    OptionSpec {
        short: None,
        long: Some("json"),
        abbreviates: true,
        argument: Argument::Required,
        id: OslatOption::Json,
    },
    option('f', "rtprio", Argument::Required, OslatOption::Priority),
    option('m', "workload-mem", Argument::Required, OslatOption::Memory),
    option('q', "quiet", Argument::None, OslatOption::Quiet),
    option('s', "single-preheat", Argument::None, OslatOption::SinglePreheat),
    option('T', "trace-threshold", Argument::Required, OslatOption::Threshold),
    option('w', "workload", Argument::Required, OslatOption::Workload),
    option('z', "zero-omit", Argument::None, OslatOption::OmitZero),
    option('v', "version", Argument::None, OslatOption::Version),
    option('h', "help", Argument::None, OslatOption::Help),
];

/// Defaults of the original.
const DEFAULT_MEMORY_BYTES: usize = 4 * 1024;
const DEFAULT_BUCKETS: usize = 32;

/// Parses a command line without the program name. `bindable`: CPUs to which threads can be bound.
///
/// # Errors
///
/// For `--help`, `--version`, invalid options and invalid values.
pub fn parse(
    arguments: &[String],
    bindable: &CpuSet,
    compat: Compat,
) -> Result<OslatOptions, OslatEarlyExit> {
    let specs: Vec<_> = OPTIONS
        .into_iter()
        .filter(|spec| spec.id != OslatOption::Width || compat.has_bucket_width())
        .collect();
    let given = getopt(arguments, &specs).map_err(|error| OslatEarlyExit::GetoptError(error.to_string()))?;
    let mut raw = RawOslatOptions::new(compat);
    for option in &given {
        raw.apply(option)?;
    }
    raw.check(bindable)
}

/// Options as given so far; [`check`](Self::check) completes them.
struct RawOslatOptions {
    options: OslatOptions,
    memory_bytes: usize,
    copies_memory: bool,
    buckets: Option<usize>,
}

impl RawOslatOptions {
    fn new(compat: Compat) -> Self {
        let options = OslatOptions {
            compat,
            buckets: DEFAULT_BUCKETS,
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
        Self { options, memory_bytes: DEFAULT_MEMORY_BYTES, copies_memory: false, buckets: None }
    }

    fn apply(&mut self, given: &GivenOption<OslatOption>) -> Result<(), OslatEarlyExit> {
        let (options, value) = (&mut self.options, given.value.as_deref().unwrap_or_default());
        let number = leading_number(value);
        match given.id {
            OslatOption::Buckets => self.buckets = Some(parse_buckets(value)?),
            OslatOption::Width => {
                options.width_ns = positive(number, || format!("Illegal bucket width: {value}"))?
            }
            OslatOption::Bias => options.bias = true,
            OslatOption::Cpus => options.cpu_list = Some(value.to_owned()),
            OslatOption::MainCpu => {
                options.main_cpu = u32::try_from(number)
                    .map_err(|_| invalid(format!("Illegal core for main thread: {value}")))?;
            }
            OslatOption::Duration => {
                options.seconds = positive(seconds(value), || format!("Illegal runtime: {value}"))?;
            }
            OslatOption::Json => options.json = Some(PathBuf::from(value)),
            OslatOption::Priority => options.policy = fifo_policy(number, value)?,
            OslatOption::Memory => self.memory_bytes = parse_memory(value)?,
            OslatOption::Quiet => options.quiet = true,
            OslatOption::SinglePreheat => options.single_preheat = true,
            OslatOption::Threshold => {
                let message = || "Parameter --trace-threshold needs to be positive".to_owned();
                options.threshold_us = Some(positive(number, message)?);
            }
            OslatOption::Workload => self.copies_memory = parse_workload(value)?,
            OslatOption::OmitZero => options.omit_zero = true,
            OslatOption::Version => return Err(OslatEarlyExit::Version),
            OslatOption::Help => return Err(OslatEarlyExit::Help),
        }
        Ok(())
    }

    fn check(self, bindable: &CpuSet) -> Result<OslatOptions, OslatEarlyExit> {
        let cpus = parse_cpus(self.options.cpu_list.as_deref(), bindable)?;
        // With narrow buckets the histogram covers 32 µs, as with the default width.
        let default_buckets = match self.options.width_ns {
            narrow @ 1..1_000 => usize::try_from(32_000 / narrow).unwrap_or(DEFAULT_BUCKETS),
            _ => DEFAULT_BUCKETS,
        };
        let workload = self.copies_memory.then_some(self.memory_bytes);
        Ok(OslatOptions { cpus, buckets: self.buckets.unwrap_or(default_buckets), workload, ..self.options })
    }
}

fn invalid(text: String) -> OslatEarlyExit {
    OslatEarlyExit::Invalid(text)
}

fn positive(number: i64, message: impl Fn() -> String) -> Result<u64, OslatEarlyExit> {
    u64::try_from(number).ok().filter(|number| *number > 0).ok_or_else(|| invalid(message()))
}

/// The original refuses 4 too, although its message allows it.
fn parse_buckets(value: &str) -> Result<usize, OslatEarlyExit> {
    let number = usize::try_from(leading_number(value)).ok().filter(|number| (5..=1024).contains(number));
    number.ok_or_else(|| invalid(format!("Illegal bucket size: {value} (should be: 4-1024)")))
}

fn fifo_policy(number: i64, value: &str) -> Result<Policy, OslatEarlyExit> {
    let priority = u32::try_from(number).ok().and_then(Priority::new);
    let error = || invalid(format!("Illegal RT priority: {value} (should be: 1-99)"));
    priority.map(|priority| Policy::Fifo { priority }).ok_or_else(error)
}

/// Whether memory is copied in each iteration.
fn parse_workload(value: &str) -> Result<bool, OslatEarlyExit> {
    match value {
        "no" => Ok(false),
        "memmove" => Ok(true),
        other => Err(invalid(format!("Unknown workload '{other}'.  Please choose from: 'no', 'memmove'"))),
    }
}

/// Bytes: `4K`, `1M`.
fn parse_memory(value: &str) -> Result<usize, OslatEarlyExit> {
    let unit = match value.chars().last().map(|last| last.to_ascii_uppercase()) {
        Some('K') => 1 << 10,
        Some('M') => 1 << 20,
        Some('G') => 1 << 30,
        Some(last) if last.is_ascii_digit() => 1,
        _ => 0,
    };
    let bytes = usize::try_from(leading_number(value)).ok().and_then(|number| number.checked_mul(unit));
    let error = || invalid(format!("Unknown workload memory size '{value}'."));
    // At most 1 GiB: each CPU has two buffers, which have to fit into memory.
    bytes.filter(|bytes| (1..=1 << 30).contains(bytes)).ok_or_else(error)
}

fn parse_cpus(list: Option<&str>, bindable: &CpuSet) -> Result<CpuSet, OslatEarlyExit> {
    let cpus = match list.map(str::trim) {
        None | Some("all") => return Ok(bindable.clone()),
        Some(list) => list.parse::<CpuSet>(),
    };
    let error =
        || OslatEarlyExit::NoCpus(format!("parse_cpumask failed: threads can be bound to CPUs {bindable}."));
    let cpus = cpus.map_err(|_| error())?;
    if cpus.is_empty() || cpus.first_outside(bindable).is_some() { Err(error()) } else { Ok(cpus) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_as(line: &str, compat: Compat) -> Result<OslatOptions, OslatEarlyExit> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&arguments, &"0-3".parse().unwrap(), compat)
    }

    fn parse_2_4(line: &str) -> OslatOptions {
        parse_as(line, Compat::V2_4).unwrap()
    }

    #[test]
    fn openshift_command_lines_are_parsed() {
        let options = parse_2_4("--duration 10m --rtprio 1 --cpu-list 2-3 --cpu-main-thread 1");
        let fifo = Policy::Fifo { priority: Priority::new(1).unwrap() };
        assert_eq!((options.seconds, options.policy, options.main_cpu), (600, fifo, 1));
        assert_eq!(options.cpus.to_string(), "2-3");
    }

    #[test]
    fn defaults_are_those_of_the_original() {
        let options = parse_2_4("");
        assert_eq!((options.buckets, options.width_ns, options.seconds), (32, 1_000, 1));
        assert_eq!((options.cpus.to_string().as_str(), options.main_cpu, options.workload), ("0-3", 0, None));
        assert_eq!(parse_2_4("-w memmove").workload, Some(4_096));
        assert_eq!(parse_2_4("-w memmove -m1M").workload, Some(1 << 20));
        assert_eq!(parse_2_4("-m1M").workload, None);
        assert_eq!(parse_2_4("-qzsB --json=x -T 50 -b 5").threshold_us, Some(50));
    }

    #[test]
    fn bucket_width_is_newer_than_2_4() {
        assert!(matches!(parse_as("-W 500", Compat::V2_4), Err(OslatEarlyExit::GetoptError(_))));
        let options = parse_as("-W 500", Compat::V2_6).unwrap();
        assert_eq!((options.width_ns, options.buckets), (500, 64));
        assert_eq!(parse_as("-W 2000", Compat::V2_10).unwrap().buckets, 32);
    }

    #[test]
    fn invalid_values_have_the_messages_of_the_original() {
        for (line, message) in [
            ("-b 4", "Illegal bucket size: 4 (should be: 4-1024)"),
            ("-f 100", "Illegal RT priority: 100 (should be: 1-99)"),
            ("-D 0", "Illegal runtime: 0"),
            ("-T 0", "Parameter --trace-threshold needs to be positive"),
            ("-m 4X", "Unknown workload memory size '4X'."),
            ("-w cpu", "Unknown workload 'cpu'.  Please choose from: 'no', 'memmove'"),
        ] {
            assert_eq!(
                parse_as(line, Compat::V2_4),
                Err(OslatEarlyExit::Invalid(message.to_owned())),
                "{line}"
            );
        }
        let no_cpus = "parse_cpumask failed: threads can be bound to CPUs 0-3.";
        assert_eq!(parse_as("-c 9", Compat::V2_4), Err(OslatEarlyExit::NoCpus(no_cpus.to_owned())));
        assert_eq!(
            parse_as("--nothing", Compat::V2_4),
            Err(OslatEarlyExit::GetoptError("unrecognized option '--nothing'".into()))
        );
        assert_eq!(parse_as("-h", Compat::V2_4), Err(OslatEarlyExit::Help));
    }
}
