//! Options of cyclicdeadline.

use std::path::PathBuf;

use crate::getopt::{Argument, GivenOption, OptionSpec, getopt};
use crate::number::{leading_number, seconds};
use howlate_model::CpuSet;

use crate::compat::Compat;

/// A parsed command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CyclicdeadlineOptions {
    /// Version of rt-tests whose output is written.
    pub compat: Compat,
    /// One per measuring thread.
    pub threads: Vec<DeadlineParameters>,
    /// CPUs of `-a`, all of them for `-a` without a value; `None`: those of the calling process.
    pub cpus: Option<CpuSet>,
    /// Print that all CPUs are used.
    pub reports_all_cpus: bool,
    /// Duration of the run; `None`: until a signal.
    pub seconds: Option<u64>,
    /// `--breaktrace`: a latency above this ends the run.
    pub break_above_us: Option<u64>,
    /// Mark and stop the kernel's trace when a latency exceeds `break_above_us`.
    pub tracemark: bool,
    /// File for the results as JSON.
    pub json: Option<PathBuf>,
    /// Print the summary only.
    pub quiet: bool,
    /// Print runtimes and periods.
    pub verbose: bool,
    pub debug: bool,
}

/// `SCHED_DEADLINE` parameters of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlineParameters {
    /// CPU time in each period.
    pub runtime_us: u64,
    pub period_us: u64,
}

/// Why the program ends without measuring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CyclicdeadlineEarlyExit {
    Help,
    /// A message of `getopt_long`.
    GetoptError(String),
    /// An invalid value, with the valid ones.
    Invalid(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CyclicdeadlineOption {
    Affinity,
    Break,
    Debug,
    Duration,
    Help,
    Interval,
    Json,
    Quiet,
    Step,
    Threads,
    Tracemark,
    Verbose,
}

const fn option(
    short: char,
    long: &'static str,
    argument: Argument,
    id: CyclicdeadlineOption,
) -> OptionSpec<CyclicdeadlineOption> {
    OptionSpec { short: Some(short), ..long_option(long, argument, id) }
}

const fn long_option(
    long: &'static str,
    argument: Argument,
    id: CyclicdeadlineOption,
) -> OptionSpec<CyclicdeadlineOption> {
    OptionSpec { short: None, long: Some(long), abbreviates: true, argument, id }
}

/// `-c` is an undocumented synonym of `-a` with a value.
const OPTIONS: [OptionSpec<CyclicdeadlineOption>; 13] = [
    option('a', "affinity", Argument::Optional(is_not_an_option), CyclicdeadlineOption::Affinity),
    OptionSpec {
        short: Some('c'),
        long: None,
        abbreviates: false,
        argument: Argument::Required,
        id: CyclicdeadlineOption::Affinity,
    },
    option('b', "breaktrace", Argument::Required, CyclicdeadlineOption::Break),
    option('D', "duration", Argument::Required, CyclicdeadlineOption::Duration),
    option('h', "help", Argument::None, CyclicdeadlineOption::Help),
    option('i', "interval", Argument::Required, CyclicdeadlineOption::Interval),
    long_option("json", Argument::Required, CyclicdeadlineOption::Json),
    option('q', "quiet", Argument::None, CyclicdeadlineOption::Quiet),
    option('s', "step", Argument::Required, CyclicdeadlineOption::Step),
    option('t', "threads", Argument::Required, CyclicdeadlineOption::Threads),
    long_option("tracemark", Argument::None, CyclicdeadlineOption::Tracemark),
    long_option("debug", Argument::None, CyclicdeadlineOption::Debug),
    long_option("verbose", Argument::None, CyclicdeadlineOption::Verbose),
];

/// The original takes the next argument as CPUs even if it is an option, and then refuses it.
fn is_not_an_option(argument: &str) -> bool {
    !argument.starts_with('-')
}

/// Defaults of the original.
const DEFAULT_INTERVAL_US: i64 = 1_000;
const DEFAULT_STEP_US: i64 = 500;
/// howlate's limit on measuring threads.
const MAX_THREADS: i64 = 1_000;
/// Default runtime in percent of the period.
const RUNTIME_PERCENT: u64 = 60;
/// Total runtime in percent of all CPUs, with more threads than CPUs: the kernel admits 95 at most.
const TOTAL_RUNTIME_PERCENT: u64 = 80;

/// Parses a command line without the program name. `bindable`: CPUs to which threads can be bound.
///
/// # Errors
///
/// For `--help`, invalid options and invalid values.
pub fn parse(
    arguments: &[String],
    bindable: &CpuSet,
    compat: Compat,
) -> Result<CyclicdeadlineOptions, CyclicdeadlineEarlyExit> {
    let is_newer_than_2_4 =
        |id: CyclicdeadlineOption| matches!(id, CyclicdeadlineOption::Debug | CyclicdeadlineOption::Verbose);
    let specs: Vec<_> =
        OPTIONS.into_iter().filter(|spec| compat.is_silent() || !is_newer_than_2_4(spec.id)).collect();
    let given =
        getopt(arguments, &specs).map_err(|error| CyclicdeadlineEarlyExit::GetoptError(error.to_string()))?;
    let mut raw = RawCyclicdeadlineOptions::new(compat);
    for option in &given {
        raw.apply(option, bindable)?;
    }
    raw.check(bindable)
}

/// Options as given so far; [`check`](Self::check) completes them.
struct RawCyclicdeadlineOptions {
    options: CyclicdeadlineOptions,
    interval_us: i64,
    step_us: i64,
    threads: i64,
}

impl RawCyclicdeadlineOptions {
    fn new(compat: Compat) -> Self {
        let options = CyclicdeadlineOptions {
            compat,
            threads: Vec::new(),
            cpus: None,
            reports_all_cpus: true,
            seconds: None,
            break_above_us: None,
            tracemark: false,
            json: None,
            quiet: false,
            verbose: false,
            debug: false,
        };
        Self { options, interval_us: DEFAULT_INTERVAL_US, step_us: DEFAULT_STEP_US, threads: 0 }
    }

    fn apply(
        &mut self,
        given: &GivenOption<CyclicdeadlineOption>,
        bindable: &CpuSet,
    ) -> Result<(), CyclicdeadlineEarlyExit> {
        let (options, value) = (&mut self.options, given.value.as_deref());
        let text = value.unwrap_or_default();
        let number = leading_number(text);
        let positive = |number: i64| u64::try_from(number).ok().filter(|number| *number > 0);
        match given.id {
            CyclicdeadlineOption::Affinity => {
                // One thread per CPU, unless `-t` is given before or after `-a`.
                self.threads = if self.threads == 0 { cpu_count(bindable) } else { self.threads };
                options.cpus =
                    Some(value.map_or_else(|| Ok(bindable.clone()), |list| parse_cpus(list, bindable))?);
                options.reports_all_cpus = value.is_some();
            }
            CyclicdeadlineOption::Break => options.break_above_us = positive(number),
            CyclicdeadlineOption::Debug => options.debug = true,
            CyclicdeadlineOption::Duration => options.seconds = positive(seconds(text)),
            CyclicdeadlineOption::Help => return Err(CyclicdeadlineEarlyExit::Help),
            CyclicdeadlineOption::Interval => self.interval_us = number,
            CyclicdeadlineOption::Json => options.json = Some(PathBuf::from(text)),
            CyclicdeadlineOption::Quiet => options.quiet = true,
            CyclicdeadlineOption::Step => self.step_us = number,
            CyclicdeadlineOption::Threads => self.threads = number,
            CyclicdeadlineOption::Tracemark => options.tracemark = true,
            CyclicdeadlineOption::Verbose => options.verbose = true,
        }
        Ok(())
    }

    fn check(mut self, bindable: &CpuSet) -> Result<CyclicdeadlineOptions, CyclicdeadlineEarlyExit> {
        let threads = if self.threads == 0 { 1 } else { self.threads };
        if !(1..=MAX_THREADS).contains(&threads) {
            return Err(invalid(format!("-t {threads} is out of range; write 1 to {MAX_THREADS}")));
        }
        let cpus = self.options.cpus.as_ref().unwrap_or(bindable);
        self.options.reports_all_cpus &= cpus == bindable;
        let percent = runtime_percent(threads.unsigned_abs(), cpus.len() as u64);
        let threads = (0..threads).map(|number| self.thread(number, percent));
        self.options.threads = threads.collect::<Result<_, _>>()?;
        Ok(self.options)
    }

    fn thread(&self, number: i64, percent: u64) -> Result<DeadlineParameters, CyclicdeadlineEarlyExit> {
        let period = self.step_us.saturating_mul(number).saturating_add(self.interval_us);
        let period_us = u64::try_from(period).ok().filter(|period| *period > 0);
        let error = || {
            let example = "`-i 1000 -s 500`";
            invalid(format!(
                "thread {number} would have a period of {period} us; write periods above 0, such as {example}"
            ))
        };
        let period_us = period_us.ok_or_else(error)?;
        Ok(DeadlineParameters { runtime_us: period_us.saturating_mul(percent) / 100, period_us })
    }
}

/// Runtime in percent of the period.
fn runtime_percent(threads: u64, cpus: u64) -> u64 {
    if threads > cpus { cpus * TOTAL_RUNTIME_PERCENT / threads } else { RUNTIME_PERCENT }
}

fn cpu_count(cpus: &CpuSet) -> i64 {
    i64::try_from(cpus.len()).unwrap_or(i64::MAX)
}

fn parse_cpus(list: &str, bindable: &CpuSet) -> Result<CpuSet, CyclicdeadlineEarlyExit> {
    let cpus = list.parse::<CpuSet>().ok();
    let cpus = cpus.filter(|cpus| !cpus.is_empty() && cpus.first_outside(bindable).is_none());
    let error = || {
        invalid(format!(
            "Invalid cpu input '{list}'\nhint: threads can be bound to CPUs {bindable}: `-a {bindable}`"
        ))
    };
    cpus.ok_or_else(error)
}

const fn invalid(text: String) -> CyclicdeadlineEarlyExit {
    CyclicdeadlineEarlyExit::Invalid(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_as(line: &str, compat: Compat) -> Result<CyclicdeadlineOptions, CyclicdeadlineEarlyExit> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&arguments, &"0-3".parse().unwrap(), compat)
    }

    fn parse_2_4(line: &str) -> CyclicdeadlineOptions {
        parse_as(line, Compat::V2_4).unwrap()
    }

    fn threads(line: &str) -> Vec<(u64, u64)> {
        parse_2_4(line).threads.iter().map(|thread| (thread.runtime_us, thread.period_us)).collect()
    }

    #[test]
    fn defaults_are_those_of_the_original() {
        let options = parse_2_4("");
        assert_eq!(threads(""), [(600, 1_000)]);
        assert_eq!((options.cpus, options.reports_all_cpus, options.seconds), (None, true, None));
    }

    #[test]
    fn periods_grow_and_runtimes_shrink_with_the_number_of_threads() {
        assert_eq!(threads("-t2 -i 10000"), [(6_000, 10_000), (6_300, 10_500)]);
        // 4 CPUs give 80 % to 6 threads: 53 % each.
        assert_eq!(threads("-t 6 -s 0")[5], (530, 1_000));
        assert_eq!(threads("-t 2 -i 1000 -s -100"), [(600, 1_000), (540, 900)]);
        assert_eq!(threads("-a 1 -t 2 -s 0"), [(400, 1_000), (400, 1_000)]);
    }

    #[test]
    fn cpus_are_the_value_of_the_option_or_all() {
        let cpus = |line: &str| parse_2_4(line).cpus.unwrap().to_string();
        assert_eq!(
            (cpus("-a2-3"), cpus("-a 2"), cpus("-c 1"), cpus("--affinity=0,3")),
            ("2-3".into(), "2".into(), "1".into(), "0,3".into())
        );
        assert_eq!(cpus("-a -D 1"), "0-3");
        assert_eq!(
            (
                parse_2_4("-a").threads.len(),
                parse_2_4("-a 1 -t 1").threads.len(),
                parse_2_4("-a 1").threads.len()
            ),
            (4, 1, 4)
        );
        assert_eq!(
            (
                parse_2_4("-a").reports_all_cpus,
                parse_2_4("-a 0-3").reports_all_cpus,
                parse_2_4("-a 1").reports_all_cpus
            ),
            (false, true, false)
        );
    }

    #[test]
    fn command_lines_of_test_farms_are_parsed() {
        let options = parse_2_4("-q -D 5m --step=100 -b 50 --tracemark --json=x");
        assert_eq!((options.seconds, options.break_above_us), (Some(300), Some(50)));
        assert!(options.quiet && options.tracemark && options.json == Some(PathBuf::from("x")));
    }

    #[test]
    fn verbose_and_debug_are_newer_than_2_4() {
        assert!(matches!(parse_as("--verbose", Compat::V2_4), Err(CyclicdeadlineEarlyExit::GetoptError(_))));
        let options = parse_as("--verbose --debug", Compat::V2_6).unwrap();
        assert!(options.verbose && options.debug);
    }

    #[test]
    fn invalid_values_are_refused_with_the_valid_ones() {
        let refused = |line: &str| match parse_as(line, Compat::V2_6) {
            Err(CyclicdeadlineEarlyExit::Invalid(text) | CyclicdeadlineEarlyExit::GetoptError(text)) => text,
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(
            refused("-a 9"),
            "Invalid cpu input '9'\nhint: threads can be bound to CPUs 0-3: `-a 0-3`"
        );
        assert!(refused("-a all").starts_with("Invalid cpu input 'all'"));
        assert!(refused("-i 0").starts_with("thread 0 would have a period of 0 us; write"));
        assert!(refused("-t 3 -s -500").starts_with("thread 2 would have a period of 0 us"));
        assert_eq!(refused("-t -3"), "-t -3 is out of range; write 1 to 1000");
        assert_eq!(refused("--nothing"), "unrecognized option '--nothing'");
        assert_eq!(parse_as("-h", Compat::V2_6), Err(CyclicdeadlineEarlyExit::Help));
    }
}
