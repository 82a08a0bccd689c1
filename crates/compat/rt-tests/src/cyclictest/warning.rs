//! What is said on standard error before anything is measured.

use std::fmt;

use howlate_model::CpuSet;

/// Something that the user should know. Displayed as one or more whole lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// An option that no longer does anything.
    Retired {
        /// The option, as typed.
        typed: String,
    },
    /// An option that goes by another name now.
    Renamed {
        /// The option, as typed.
        typed: String,
        /// What it is taken as.
        now: &'static str,
    },
    /// A CPU list that names nothing to run on.
    NoCpus {
        /// The list, as typed.
        typed: String,
        /// What there is.
        bindable: CpuSet,
    },
    /// `-a` together with `-S`.
    AffinityIgnored,
    /// `-t` together with `-S`.
    ThreadsIgnored,
    /// `-d` together with a histogram.
    DistanceIgnored,
    /// A real-time policy without a priority, or priority 0.
    DefaultPriority {
        /// What it will be.
        priority: u32,
    },
    /// The value of an option looks like another option, as in `-smp -p 80`.
    ValueLooksLikeOption {
        /// The option whose value it is, as typed.
        option: String,
        /// What it took as its value.
        value: String,
    },
    /// `-s` together with `-x`.
    SystemWithTimers,
    /// `-o` without `-v`.
    OscopeWithoutVerbose,
    /// `--smi` without fixed CPUs.
    SmiWithoutAffinity,
    /// A value that cannot be meant.
    OutOfRange {
        /// The option whose value it is.
        option: &'static str,
        /// The value found.
        found: i64,
        /// What can be written.
        wanted: &'static str,
    },
    /// `-A` together with `--secaligned`.
    AlignedTwice,
    /// A policy that does not exist; it is taken as `other`.
    UnknownPolicy {
        /// The policy, as typed.
        typed: String,
    },
    /// Two ways to deal with idle states.
    IdleStateInstead,
    /// A dialect that is none.
    UnknownCompat {
        /// `--compat`, or the environment's variable.
        from: &'static str,
        /// What is wrong, and what can be written.
        text: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retired { typed } => {
                writeln!(f, "NOTE: {typed} was retired from cyclictest and is ignored")
            }
            Self::Renamed { typed, now } => {
                writeln!(f, "NOTE: {typed} was retired from cyclictest and is taken as {now}")
            }
            Self::NoCpus { typed, bindable } => writeln!(
                f,
                "WARN: `{typed}` names a CPU that there is not, or none that can be used; the kernel lets this process \
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
            Self::OutOfRange { option, found, wanted } => {
                writeln!(f, "WARN: {option} {found} is out of range; write {wanted}")
            }
            Self::AlignedTwice => writeln!(f, "WARN: -A and --secaligned exclude each other"),
            Self::UnknownPolicy { typed } => {
                writeln!(f, "WARN: `{typed}` is no policy; measuring with policy other")
            }
            Self::IdleStateInstead => {
                writeln!(f, "WARN: not setting cpu_dma_latency, --deepest-idle-state is set instead")
            }
            Self::UnknownCompat { from, text } => writeln!(f, "WARN: {from}: {text}"),
        }
    }
}
