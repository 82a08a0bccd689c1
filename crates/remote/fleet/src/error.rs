//! Why a fleet cannot be started, or looked at.

use std::io;
use std::path::{Path, PathBuf};

/// What goes wrong with the whole fleet; what goes wrong with a node is its [`NodeStatus`](crate::NodeStatus).
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// A file of the fleet cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file, in the fleet's folder or named on the command line.
        path: PathBuf,
        source: io::Error,
    },
    /// There is a fleet already.
    #[error("{} holds a fleet already", path.display())]
    Exists {
        /// The folder that was to be made.
        path: PathBuf,
    },
    /// A folder holds no fleet.
    #[error("{} holds no fleet: {reason}", path.display())]
    NoFleet {
        /// The folder, without the file that says what a fleet is.
        path: PathBuf,
        /// What is wrong with its description.
        reason: String,
    },
    /// What is to be sent is no program.
    #[error("{} is no program: {reason}", path.display())]
    NotAProgram {
        /// The file that was to be sent.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A program of the scheduler is not there.
    #[error("there is no `{program}` here")]
    NoProgram {
        /// Its name, as looked for on the path.
        program: &'static str,
    },
    /// A program of the scheduler refuses.
    #[error("{program} failed: {message}")]
    Refused {
        /// Its name, such as `sbatch`.
        program: &'static str,
        /// Its last line of output.
        message: String,
    },
    /// Which nodes have these features only Slurm can tell, when it starts a job.
    #[error("`--constraint {found}` is more than features")]
    Constraint { found: String },
    /// Nothing to measure on.
    #[error("{where_} has no node")]
    NoNodes {
        /// The partition, or the list.
        where_: String,
    },
    /// Two nodes that files could not tell apart.
    #[error("`{name}` is there twice")]
    Twice {
        /// What both are called.
        name: String,
    },
}

impl FleetError {
    /// Of what the kernel says about a file.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }

    /// What the user can do.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::File { .. } => return None,
            Self::Exists { .. } => {
                "`--resume` measures on the nodes that are missing; `howlate fleet collect FOLDER` fetches what there is"
            }
            Self::NoFleet { .. } => "give the folder that `howlate fleet run` made",
            Self::NotAProgram { .. } => "give a howlate with `--program`, such as a static one",
            Self::NoProgram { program: "ssh" } => "install the OpenSSH client",
            Self::NoProgram { program: "kubectl" } => "install it, as your cluster's documentation says",
            Self::NoProgram { .. } => "run this where jobs are submitted, or use `--on ssh:HOST,…`",
            Self::Refused { .. } => "`--dry-run` prints what is run, to be tried by hand",
            Self::Constraint { .. } => "each node that has them measures: join features by `&`, or by `|`",
            Self::NoNodes { .. } => {
                "a list has one host a line, labels after it, such as `n1 rack=7`; `sinfo` lists what Slurm has, `kubectl get nodes` what a cluster has"
            }
            Self::Twice { .. } => "name each node once: it measures once",
        };
        Some(hint.to_owned())
    }
}
