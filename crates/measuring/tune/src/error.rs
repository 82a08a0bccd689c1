//! Why no setting could be tried, and what to do about it.

use howlate_guard::LockError;
use howlate_plan::SeveralConditions;
use howlate_session::SessionError;

/// Why no setting could be tried.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The plan has several conditions.
    #[error(transparent)]
    NotOne(#[from] SeveralConditions),
    /// Running daemons that change settings of the machine.
    #[error("running here: {}; settings of the machine would change while they are tried", .0.join(" and "))]
    Tuners(Vec<&'static str>),
    /// Settings could not be restored reliably, so they are not changed.
    #[error(transparent)]
    Locked(#[from] LockError),
    #[error("no setting can be tried on `{program}`: {why}")]
    NothingToCompare { program: String, why: NothingToCompare },
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Why nothing of a program can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NothingToCompare {
    #[error("it was interrupted before any setting could be tried")]
    Interrupted,
    #[error("it ended before any setting could be tried")]
    Ended,
    /// No tracer, and no marked loop.
    #[error("nobody sees here what wakes its threads, and it has marked no loop")]
    Unseen,
    #[error("none of its threads woke in the first seconds")]
    NoneWoke,
    /// None of the chosen threads woke, or none exists.
    #[error("no thread of that name woke in the first seconds")]
    NoneOfThatNameWoke,
}

impl TuneError {
    /// What the user can do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotOne(_) => {
                Some("such as `howlate tune sleep --for 1ms`, or `howlate tune cyclic --period 1ms`".into())
            }
            Self::Tuners(names) => Some(format!(
                "stop it meanwhile (`sudo systemctl stop {}`), try only settings of threads (`--knobs thread`), or \
                 add `--beside-tuners`: what it changes meanwhile is left alone and named",
                names.join(" ")
            )),
            Self::Locked(LockError::Busy) => {
                Some("wait until it ends; if one was killed, `howlate tune --restore` puts settings back".into())
            }
            Self::Locked(LockError::UnsafeFolder(_) | LockError::NoFolder | LockError::Io(_)) => Some(
                "run it as root, or name a folder of yours in XDG_RUNTIME_DIR; without a program, `--knobs thread` changes \
                 only howlate's own threads"
                    .into(),
            ),
            // Its message says what to do.
            Self::Locked(LockError::TooLong { .. }) => None,
            Self::NothingToCompare { why: NothingToCompare::Ended, .. } => Some(
                "give it a program that runs as long as `--budget` says (default: 10 min), or one that runs already: `howlate \
                 tune program PID`"
                    .into(),
            ),
            Self::NothingToCompare { .. } => {
                Some("`howlate watch` shows which of its threads wake, and what wakes them".into())
            }
            Self::Session(_) => None,
        }
    }
}
