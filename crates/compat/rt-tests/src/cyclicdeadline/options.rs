//! Options of cyclicdeadline, as they are typed.

use std::path::PathBuf;

use crate::getopt::{GivenOption, OptionSpec, Takes, getopt};
use crate::number::{leading, seconds};
use howlate_model::CpuSet;

use crate::compat::Compat;

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whose output to write.
    pub dialect: Compat,
    /// One each.
    pub threads: Vec<Thread>,
    /// CPUs that were named, or all with `-a` alone; `None`: those of the calling process.
    pub cpus: Option<CpuSet>,
    /// Whether it is said that all CPUs are used.
    pub says_all: bool,
    /// For how long, in seconds; `None`: until a signal.
    pub seconds: Option<u64>,
    /// A latency of more microseconds ends the run.
    pub break_above_us: Option<u64>,
    /// Whether the kernel's trace is marked and stopped then.
    pub tracemark: bool,
    /// Where JSON goes.
    pub json: Option<PathBuf>,
    /// Print nothing but the summary.
    pub quiet: bool,
    /// Say runtimes and periods.
    pub verbose: bool,
    /// Say the ids of threads.
    pub debug: bool,
}

/// What one thread asks the kernel for, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Time that it may run in each period.
    pub runtime_us: u64,
    /// The period, which is its deadline too.
    pub period_us: u64,
}

/// Why nothing is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The usage was asked for.
    Help,
    /// What could not be read, in the words of `getopt_long`.
    Unreadable(String),
    /// What cannot be, with what can.
    Invalid(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
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

const fn option(short: char, long: &'static str, takes: Takes, id: Id) -> OptionSpec<Id> {
    OptionSpec { short: Some(short), ..long_option(long, takes, id) }
}

const fn long_option(long: &'static str, takes: Takes, id: Id) -> OptionSpec<Id> {
    OptionSpec { short: None, long: Some(long), abbreviates: true, takes, id }
}

/// `-c` is `-a` with a value, and is in no usage.
const KNOWN: [OptionSpec<Id>; 13] = [
    option('a', "affinity", Takes::MaybeValue(is_no_option), Id::Affinity),
    OptionSpec { short: Some('c'), long: None, abbreviates: false, takes: Takes::Value, id: Id::Affinity },
    option('b', "breaktrace", Takes::Value, Id::Break),
    option('D', "duration", Takes::Value, Id::Duration),
    option('h', "help", Takes::Nothing, Id::Help),
    option('i', "interval", Takes::Value, Id::Interval),
    long_option("json", Takes::Value, Id::Json),
    option('q', "quiet", Takes::Nothing, Id::Quiet),
    option('s', "step", Takes::Value, Id::Step),
    option('t', "threads", Takes::Value, Id::Threads),
    long_option("tracemark", Takes::Nothing, Id::Tracemark),
    long_option("debug", Takes::Nothing, Id::Debug),
    long_option("verbose", Takes::Nothing, Id::Verbose),
];

/// The original takes the next word as CPUs even if it is an option, and refuses it.
fn is_no_option(word: &str) -> bool {
    !word.starts_with('-')
}

/// Microseconds, if nothing else is asked for.
const INTERVAL: i64 = 1_000;
const STEP: i64 = 500;
/// As many as howlate starts of its own threads.
const MOST_THREADS: i64 = 1_000;
/// Part of its period that a thread asks for, in percent.
const SHARE: u64 = 60;
/// Part of all CPUs that threads ask for together where there are more than CPUs: the kernel gives 95 at most.
const SHARE_OF_ALL: u64 = 80;

/// Reads what was typed behind the program's name, where threads can be bound to the CPUs `bindable`.
///
/// # Errors
///
/// For help, and for what cannot be.
pub fn read(words: &[String], bindable: &CpuSet, dialect: Compat) -> Result<Options, Refusal> {
    let is_new = |id: Id| matches!(id, Id::Debug | Id::Verbose);
    let known: Vec<_> = KNOWN.into_iter().filter(|one| dialect.is_silent() || !is_new(one.id)).collect();
    let given = getopt(words, &known).map_err(|error| Refusal::Unreadable(error.to_string()))?;
    let mut draft = Draft::new(dialect);
    for one in &given {
        draft.take(one, bindable)?;
    }
    draft.finish(bindable)
}

struct Draft {
    options: Options,
    interval: i64,
    step: i64,
    threads: i64,
}

impl Draft {
    fn new(dialect: Compat) -> Self {
        let options = Options {
            dialect,
            threads: Vec::new(),
            cpus: None,
            says_all: true,
            seconds: None,
            break_above_us: None,
            tracemark: false,
            json: None,
            quiet: false,
            verbose: false,
            debug: false,
        };
        Self { options, interval: INTERVAL, step: STEP, threads: 0 }
    }

    fn take(&mut self, given: &GivenOption<Id>, bindable: &CpuSet) -> Result<(), Refusal> {
        let (options, value) = (&mut self.options, given.value.as_deref());
        let text = value.unwrap_or_default();
        let number = leading(text);
        let positive = |number: i64| u64::try_from(number).ok().filter(|number| *number > 0);
        match given.id {
            Id::Affinity => {
                // As many as there are CPUs, unless `-t` says otherwise, also before it.
                self.threads = if self.threads == 0 { as_number(bindable) } else { self.threads };
                options.cpus = Some(value.map_or_else(|| Ok(bindable.clone()), |list| cpus(list, bindable))?);
                options.says_all = value.is_some();
            }
            Id::Break => options.break_above_us = positive(number),
            Id::Debug => options.debug = true,
            Id::Duration => options.seconds = positive(seconds(text)),
            Id::Help => return Err(Refusal::Help),
            Id::Interval => self.interval = number,
            Id::Json => options.json = Some(PathBuf::from(text)),
            Id::Quiet => options.quiet = true,
            Id::Step => self.step = number,
            Id::Threads => self.threads = number,
            Id::Tracemark => options.tracemark = true,
            Id::Verbose => options.verbose = true,
        }
        Ok(())
    }

    fn finish(mut self, bindable: &CpuSet) -> Result<Options, Refusal> {
        let threads = if self.threads == 0 { 1 } else { self.threads };
        if !(1..=MOST_THREADS).contains(&threads) {
            return Err(invalid(format!("-t {threads} is out of range; write 1 to {MOST_THREADS}")));
        }
        let cpus = self.options.cpus.as_ref().unwrap_or(bindable);
        self.options.says_all &= cpus == bindable;
        let share = share(threads.unsigned_abs(), cpus.len() as u64);
        let threads = (0..threads).map(|place| self.thread(place, share));
        self.options.threads = threads.collect::<Result<_, _>>()?;
        Ok(self.options)
    }

    fn thread(&self, place: i64, share: u64) -> Result<Thread, Refusal> {
        let period = self.step.saturating_mul(place).saturating_add(self.interval);
        let period_us = u64::try_from(period).ok().filter(|period| *period > 0);
        let refused = || {
            let example = "`-i 1000 -s 500`";
            invalid(format!(
                "thread {place} would have a period of {period} us; write periods above 0, such as {example}"
            ))
        };
        let period_us = period_us.ok_or_else(refused)?;
        Ok(Thread { runtime_us: period_us.saturating_mul(share) / 100, period_us })
    }
}

/// What a thread asks for, in percent of its period.
fn share(threads: u64, cpus: u64) -> u64 {
    if threads > cpus { cpus * SHARE_OF_ALL / threads } else { SHARE }
}

fn as_number(cpus: &CpuSet) -> i64 {
    i64::try_from(cpus.len()).unwrap_or(i64::MAX)
}

fn cpus(list: &str, bindable: &CpuSet) -> Result<CpuSet, Refusal> {
    let named = list.parse::<CpuSet>().ok();
    let named = named.filter(|cpus| !cpus.is_empty() && cpus.first_outside(bindable).is_none());
    let refused = || {
        invalid(format!(
            "Invalid cpu input '{list}'\nhint: threads can be bound to CPUs {bindable}: `-a {bindable}`"
        ))
    };
    named.ok_or_else(refused)
}

const fn invalid(text: String) -> Refusal {
    Refusal::Invalid(text)
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

    fn threads(line: &str) -> Vec<(u64, u64)> {
        ok(line).threads.iter().map(|one| (one.runtime_us, one.period_us)).collect()
    }

    #[test]
    fn what_is_not_said_is_as_in_the_original() {
        let options = ok("");
        assert_eq!(threads(""), [(600, 1_000)]);
        assert_eq!((options.cpus, options.says_all, options.seconds), (None, true, None));
    }

    #[test]
    fn periods_grow_and_shares_shrink_with_the_threads() {
        assert_eq!(threads("-t2 -i 10000"), [(6_000, 10_000), (6_300, 10_500)]);
        // 4 CPUs give 80 % to 6 threads: 53 % each.
        assert_eq!(threads("-t 6 -s 0")[5], (530, 1_000));
        assert_eq!(threads("-t 2 -i 1000 -s -100"), [(600, 1_000), (540, 900)]);
        assert_eq!(threads("-a 1 -t 2 -s 0"), [(400, 1_000), (400, 1_000)]);
    }

    #[test]
    fn cpus_are_those_behind_the_option_or_all() {
        let cpus = |line: &str| ok(line).cpus.unwrap().to_string();
        assert_eq!(
            (cpus("-a2-3"), cpus("-a 2"), cpus("-c 1"), cpus("--affinity=0,3")),
            ("2-3".into(), "2".into(), "1".into(), "0,3".into())
        );
        assert_eq!(cpus("-a -D 1"), "0-3");
        assert_eq!(
            (ok("-a").threads.len(), ok("-a 1 -t 1").threads.len(), ok("-a 1").threads.len()),
            (4, 1, 4)
        );
        assert_eq!((ok("-a").says_all, ok("-a 0-3").says_all, ok("-a 1").says_all), (false, true, false));
    }

    #[test]
    fn what_farms_type_is_understood() {
        let options = ok("-q -D 5m --step=100 -b 50 --tracemark --json=x");
        assert_eq!((options.seconds, options.break_above_us), (Some(300), Some(50)));
        assert!(options.quiet && options.tracemark && options.json == Some(PathBuf::from("x")));
    }

    #[test]
    fn two_options_came_after_2_4() {
        assert!(matches!(read_as("--verbose", Compat::V2_4), Err(Refusal::Unreadable(_))));
        let options = read_as("--verbose --debug", Compat::V2_6).unwrap();
        assert!(options.verbose && options.debug);
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        let refused = |line: &str| match read_as(line, Compat::V2_6) {
            Err(Refusal::Invalid(text) | Refusal::Unreadable(text)) => text,
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
        assert_eq!(read_as("-h", Compat::V2_6), Err(Refusal::Help));
    }
}
