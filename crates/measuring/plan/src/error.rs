//! Errors of planning.

use howlate_model::{Caveat, CpuSet};

use crate::steps_refusal::StepsRefusal;
use crate::{MOST_CONDITIONS, MOST_TURNS};

/// Why a plan is impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A CPU that the kernel does not let this process bind threads to.
    #[error("CPU {cpu} cannot be used; the kernel lets this process use {bindable}")]
    NoSuchCpu {
        /// The requested CPU.
        cpu: u32,
        /// Usable CPUs.
        bindable: CpuSet,
        /// Isolated CPUs among these.
        isolated: CpuSet,
    },
    /// Period 0.
    #[error("period 0 would never sleep; write a length of time, such as `--period 1ms`")]
    PeriodZero,
    /// A count of 0.
    #[error("{what} is 0; write at least 1")]
    NothingAsked {
        /// `--samples` or `--threads`.
        what: &'static str,
    },
    /// Duration 0.
    #[error("duration 0 would measure nothing; write a length of time, such as `--duration 10s`")]
    DurationZero,
    /// `--steps` is not possible.
    #[error(transparent)]
    NoSteps(#[from] StepsRefusal),
    /// Every combination was left out.
    #[error("nothing that was asked for can be measured: {}", reasons(.0))]
    NothingLeft(Vec<Caveat>),
    /// Too many conditions.
    #[error("that makes {count} conditions; at most {MOST_CONDITIONS} can be measured at once")]
    TooMany { count: usize },
    /// Too many turns.
    #[error("that makes {count} turns of threads; at most {MOST_TURNS} can be taken in one run")]
    TooManyTurns {
        /// Sum of threads over all turns.
        count: usize,
    },
}

impl PlanError {
    /// Suggested remedy.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoSuchCpu { bindable, isolated, .. } => Some(cpu_hint(bindable, isolated)),
            Self::TooMany { .. } => {
                Some("give fewer values to --for, --period, --call, --mechanism, --after, --pair, --policy, --slack, --load or --cpus".into())
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

/// Lists usable CPUs; isolated ones first, as they are most often wanted.
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
