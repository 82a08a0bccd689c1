//! The table of all options: names, argument, help text.

use crate::compat::Compat;
use crate::cyclictest::affinity::looks_like_cpus;
use crate::getopt::{Argument, OptionSpec};
use crate::number::{leading_number, starts_with_number};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CyclictestOption {
    Affinity,
    Aligned,
    Breaktrace,
    Clock,
    Compat,
    Debug,
    DeepestIdleState,
    DefaultSystem,
    Distance,
    Duration,
    Fifo,
    Help,
    Histfile,
    Histofall,
    Histogram,
    HowlateOut,
    Interval,
    Json,
    Laptop,
    Latency,
    Loops,
    MainAffinity,
    Mlockall,
    Nsecs,
    Oscope,
    Policy,
    PosixTimers,
    Priority,
    Priospread,
    Quiet,
    RefreshOnMax,
    Relative,
    Resolution,
    Secaligned,
    Smi,
    Smp,
    Spike,
    SpikeNodes,
    System,
    Threads,
    Tracemark,
    Unbuffered,
    Verbose,
    /// Has no effect any more.
    Retired,
    /// Old name of `--policy`.
    RetiredPolicy,
    /// Old name of `--latency`.
    RetiredLatency,
}

/// Row of the table.
pub(crate) struct OptionEntry {
    pub(crate) short: Option<char>,
    pub(crate) long: &'static str,
    /// Name of the value in `--help`; empty for an option without a value.
    pub(crate) value: &'static str,
    pub(crate) argument: Argument,
    pub(crate) id: CyclictestOption,
    pub(crate) help: &'static str,
}

const fn flag(
    short: Option<char>,
    long: &'static str,
    id: CyclictestOption,
    help: &'static str,
) -> OptionEntry {
    OptionEntry { short, long, value: "", argument: Argument::None, id, help }
}

const fn valued(
    short: Option<char>,
    long: &'static str,
    value: &'static str,
    id: CyclictestOption,
    help: &'static str,
) -> OptionEntry {
    OptionEntry { short, long, value, argument: Argument::Required, id, help }
}

const fn optional(
    short: Option<char>,
    long: &'static str,
    value: &'static str,
    fits: fn(&str) -> bool,
    id: CyclictestOption,
    help: &'static str,
) -> OptionEntry {
    OptionEntry { short, long, value, argument: Argument::Optional(fits), id, help }
}

/// Whether the argument after `-t`, `-A` or `--secaligned` is its value: a number other than 0.
fn looks_like_count(argument: &str) -> bool {
    !argument.starts_with('-') && starts_with_number(argument) && leading_number(argument) != 0
}

#[rustfmt::skip]
pub(crate) const ENTRIES: &[OptionEntry] = &[
    optional(Some('a'), "affinity", "CPUSET", looks_like_cpus, CyclictestOption::Affinity, "bind thread N to the Nth CPU of CPUSET, round-robin; without CPUSET, of all CPUs that may be used. Sets are written 0-3,8, all, !0 (all but) or +0-1 (counted among the usable ones)"),
    optional(Some('A'), "aligned", "USEC", looks_like_count, CyclictestOption::Aligned, "start all threads at one moment, each USEC after the one before"),
    valued(Some('b'), "breaktrace", "USEC", CyclictestOption::Breaktrace, "stop everything when a latency exceeds USEC"),
    valued(Some('c'), "clock", "CLOCK", CyclictestOption::Clock, "0: CLOCK_MONOTONIC (default), 1: CLOCK_REALTIME, 16 to 23: CLOCK_AUX; or a name: monotonic, realtime, tai, boottime, aux0"),
    flag(None, "default-system", CyclictestOption::DefaultSystem, "leave power management as it is"),
    valued(None, "deepest-idle-state", "N", CyclictestOption::DeepestIdleState, "disable the idle states deeper than state N on the measured CPUs; -1 disables all. cpu_dma_latency is then not set"),
    valued(Some('d'), "distance", "DIST", CyclictestOption::Distance, "added to the interval of each further thread, in us; default 500, with a histogram 0"),
    valued(Some('D'), "duration", "TIME", CyclictestOption::Duration, "how long to measure, in seconds; m, h or d may follow the number"),
    valued(Some('F'), "fifo", "PATH", CyclictestOption::Fifo, "make a named pipe at PATH that gives each reader the current statistics"),
    valued(Some('h'), "histogram", "US", CyclictestOption::Histogram, "print a histogram at the end, with one bucket per us (with -N: per ns) below US"),
    valued(Some('H'), "histofall", "US", CyclictestOption::Histofall, "the same with a column for the sum of all threads"),
    valued(None, "histfile", "PATH", CyclictestOption::Histfile, "write the histogram to PATH instead of standard output"),
    valued(Some('i'), "interval", "INTV", CyclictestOption::Interval, "time from one planned wake-up to the next, in us; default 1000"),
    valued(None, "json", "FILENAME", CyclictestOption::Json, "write the results to FILENAME as JSON; - is standard output"),
    flag(None, "laptop", CyclictestOption::Laptop, "do not hold cpu_dma_latency: saves battery, wakes later"),
    valued(None, "latency", "PM_QOS", CyclictestOption::Latency, "what to hold in /dev/cpu_dma_latency, in us; default 0"),
    valued(Some('l'), "loops", "LOOPS", CyclictestOption::Loops, "wake-ups per thread; the first thread to get there ends the run. Default 0: endless"),
    valued(None, "mainaffinity", "CPUSET", CyclictestOption::MainAffinity, "where the main thread may run; the measuring threads are not affected"),
    flag(Some('m'), "mlockall", CyclictestOption::Mlockall, "end at once if memory cannot be locked"),
    flag(Some('M'), "refresh_on_max", CyclictestOption::RefreshOnMax, "update the screen only when there is a new maximum"),
    flag(Some('N'), "nsecs", CyclictestOption::Nsecs, "print ns instead of us"),
    valued(Some('o'), "oscope", "RED", CyclictestOption::Oscope, "with -v: print only the largest of every RED values"),
    valued(Some('p'), "priority", "PRIO", CyclictestOption::Priority, "real-time priority of all threads, 1 to 99; the policy is fifo unless --policy says rr"),
    valued(None, "policy", "NAME", CyclictestOption::Policy, "policy of the measuring threads: other, normal, batch, idle, fifo or rr"),
    flag(None, "priospread", CyclictestOption::Priospread, "give each further thread the next lower priority"),
    flag(Some('q'), "quiet", CyclictestOption::Quiet, "print only a summary at the end"),
    flag(Some('r'), "relative", CyclictestOption::Relative, "sleep for the interval instead of until a time"),
    flag(Some('R'), "resolution", CyclictestOption::Resolution, "compare the clock's real precision with what it reports"),
    optional(None, "secaligned", "USEC", looks_like_count, CyclictestOption::Secaligned, "start all threads on the next full second, plus USEC"),
    flag(Some('s'), "system", CyclictestOption::System, "wait with nanosleep(2)"),
    flag(Some('S'), "smp", CyclictestOption::Smp, "one thread on every CPU, all of the same priority: -a -t"),
    valued(None, "spike", "TRIGGER", CyclictestOption::Spike, "list the latencies above TRIGGER, in us (with -N: ns)"),
    valued(None, "spike-nodes", "NUM", CyclictestOption::SpikeNodes, "how many of them at most; default 1024"),
    flag(None, "smi", CyclictestOption::Smi, "count system management interrupts"),
    optional(Some('t'), "threads", "NUM", looks_like_count, CyclictestOption::Threads, "number of threads; without NUM, one for each CPU. Default 1"),
    flag(None, "tracemark", CyclictestOption::Tracemark, "with -b: mark the end in the kernel's trace, and stop tracing"),
    flag(Some('u'), "unbuffered", CyclictestOption::Unbuffered, "has no effect: output is never held back"),
    flag(Some('v'), "verbose", CyclictestOption::Verbose, "print every value, as thread:cycle:value"),
    flag(None, "dbg_cyclictest", CyclictestOption::Debug, "has no effect"),
    flag(Some('x'), "posix_timers", CyclictestOption::PosixTimers, "wait for POSIX timers instead of clock_nanosleep(2)"),
    flag(Some('?'), "help", CyclictestOption::Help, "print this text"),
];

/// Options of howlate only. They cannot be abbreviated, so that abbreviations of the original's options stay unambiguous.
#[rustfmt::skip]
pub(crate) const HOWLATE_ENTRIES: &[OptionEntry] = &[
    valued(None, "compat", "VERSION", CyclictestOption::Compat, "write the output of cyclictest 2.4, 2.6, 2.10 or 2.11; default 2.6, or what HOWLATE_COMPAT or the name of a link (cyclictest-2.4) says"),
    valued(None, "howlate-out", "FILE", CyclictestOption::HowlateOut, "save a recording for `howlate show` too"),
];

/// Options that rt-tests dropped in 1.0 to 1.4 and earlier, but scripts still use.
#[rustfmt::skip]
const RETIRED: &[(Option<char>, Option<&str>, Argument, CyclictestOption)] = &[
    (Some('n'), Some("nanosleep"), Argument::None, CyclictestOption::Retired),
    (Some('U'), Some("numa"), Argument::None, CyclictestOption::Retired),
    (Some('w'), Some("wakeup"), Argument::None, CyclictestOption::Retired),
    (Some('W'), Some("wakeuprt"), Argument::None, CyclictestOption::Retired),
    (Some('f'), Some("ftrace"), Argument::None, CyclictestOption::Retired),
    (Some('P'), Some("preemptoff"), Argument::None, CyclictestOption::Retired),
    (Some('C'), Some("context"), Argument::None, CyclictestOption::Retired),
    (Some('E'), Some("event"), Argument::None, CyclictestOption::Retired),
    (Some('I'), Some("irqsoff"), Argument::None, CyclictestOption::Retired),
    (Some('B'), Some("preemptirqs"), Argument::None, CyclictestOption::Retired),
    (Some('X'), Some("notrace"), Argument::None, CyclictestOption::Retired),
    (Some('T'), Some("tracer"), Argument::Required, CyclictestOption::Retired),
    (Some('O'), Some("traceopt"), Argument::Required, CyclictestOption::Retired),
    (Some('y'), None, Argument::Required, CyclictestOption::RetiredPolicy),
    (Some('e'), None, Argument::Required, CyclictestOption::RetiredLatency),
];

/// All options of this version for `getopt`.
pub(crate) fn option_specs(compat: Compat) -> Vec<OptionSpec<CyclictestOption>> {
    let spec = |entry: &OptionEntry, abbreviates| OptionSpec {
        short: entry.short,
        long: Some(entry.long),
        abbreviates,
        argument: entry.argument,
        id: entry.id,
    };
    let retired = RETIRED.iter().map(|&(short, long, argument, id)| OptionSpec {
        short,
        long,
        abbreviates: false,
        argument,
        id,
    });
    let current = entries(compat).map(|entry| spec(entry, true));
    current.chain(HOWLATE_ENTRIES.iter().map(|entry| spec(entry, false))).chain(retired).collect()
}

/// The original's options in this version.
pub(crate) fn entries(compat: Compat) -> impl Iterator<Item = &'static OptionEntry> {
    // 2.6 does not have `--deepest-idle-state`, but is the default version, so it is accepted.
    ENTRIES
        .iter()
        .filter(move |entry| compat >= Compat::V2_6 || entry.id != CyclictestOption::DeepestIdleState)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let specs = option_specs(Compat::V2_10);
        let mut shorts: Vec<_> = specs.iter().filter_map(|spec| spec.short).collect();
        let mut longs: Vec<_> = specs.iter().filter_map(|spec| spec.long).collect();
        shorts.sort_unstable();
        longs.sort_unstable();
        assert!(shorts.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(longs.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
