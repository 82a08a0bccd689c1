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
    /// This program was built without Parquet.
    #[error("this howlate was built without Parquet, and cannot write {}", path.display())]
    NoParquet {
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

/// The first of `run-2.html`, `run-3.html`, … that is not there.
fn free_beside(path: &Path) -> Option<PathBuf> {
    let stem = path.file_stem()?.to_str()?;
    let ending = path.extension().map_or_else(String::new, |ending| format!(".{}", ending.display()));
    let numbered = (2..100).map(|number| path.with_file_name(format!("{stem}-{number}{ending}")));
    numbered.into_iter().find(|one| one.symlink_metadata().is_err())
}

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
                let free = free_beside(path).map(|free| format!(", such as `--out {}`", shell_path(&free)));
                format!("choose another name{}{}", free.unwrap_or_default(), file.unwrap_or_default())
            }
            Self::Busy { .. } => "wait until it ends, or choose another name with `--out`".into(),
            Self::NoParquet { .. } => {
                "what is downloaded has it; from source: `cargo run --release --features parquet -- …`, or \
                                       `cargo install howlate --features parquet`"
                    .into()
            }
            Self::Io { source, .. } if source.kind() == io::ErrorKind::FileTooLarge => {
                "files may not be longer here: raise the limit (`ulimit -f unlimited`), or leave `--out` away"
                    .into()
            }
            Self::Io { source, .. } => disk_remedy(source).unwrap_or(ANOTHER_PATH).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_parquet_says_what_to_type() {
        let refused = CreateError::NoParquet { path: PathBuf::from("a.parquet") };
        assert!(refused.to_string().contains("built without Parquet"), "{refused}");
        assert!(
            refused.hint().contains("`cargo run --release --features parquet -- …`"),
            "{}",
            refused.hint()
        );
    }

    #[test]
    fn a_name_that_is_free_is_ready_to_be_typed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rec.html");
        for name in ["rec.html", "rec-2.html"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let hint = CreateError::Exists { path }.hint();
        let free = folder.path().join("rec-3.html");
        assert!(hint.contains(&format!("such as `--out {}`", free.display())), "{hint}");
    }
}
