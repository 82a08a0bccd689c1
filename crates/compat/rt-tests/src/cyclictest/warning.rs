//! Messages on standard error before the run.

use std::fmt;

use howlate_model::CpuSet;

/// A warning or error in the command line. Its text consists of whole lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CyclictestWarning {
    /// An option that has no effect any more.
    Retired { option: String },
    /// An option with a new name.
    Renamed { option: String, new_name: &'static str },
    /// A CPU list without any bindable CPU, or with one that does not exist.
    NoCpus { list: String, bindable: CpuSet },
    /// `-a` together with `-S`.
    AffinityIgnored,
    /// `-t` together with `-S`.
    ThreadsIgnored,
    /// `-d` together with a histogram.
    DistanceIgnored,
    /// A real-time policy without a priority, or priority 0.
    DefaultPriority { priority: u32 },
    /// The value of an option looks like another option, as in `-smp -p 80`.
    ValueLooksLikeOption { option: String, value: String },
    /// `-s` together with `-x`.
    SystemWithTimers,
    /// `-o` without `-v`.
    OscopeWithoutVerbose,
    /// `--smi` with threads that are not bound to CPUs.
    SmiWithoutAffinity,
    OutOfRange {
        option: &'static str,
        value: i64,
        /// Describes the valid values.
        valid: &'static str,
    },
    /// `-A` together with `--secaligned`.
    AlignedTwice,
    /// An unknown policy, replaced by `other`.
    UnknownPolicy { name: String },
    /// `--deepest-idle-state` replaces `--latency`.
    IdleStateInstead,
    /// An unsupported version of rt-tests.
    UnknownCompat {
        /// `--compat`, or the environment variable.
        source: &'static str,
        message: String,
    },
}

impl fmt::Display for CyclictestWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retired { option } => {
                writeln!(f, "NOTE: {option} was retired from cyclictest and is ignored")
            }
            Self::Renamed { option, new_name } => {
                writeln!(f, "NOTE: {option} was retired from cyclictest and is taken as {new_name}")
            }
            Self::NoCpus { list, bindable } => writeln!(
                f,
                "WARN: `{list}` names a CPU that there is not, or none that can be used; the kernel lets this process \
                 use {bindable}"
            ),
            Self::AffinityIgnored => writeln!(f, "WARN: -a ignored due to smp mode"),
            Self::ThreadsIgnored => writeln!(f, "WARN: -t ignored due to smp mode"),
            Self::DistanceIgnored => {
                writeln!(f, "WARN: distance is ignored and set to 0, if histogram enabled")
            }
            Self::DefaultPriority { priority } => {
                writeln!(f, "defaulting realtime priority to {priority}")
            }
            Self::ValueLooksLikeOption { option, value } => writeln!(
                f,
                "WARN: {option} took `{value}` as its value, which is no number; \
                 the long form of -S is --smp, with two hyphens"
            ),
            Self::SystemWithTimers => f.write_str(
                "WARN: The system option requires clock_nanosleep\n\
                 WARN: and is not compatible with posix_timers\n\
                 WARN: Using clock_nanosleep\n",
            ),
            Self::OscopeWithoutVerbose => writeln!(f, "WARN: -o option only meaningful, if verbose"),
            Self::SmiWithoutAffinity => {
                writeln!(f, "FATAL: SMI counter relies on thread affinity: add -a or -S")
            }
            Self::OutOfRange { option, value, valid } => {
                writeln!(f, "WARN: {option} {value} is out of range; write {valid}")
            }
            Self::AlignedTwice => writeln!(f, "WARN: -A and --secaligned exclude each other"),
            Self::UnknownPolicy { name } => {
                writeln!(f, "WARN: `{name}` is no policy; measuring with policy other")
            }
            Self::IdleStateInstead => {
                writeln!(f, "WARN: not setting cpu_dma_latency, --deepest-idle-state is set instead")
            }
            Self::UnknownCompat { source, message } => writeln!(f, "WARN: {source}: {message}"),
        }
    }
}
