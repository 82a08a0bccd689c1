//! Errors of creating a recording, with remedies.

use std::io;
use std::path::{Path, PathBuf};

use howlate_model::shell_path;
use rustix::io::Errno;

/// Why a recording could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The path exists; nothing is overwritten.
    #[error("{} already exists; refusing to overwrite it", path.display())]
    Exists { path: PathBuf },
    /// Another run is writing it.
    #[error("another howlate writes {} at present", path.display())]
    Busy { path: PathBuf },
    /// This program was built without Parquet.
    #[error("this howlate was built without Parquet, and cannot write {}", path.display())]
    NoParquet { path: PathBuf },
    /// Creating or writing failed.
    #[error("cannot write {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

const ANOTHER_PATH: &str =
    "choose a path in a folder that exists and that you may write to, such as `result.jsonl`";

/// The first free name of `run-2.html`, `run-3.html`, …
fn free_beside(path: &Path) -> Option<PathBuf> {
    let stem = path.file_stem()?.to_str()?;
    let ending = path.extension().map_or_else(String::new, |ending| format!(".{}", ending.display()));
    let numbered = (2..100).map(|number| path.with_file_name(format!("{stem}-{number}{ending}")));
    numbered.into_iter().find(|candidate| candidate.symlink_metadata().is_err())
}

impl CreateError {
    pub(crate) fn new(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists { path: path.to_owned() },
            io::ErrorKind::ResourceBusy => Self::Busy { path: path.to_owned() },
            _ => Self::Io { path: path.to_owned(), source },
        }
    }

    pub fn hint(&self) -> String {
        match self {
            Self::Exists { path } => {
                let file = path.is_file().then(|| format!(", or remove it first: `rm {}`", shell_path(path)));
                let free = free_beside(path).map(|free| format!(", such as `--out {}`", shell_path(&free)));
                format!("choose another name{}{}", free.unwrap_or_default(), file.unwrap_or_default())
            }
            Self::Busy { .. } => "wait until it ends, or choose another name with `--out`".into(),
            Self::NoParquet { .. } => {
                "downloaded programs have it; from source: `cargo run --release --features parquet -- …`"
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

/// Advice for errors of the disk; `None` for others.
pub(crate) fn disk_remedy(error: &io::Error) -> Option<&'static str> {
    Some(match Errno::from_io_error(error)? {
        Errno::NOSPC => "make room there, or choose a path on another disk",
        Errno::DQUOT => "your quota is used up: remove files, or choose a path on another disk",
        Errno::IO => "the disk there fails, and `dmesg` says how: choose a path on another disk",
        Errno::ROFS => {
            "the file system there is read-only, which it also becomes when its disk fails (`dmesg`): choose a path on another disk"
        }
        _ => return None,
    })
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
