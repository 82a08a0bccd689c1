//! Why `--steps` is not possible.

use howlate_model::Sleeper;

/// Why `--steps` is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepsRefusal {
    /// Only one sweep at a time is possible.
    #[error("--steps sweeps one {what}, and this run has {found}")]
    Several {
        /// Name of the choice.
        what: &'static str,
        found: usize,
    },
    /// The sleep does not end by a kernel timer.
    #[error("--steps is about the kernel's timers, and `{sleeper}` {because}")]
    NotATimer {
        sleeper: Sleeper,
        /// What it does instead.
        because: &'static str,
    },
    /// Too few rounds: noise would look like steps.
    #[error("--steps tells steps from noise by {least} rounds or more, and this run has {found}")]
    FewRounds {
        /// Minimum.
        least: u32,
        /// Requested number.
        found: u32,
    },
    /// Too few samples per turn for a median.
    #[error("--steps needs {least} sleeps per round or more, and {samples} in {rounds} rounds are fewer")]
    FewSamples {
        /// Minimum per round.
        least: u64,
        /// Requested number.
        samples: u64,
        rounds: u32,
    },
}

impl StepsRefusal {
    /// Suggested remedy.
    pub fn hint(&self) -> String {
        match self {
            Self::Several { what, .. } => format!("give one {what}, and run it again for each other"),
            Self::NotATimer { .. } => {
                "choose a call such as `--call clock_nanosleep`; of others, `howlate sleep --for` measures single lengths"
                    .to_owned()
            }
            Self::FewRounds { least, .. } => format!("write `--rounds {least}` or more"),
            Self::FewSamples { least, rounds, .. } => {
                format!("write `--samples {}` or more", least * u64::from(*rounds))
            }
        }
    }
}
