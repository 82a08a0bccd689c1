//! Why no steps can be looked for.

use howlate_model::Sleeper;

/// Why no steps can be looked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSteps {
    /// One sweep at a time.
    #[error("--steps sweeps one {what}, and this run has {found}")]
    Several {
        /// What there may be one of.
        what: &'static str,
        /// How many there are.
        found: usize,
    },
    /// Something else than the kernel's timers decides when it returns.
    #[error("--steps is about the kernel's timers, and `{sleeper}` {because}")]
    NotATimer {
        /// What was to sleep.
        sleeper: Sleeper,
        /// What it does.
        because: &'static str,
    },
    /// Noise alone would look like steps.
    #[error("--steps tells steps from noise by {least} rounds or more, and this run has {found}")]
    FewRounds {
        /// The fewest.
        least: u32,
        /// What was asked for.
        found: u32,
    },
    /// A turn has no median.
    #[error("--steps needs {least} sleeps per round or more, and {samples} in {rounds} rounds are fewer")]
    FewSamples {
        /// The fewest of a round.
        least: u64,
        /// What was asked for.
        samples: u64,
        /// In so many rounds.
        rounds: u32,
    },
}

impl NoSteps {
    /// What to do.
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
