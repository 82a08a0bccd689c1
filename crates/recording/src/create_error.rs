//! Why nothing can be written where it was asked for.

use std::io;
use std::path::{Path, PathBuf};

use howlate_model::shell_path;

use crate::disk_remedy::disk_remedy;

/// Why a recording could not be begun.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// There is something already; nothing is written over.
    #[error("{} already exists; refusing to overwrite it", path.display())]
    Exists {
        /// The path asked for.
        path: PathBuf,
    },
    /// Another run writes it.
    #[error("another howlate writes {} at present", path.display())]
    Busy {
        /// The path asked for.
        path: PathBuf,
    },
    /// The file could not be made or written.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The path asked for.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
}

const ANOTHER_PATH: &str =
    "choose a path in a folder that exists and that you may write to, such as `result.jsonl`";

impl CreateError {
    pub(crate) fn new(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists { path: path.to_owned() },
            io::ErrorKind::ResourceBusy => Self::Busy { path: path.to_owned() },
            _ => Self::Io { path: path.to_owned(), source },
        }
    }

    /// What to do.
    pub fn hint(&self) -> String {
        match self {
            Self::Exists { path } => {
                let file = path.is_file().then(|| format!(", or remove it first: `rm {}`", shell_path(path)));
                format!("choose another name{}", file.unwrap_or_default())
            }
            Self::Busy { .. } => "wait until it ends, or choose another name with `--out`".into(),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::FileTooLarge => {
                "files may not be longer here: raise the limit (`ulimit -f unlimited`), or leave `--out` away"
                    .into()
            }
            Self::Io { source, .. } => disk_remedy(source).unwrap_or(ANOTHER_PATH).into(),
        }
    }
}
