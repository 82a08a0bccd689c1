//! Why no setting could be tried, and what to do about it.

use howlate_guard::LockError;
use howlate_plan::SeveralConditions;
use howlate_session::SessionError;

/// Why no setting could be tried.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The plan is of several conditions.
    #[error(transparent)]
    NotOne(#[from] SeveralConditions),
    /// These programs change settings of the machine while they run.
    #[error("running here: {}; settings of the machine would change while they are tried", .0.join(" and "))]
    Tuners(Vec<&'static str>),
    /// Settings cannot be changed, as they could not be put back for certain.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// No turn can be taken of a program.
    #[error("no setting can be tried on `{program}`: {why}")]
    NothingToCompare {
        /// What it is called.
        program: String,
        /// What the program lacks.
        why: NothingToCompare,
    },
    /// The turns could not be measured.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Why there is nothing of a program to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NothingToCompare {
    /// Ctrl-C came first.
    #[error("it was interrupted before any setting could be tried")]
    Interrupted,
    /// It has ended by itself.
    #[error("it ended before any setting could be tried")]
    Ended,
    /// There is no tracer, and no loop is marked.
    #[error("nobody sees here what wakes its threads, and it has marked no loop")]
    Unseen,
    /// All threads slept.
    #[error("none of its threads woke in the first seconds")]
    NoneWoke,
    /// Those slept that were asked for, or there are none.
    #[error("no thread of that name woke in the first seconds")]
    NoneOfThatNameWoke,
}

impl TuneError {
    /// What to do, where that is said here.
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
            // What to do stands in what it says.
            Self::Locked(LockError::TooLong { .. }) => None,
            Self::NothingToCompare { why: NothingToCompare::Ended, .. } => Some(
                "give it a program that runs as long as `--budget` says (10 min if left out), or one that runs already: `howlate \
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
