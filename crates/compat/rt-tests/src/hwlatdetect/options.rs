//! Options of hwlatdetect, parsed as by Python's `argparse`: long names, unambiguous prefixes of them, `--name=value`.

use std::path::PathBuf;

use crate::getopt::{Argument, GivenOption, OptionSpec, getopt};
use howlate_model::CpuSet;

/// A parsed command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HwlatdetectOptions {
    /// Duration of the run.
    pub seconds: u64,
    /// Gaps of this length or more are samples.
    pub threshold_us: u64,
    /// A sample above this ends the program with status 1.
    pub hardlimit_us: u64,
    /// Sample window: the period in which one CPU is measured.
    pub window_us: u64,
    /// Measured part of the window.
    pub width_us: u64,
    /// `--report`: file for the samples.
    pub report: Option<PathBuf>,
    /// `--cpu-list` as given.
    pub cpu_list: Option<String>,
    /// Measured CPUs, one per window, round-robin.
    pub cpus: CpuSet,
    pub quiet: bool,
    /// Print each sample at once.
    pub watch: bool,
    /// Accepted, without effect.
    pub debug: bool,
}

/// Why the program ends without measuring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HwlatdetectEarlyExit {
    Help,
    /// An invalid option or value.
    Invalid(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HwlatdetectOption {
    Duration,
    Threshold,
    HardLimit,
    Window,
    Width,
    Report,
    CpuList,
    Debug,
    Quiet,
    Watch,
    Help,
}

const fn option(
    long: &'static str,
    argument: Argument,
    id: HwlatdetectOption,
) -> OptionSpec<HwlatdetectOption> {
    OptionSpec { short: None, long: Some(long), abbreviates: true, argument, id }
}

const OPTIONS: [OptionSpec<HwlatdetectOption>; 11] = [
    option("duration", Argument::Required, HwlatdetectOption::Duration),
    option("threshold", Argument::Required, HwlatdetectOption::Threshold),
    option("hardlimit", Argument::Required, HwlatdetectOption::HardLimit),
    option("window", Argument::Required, HwlatdetectOption::Window),
    option("width", Argument::Required, HwlatdetectOption::Width),
    option("report", Argument::Required, HwlatdetectOption::Report),
    option("cpu-list", Argument::Required, HwlatdetectOption::CpuList),
    option("debug", Argument::None, HwlatdetectOption::Debug),
    option("quiet", Argument::None, HwlatdetectOption::Quiet),
    option("watch", Argument::None, HwlatdetectOption::Watch),
    OptionSpec {
        short: Some('h'),
        long: Some("help"),
        abbreviates: true,
        argument: Argument::None,
        id: HwlatdetectOption::Help,
    },
];

/// The original's default duration; threshold, window and width are the defaults of the kernel's tracer.
const DEFAULT_SECONDS: u64 = 120;
const DEFAULT_THRESHOLD_US: u64 = 10;
const DEFAULT_WINDOW_US: u64 = 1_000_000;
const DEFAULT_WIDTH_US: u64 = 500_000;

/// Parses a command line without the program name. `bindable`: CPUs to which threads can be bound.
///
/// # Errors
///
/// For `--help`, invalid options and invalid values.
pub fn parse(arguments: &[String], bindable: &CpuSet) -> Result<HwlatdetectOptions, HwlatdetectEarlyExit> {
    let given =
        getopt(arguments, &OPTIONS).map_err(|error| HwlatdetectEarlyExit::Invalid(error.to_string()))?;
    let mut options = HwlatdetectOptions {
        seconds: DEFAULT_SECONDS,
        threshold_us: DEFAULT_THRESHOLD_US,
        hardlimit_us: 0,
        window_us: DEFAULT_WINDOW_US,
        width_us: DEFAULT_WIDTH_US,
        report: None,
        cpu_list: None,
        cpus: bindable.clone(),
        quiet: false,
        watch: false,
        debug: false,
    };
    let mut hardlimit = None;
    for option in &given {
        apply(&mut options, &mut hardlimit, option, bindable)?;
    }
    options.hardlimit_us = hardlimit.unwrap_or(options.threshold_us);
    Ok(options)
}

fn apply(
    options: &mut HwlatdetectOptions,
    hardlimit: &mut Option<u64>,
    given: &GivenOption<HwlatdetectOption>,
    bindable: &CpuSet,
) -> Result<(), HwlatdetectEarlyExit> {
    let value = given.value.as_deref().unwrap_or_default();
    let invalid = || {
        let name = &given.name;
        HwlatdetectEarlyExit::Invalid(format!(
            "{name}: `{value}` is no length of time; write `30s`, or `20us`"
        ))
    };
    let positive = |length: Option<u64>| length.filter(|length| *length > 0).ok_or_else(invalid);
    match given.id {
        HwlatdetectOption::Duration => options.seconds = positive(seconds(value))?,
        HwlatdetectOption::Threshold => options.threshold_us = positive(micros(value))?,
        HwlatdetectOption::HardLimit => *hardlimit = Some(micros(value).ok_or_else(invalid)?),
        // The width has to fit into the window, in either order of the two options.
        HwlatdetectOption::Window => {
            options.window_us = positive(micros(value))?;
            if options.window_us < options.width_us {
                options.width_us = (options.window_us / 2).max(1);
            }
        }
        HwlatdetectOption::Width => {
            options.width_us = positive(micros(value))?;
            if options.width_us > options.window_us {
                options.window_us = options.width_us.saturating_mul(2);
            }
        }
        HwlatdetectOption::Report => options.report = Some(PathBuf::from(value)),
        HwlatdetectOption::CpuList => {
            options.cpus = parse_cpus(value, bindable)?;
            options.cpu_list = Some(value.to_owned());
        }
        HwlatdetectOption::Debug => options.debug = true,
        HwlatdetectOption::Quiet => options.quiet = true,
        HwlatdetectOption::Watch => options.watch = true,
        HwlatdetectOption::Help => return Err(HwlatdetectEarlyExit::Help),
    }
    Ok(())
}

fn parse_cpus(value: &str, bindable: &CpuSet) -> Result<CpuSet, HwlatdetectEarlyExit> {
    let cpus = value.parse::<CpuSet>().ok();
    let cpus = cpus.filter(|cpus| !cpus.is_empty() && cpus.first_outside(bindable).is_none());
    let message = || format!("--cpu-list: threads can be bound to CPUs {bindable}, not to `{value}`");
    cpus.ok_or_else(|| HwlatdetectEarlyExit::Invalid(message()))
}

/// Seconds: `30`, `15s`, `2m`, `1h`, `1d`, `1w`.
fn seconds(text: &str) -> Option<u64> {
    with_unit(text, &[("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400), ("w", 604_800), ("", 1)])
}

/// Microseconds: `20`, `20us`, `1ms`, `1s`.
fn micros(text: &str) -> Option<u64> {
    with_unit(text, &[("us", 1), ("ms", 1_000), ("s", 1_000_000), ("", 1)])
}

/// A whole number with one of `units` as its suffix, multiplied by the unit's factor.
fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let with_suffix = |(unit, factor): &(&str, u64)| {
        let number = text.strip_suffix(unit)?;
        let is_whole = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
        is_whole.then(|| number.parse::<u64>().ok()?.checked_mul(*factor)).flatten()
    };
    units.iter().find_map(with_suffix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<HwlatdetectOptions, HwlatdetectEarlyExit> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&arguments, &"0-3".parse().unwrap())
    }

    #[test]
    fn openshift_command_lines_are_parsed() {
        let line = "--threshold 20 --hardlimit 20 --duration 15s --window 10000000us --width 950000us";
        let options = parse_line(line).unwrap();
        assert_eq!((options.threshold_us, options.hardlimit_us, options.seconds), (20, 20, 15));
        assert_eq!((options.window_us, options.width_us), (10_000_000, 950_000));
    }

    #[test]
    fn hardlimit_defaults_to_the_threshold_and_the_window_exceeds_the_width() {
        let options = parse_line("--thresh=1ms").unwrap();
        assert_eq!((options.hardlimit_us, options.seconds, options.cpus.len()), (1_000, 120, 4));
        assert_eq!(parse_line("--window 100ms").unwrap().width_us, 50_000);
        assert_eq!(parse_line("--width 2s").unwrap().window_us, 4_000_000);
    }

    #[test]
    fn invalid_values_are_refused() {
        for line in ["--duration 5m4s", "--cpu-list 7", "--threshold 0", "--w 3", "--nothing"] {
            assert!(matches!(parse_line(line), Err(HwlatdetectEarlyExit::Invalid(_))), "{line}");
        }
        assert_eq!(parse_line("-h"), Err(HwlatdetectEarlyExit::Help));
    }

    #[test]
    fn durations_have_at_most_one_unit() {
        assert_eq!(["30", "15s", "2m", "1w"].map(seconds), [Some(30), Some(15), Some(120), Some(604_800)]);
        assert_eq!(
            ["20", "20us", "2ms", "1s"].map(micros),
            [Some(20), Some(20), Some(2_000), Some(1_000_000)]
        );
        assert_eq!(["5m4s", "", "-3", "1.5s", "s", "99999999999999999w"].map(seconds), [None; 6]);
        assert_eq!(micros("3m"), None);
    }
}
