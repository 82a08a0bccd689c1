//! Why there is nothing to measure.

use howlate_model::{Caveat, CpuSet};

use crate::no_steps::NoSteps;
use crate::{MOST_CONDITIONS, MOST_TURNS};

/// Why there is nothing to measure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A CPU that the kernel does not let this process bind threads to.
    #[error("CPU {cpu} cannot be used; the kernel lets this process use {bindable}")]
    NoSuchCpu {
        /// What was asked for.
        cpu: u32,
        /// What there is.
        bindable: CpuSet,
        /// What of it is isolated.
        isolated: CpuSet,
    },
    /// A period of no length.
    #[error("period 0 would never sleep; write a length of time, such as `--period 1ms`")]
    PeriodZero,
    /// Nothing to do.
    #[error("{what} is 0; write at least 1")]
    NothingAsked {
        /// `--samples` or `--threads`.
        what: &'static str,
    },
    /// A turn of no length.
    #[error("duration 0 would measure nothing; write a length of time, such as `--duration 10s`")]
    DurationZero,
    /// No steps can be looked for.
    #[error(transparent)]
    NoSteps(#[from] NoSteps),
    /// Every combination was left out.
    #[error("nothing that was asked for can be measured: {}", reasons(.0))]
    NothingLeft(Vec<Caveat>),
    /// More than anyone can have meant.
    #[error("that makes {asked} conditions; at most {MOST_CONDITIONS} can be measured at once")]
    TooMany {
        /// How many combinations.
        asked: usize,
    },
    /// More turns than anyone can have meant.
    #[error("that makes {asked} turns of threads; at most {MOST_TURNS} can be taken in one run")]
    TooManyTurns {
        /// How many threads in all turns together.
        asked: usize,
    },
}

impl PlanError {
    /// What to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoSuchCpu { bindable, isolated, .. } => Some(cpu_hint(bindable, isolated)),
            Self::TooMany { .. } => {
                Some("give fewer values to --for, --period, --call, --by, --after, --pair, --policy, --slack, --load or --cpus".into())
            }
            Self::TooManyTurns { .. } => {
                Some("give fewer `--rounds`, fewer `--samples`, or fewer conditions".into())
            }
            Self::NoSteps(reason) => Some(reason.hint()),
            Self::PeriodZero
            | Self::NothingAsked { .. }
            | Self::DurationZero
            | Self::NothingLeft(_) => None,
        }
    }
}

/// What can be asked for; isolated CPUs are what people look for.
fn cpu_hint(bindable: &CpuSet, isolated: &CpuSet) -> String {
    let isolated = match isolated.len() {
        0 => String::new(),
        1 => format!("; CPU {isolated} is isolated: `--cpus {isolated}`"),
        _ => format!("; CPUs {isolated} are isolated: `--cpus {isolated}`"),
    };
    format!("choose from these, with `--cpus {bindable}` or `--pair`{isolated}")
}

/// Why each combination was left out, in words.
fn reasons(left_out: &[Caveat]) -> String {
    let reason = |caveat: &Caveat| match caveat {
        Caveat::LeftOut { condition, reason } => Some(format!("{condition}: {reason}")),
        _ => None,
    };
    left_out.iter().filter_map(reason).collect::<Vec<_>>().join("; ")
}
