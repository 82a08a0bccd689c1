//! Every option: its names, what it takes, since when, and what `--help` says of it.

use crate::compat::Compat;
use crate::cyclictest::affinity::looks_like_cpus;
use crate::getopt::{OptionSpec, Takes};
use crate::number::{is_number, leading};

/// What an option means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opt {
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
    /// No longer does anything.
    Retired,
    /// What `--policy` was called.
    RetiredPolicy,
    /// What `--latency` was called.
    RetiredLatency,
}

/// One line of the table.
pub(crate) struct Entry {
    pub(crate) short: Option<char>,
    pub(crate) long: &'static str,
    /// The name of the value in `--help`; empty: takes none.
    pub(crate) value: &'static str,
    pub(crate) takes: Takes,
    pub(crate) id: Opt,
    pub(crate) help: &'static str,
}

const fn flag(short: Option<char>, long: &'static str, id: Opt, help: &'static str) -> Entry {
    Entry { short, long, value: "", takes: Takes::Nothing, id, help }
}

const fn valued(
    short: Option<char>,
    long: &'static str,
    value: &'static str,
    id: Opt,
    help: &'static str,
) -> Entry {
    Entry { short, long, value, takes: Takes::Value, id, help }
}

const fn optional(
    short: Option<char>,
    long: &'static str,
    value: &'static str,
    fits: fn(&str) -> bool,
    id: Opt,
    help: &'static str,
) -> Entry {
    Entry { short, long, value, takes: Takes::MaybeValue(fits), id, help }
}

/// A number other than 0: the next word is then a value of `-t`, `-A` or `--secaligned`.
fn looks_like_count(word: &str) -> bool {
    !word.starts_with('-') && is_number(word) && leading(word) != 0
}

#[rustfmt::skip]
pub(crate) const ENTRIES: &[Entry] = &[
    optional(Some('a'), "affinity", "CPUSET", looks_like_cpus, Opt::Affinity, "bind thread N to the Nth CPU of CPUSET, round-robin; without CPUSET, of all CPUs that may be used. Sets are written 0-3,8, all, !0 (all but) or +0-1 (counted among the usable ones)"),
    optional(Some('A'), "aligned", "USEC", looks_like_count, Opt::Aligned, "start all threads at one moment, each USEC after the one before"),
    valued(Some('b'), "breaktrace", "USEC", Opt::Breaktrace, "stop everything when a latency exceeds USEC"),
    valued(Some('c'), "clock", "CLOCK", Opt::Clock, "0: CLOCK_MONOTONIC (default), 1: CLOCK_REALTIME, 16 to 23: CLOCK_AUX; or a name: monotonic, realtime, tai, boottime, aux0"),
    flag(None, "default-system", Opt::DefaultSystem, "leave power management as it is"),
    valued(None, "deepest-idle-state", "N", Opt::DeepestIdleState, "disable the idle states deeper than state N on the measured CPUs; -1 disables all. cpu_dma_latency is then not set"),
    valued(Some('d'), "distance", "DIST", Opt::Distance, "added to the interval of each further thread, in us; default 500, with a histogram 0"),
    valued(Some('D'), "duration", "TIME", Opt::Duration, "how long to measure, in seconds; m, h or d may follow the number"),
    valued(Some('F'), "fifo", "PATH", Opt::Fifo, "make a named pipe at PATH that gives each reader the current statistics"),
    valued(Some('h'), "histogram", "US", Opt::Histogram, "print a histogram at the end, with one bucket per us (with -N: per ns) below US"),
    valued(Some('H'), "histofall", "US", Opt::Histofall, "the same with a column for the sum of all threads"),
    valued(None, "histfile", "PATH", Opt::Histfile, "write the histogram to PATH instead of standard output"),
    valued(Some('i'), "interval", "INTV", Opt::Interval, "time from one planned wake-up to the next, in us; default 1000"),
    valued(None, "json", "FILENAME", Opt::Json, "write the results to FILENAME as JSON; - is standard output"),
    flag(None, "laptop", Opt::Laptop, "do not hold cpu_dma_latency: saves battery, wakes later"),
    valued(None, "latency", "PM_QOS", Opt::Latency, "what to hold in /dev/cpu_dma_latency, in us; default 0"),
    valued(Some('l'), "loops", "LOOPS", Opt::Loops, "wake-ups per thread; the first thread to get there ends the run. Default 0: endless"),
    valued(None, "mainaffinity", "CPUSET", Opt::MainAffinity, "where the main thread may run; the measuring threads are not affected"),
    flag(Some('m'), "mlockall", Opt::Mlockall, "end at once if memory cannot be locked"),
    flag(Some('M'), "refresh_on_max", Opt::RefreshOnMax, "update the screen only when there is a new maximum"),
    flag(Some('N'), "nsecs", Opt::Nsecs, "print ns instead of us"),
    valued(Some('o'), "oscope", "RED", Opt::Oscope, "with -v: print only the largest of every RED values"),
    valued(Some('p'), "priority", "PRIO", Opt::Priority, "real-time priority of all threads, 1 to 99; the policy is fifo unless --policy says rr"),
    valued(None, "policy", "NAME", Opt::Policy, "policy of the measuring threads: other, normal, batch, idle, fifo or rr"),
    flag(None, "priospread", Opt::Priospread, "give each further thread the next lower priority"),
    flag(Some('q'), "quiet", Opt::Quiet, "print only a summary at the end"),
    flag(Some('r'), "relative", Opt::Relative, "sleep for the interval instead of until a time"),
    flag(Some('R'), "resolution", Opt::Resolution, "compare the clock's real precision with what it reports"),
    optional(None, "secaligned", "USEC", looks_like_count, Opt::Secaligned, "start all threads on the next full second, plus USEC"),
    flag(Some('s'), "system", Opt::System, "wait with nanosleep(2)"),
    flag(Some('S'), "smp", Opt::Smp, "one thread on every CPU, all of the same priority: -a -t"),
    valued(None, "spike", "TRIGGER", Opt::Spike, "list the latencies above TRIGGER, in us (with -N: ns)"),
    valued(None, "spike-nodes", "NUM", Opt::SpikeNodes, "how many of them at most; default 1024"),
    flag(None, "smi", Opt::Smi, "count system management interrupts"),
    optional(Some('t'), "threads", "NUM", looks_like_count, Opt::Threads, "number of threads; without NUM, one for each CPU. Default 1"),
    flag(None, "tracemark", Opt::Tracemark, "with -b: mark the end in the kernel's trace, and stop tracing"),
    flag(Some('u'), "unbuffered", Opt::Unbuffered, "has no effect: output is never held back"),
    flag(Some('v'), "verbose", Opt::Verbose, "print every value, as thread:cycle:value"),
    flag(None, "dbg_cyclictest", Opt::Debug, "has no effect"),
    flag(Some('x'), "posix_timers", Opt::PosixTimers, "wait for POSIX timers instead of clock_nanosleep(2)"),
    flag(Some('?'), "help", Opt::Help, "print this text"),
];

/// Options that the original does not have. They cannot be abbreviated, so that what can be
/// abbreviated stays the same.
#[rustfmt::skip]
pub(crate) const OWN: &[Entry] = &[
    valued(None, "compat", "VERSION", Opt::Compat, "write the output of cyclictest 2.4, 2.6, 2.10 or 2.11; default 2.6, or what HOWLATE_COMPAT or the name of a link (cyclictest-2.4) says"),
    valued(None, "howlate-out", "FILE", Opt::HowlateOut, "save a recording for `howlate show` too"),
];

/// Options of rt-tests before 1.0 to 1.4 that people still type.
#[rustfmt::skip]
const RETIRED: &[(Option<char>, Option<&str>, Takes, Opt)] = &[
    (Some('n'), Some("nanosleep"), Takes::Nothing, Opt::Retired),
    (Some('U'), Some("numa"), Takes::Nothing, Opt::Retired),
    (Some('w'), Some("wakeup"), Takes::Nothing, Opt::Retired),
    (Some('W'), Some("wakeuprt"), Takes::Nothing, Opt::Retired),
    (Some('f'), Some("ftrace"), Takes::Nothing, Opt::Retired),
    (Some('P'), Some("preemptoff"), Takes::Nothing, Opt::Retired),
    (Some('C'), Some("context"), Takes::Nothing, Opt::Retired),
    (Some('E'), Some("event"), Takes::Nothing, Opt::Retired),
    (Some('I'), Some("irqsoff"), Takes::Nothing, Opt::Retired),
    (Some('B'), Some("preemptirqs"), Takes::Nothing, Opt::Retired),
    (Some('X'), Some("notrace"), Takes::Nothing, Opt::Retired),
    (Some('T'), Some("tracer"), Takes::Value, Opt::Retired),
    (Some('O'), Some("traceopt"), Takes::Value, Opt::Retired),
    (Some('y'), None, Takes::Value, Opt::RetiredPolicy),
    (Some('e'), None, Takes::Value, Opt::RetiredLatency),
];

/// What `getopt` must know to read the options of this dialect.
pub(crate) fn known(compat: Compat) -> Vec<OptionSpec<Opt>> {
    let known = |entry: &Entry, abbreviates| OptionSpec {
        short: entry.short,
        long: Some(entry.long),
        abbreviates,
        takes: entry.takes,
        id: entry.id,
    };
    let retired = RETIRED.iter().map(|&(short, long, takes, id)| OptionSpec {
        short,
        long,
        abbreviates: false,
        takes,
        id,
    });
    let current = entries(compat).map(|entry| known(entry, true));
    current.chain(OWN.iter().map(|entry| known(entry, false))).chain(retired).collect()
}

/// The options of this dialect.
pub(crate) fn entries(compat: Compat) -> impl Iterator<Item = &'static Entry> {
    // 2.6 does not know it, but is the default: who types it means it.
    ENTRIES.iter().filter(move |entry| compat >= Compat::V2_6 || entry.id != Opt::DeepestIdleState)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_given_twice() {
        let known = known(Compat::V2_10);
        let mut shorts: Vec<_> = known.iter().filter_map(|one| one.short).collect();
        let mut longs: Vec<_> = known.iter().filter_map(|one| one.long).collect();
        shorts.sort_unstable();
        longs.sort_unstable();
        assert!(shorts.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(longs.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
