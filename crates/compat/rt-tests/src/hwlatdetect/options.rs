//! Options of hwlatdetect, as Python's `argparse` reads them: long names, unambiguous beginnings of them, `--name=value`.

use std::path::PathBuf;

use crate::getopt::{GivenOption, OptionSpec, Takes, getopt};
use howlate_model::CpuSet;

use super::length::{micros, seconds};

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// For how long, in seconds.
    pub seconds: u64,
    /// Gaps of so many microseconds and more are samples.
    pub threshold_us: u64,
    /// A sample above ends it with status 1.
    pub hardlimit_us: u64,
    /// A time window, in microseconds.
    pub window_us: u64,
    /// The part of it that is measured.
    pub width_us: u64,
    /// Where samples are written.
    pub report: Option<PathBuf>,
    /// CPUs, as typed.
    pub cpu_list: Option<String>,
    /// CPUs, one for each window, in turn.
    pub cpus: CpuSet,
    /// Print nothing but samples.
    pub quiet: bool,
    /// Print samples as they come.
    pub watch: bool,
    /// Say what is done.
    pub debug: bool,
}

/// Why nothing is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The usage was asked for.
    Help,
    /// What could not be read.
    Unreadable(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
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

const fn option(long: &'static str, takes: Takes, id: Id) -> OptionSpec<Id> {
    OptionSpec { short: None, long: Some(long), abbreviates: true, takes, id }
}

const KNOWN: [OptionSpec<Id>; 11] = [
    option("duration", Takes::Value, Id::Duration),
    option("threshold", Takes::Value, Id::Threshold),
    option("hardlimit", Takes::Value, Id::HardLimit),
    option("window", Takes::Value, Id::Window),
    option("width", Takes::Value, Id::Width),
    option("report", Takes::Value, Id::Report),
    option("cpu-list", Takes::Value, Id::CpuList),
    option("debug", Takes::Nothing, Id::Debug),
    option("quiet", Takes::Nothing, Id::Quiet),
    option("watch", Takes::Nothing, Id::Watch),
    OptionSpec {
        short: Some('h'),
        long: Some("help"),
        abbreviates: true,
        takes: Takes::Nothing,
        id: Id::Help,
    },
];

/// Two minutes; the kernel's own threshold, window and width.
const SECONDS: u64 = 120;
const THRESHOLD: u64 = 10;
const WINDOW: u64 = 1_000_000;
const WIDTH: u64 = 500_000;

/// Reads what was typed behind the program's name, where threads can be bound to the CPUs `bindable`.
///
/// # Errors
///
/// For help, and for what cannot be.
pub fn read(words: &[String], bindable: &CpuSet) -> Result<Options, Refusal> {
    let given = getopt(words, &KNOWN).map_err(|error| Refusal::Unreadable(error.to_string()))?;
    let mut options = Options {
        seconds: SECONDS,
        threshold_us: THRESHOLD,
        hardlimit_us: 0,
        window_us: WINDOW,
        width_us: WIDTH,
        report: None,
        cpu_list: None,
        cpus: bindable.clone(),
        quiet: false,
        watch: false,
        debug: false,
    };
    let mut hardlimit = None;
    for one in &given {
        take(&mut options, &mut hardlimit, one, bindable)?;
    }
    options.hardlimit_us = hardlimit.unwrap_or(options.threshold_us);
    Ok(options)
}

fn take(
    options: &mut Options,
    hardlimit: &mut Option<u64>,
    given: &GivenOption<Id>,
    bindable: &CpuSet,
) -> Result<(), Refusal> {
    let value = given.value.as_deref().unwrap_or_default();
    let unreadable = || {
        let typed = &given.typed;
        Refusal::Unreadable(format!("{typed}: `{value}` is no length of time; write `30s`, or `20us`"))
    };
    let positive = |length: Option<u64>| length.filter(|length| *length > 0).ok_or_else(unreadable);
    match given.id {
        Id::Duration => options.seconds = positive(seconds(value))?,
        Id::Threshold => options.threshold_us = positive(micros(value))?,
        Id::HardLimit => *hardlimit = Some(micros(value).ok_or_else(unreadable)?),
        // The window is to hold the width, whichever comes last.
        Id::Window => {
            options.window_us = positive(micros(value))?;
            if options.window_us < options.width_us {
                options.width_us = (options.window_us / 2).max(1);
            }
        }
        Id::Width => {
            options.width_us = positive(micros(value))?;
            if options.width_us > options.window_us {
                options.window_us = options.width_us.saturating_mul(2);
            }
        }
        Id::Report => options.report = Some(PathBuf::from(value)),
        Id::CpuList => {
            options.cpus = cpus(value, bindable)?;
            options.cpu_list = Some(value.to_owned());
        }
        Id::Debug => options.debug = true,
        Id::Quiet => options.quiet = true,
        Id::Watch => options.watch = true,
        Id::Help => return Err(Refusal::Help),
    }
    Ok(())
}

fn cpus(value: &str, bindable: &CpuSet) -> Result<CpuSet, Refusal> {
    let named = value.parse::<CpuSet>().ok();
    let named = named.filter(|cpus| !cpus.is_empty() && cpus.first_outside(bindable).is_none());
    let refused = || format!("--cpu-list: threads can be bound to CPUs {bindable}, not to `{value}`");
    named.ok_or_else(|| Refusal::Unreadable(refused()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_line(line: &str) -> Result<Options, Refusal> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        read(&words, &"0-3".parse().unwrap())
    }

    #[test]
    fn what_a_pod_of_openshifts_asks_for_is_understood() {
        let line = "--threshold 20 --hardlimit 20 --duration 15s --window 10000000us --width 950000us";
        let options = read_line(line).unwrap();
        assert_eq!((options.threshold_us, options.hardlimit_us, options.seconds), (20, 20, 15));
        assert_eq!((options.window_us, options.width_us), (10_000_000, 950_000));
    }

    #[test]
    fn the_limit_is_the_threshold_and_the_window_holds_the_width() {
        let options = read_line("--thresh=1ms").unwrap();
        assert_eq!((options.hardlimit_us, options.seconds, options.cpus.len()), (1_000, 120, 4));
        assert_eq!(read_line("--window 100ms").unwrap().width_us, 50_000);
        assert_eq!(read_line("--width 2s").unwrap().window_us, 4_000_000);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for line in ["--duration 5m4s", "--cpu-list 7", "--threshold 0", "--w 3", "--nothing"] {
            assert!(matches!(read_line(line), Err(Refusal::Unreadable(_))), "{line}");
        }
        assert_eq!(read_line("-h"), Err(Refusal::Help));
    }
}
