//! The file of a merged recording.

use std::fs::File;
use std::path::{Path, PathBuf};

use howlate_model::{Header, Line};

use crate::CreateError;
use crate::rewrite::Rewrite;

/// A merged recording that is being written. Until it is [closed](Self::close), an empty file reserves
/// its path; dropping removes that.
pub struct MergedFile {
    out: Option<Rewrite>,
    path: PathBuf,
    is_placed: bool,
}

impl MergedFile {
    ///
    /// # Errors
    ///
    /// When `path` exists, or cannot be written.
    pub fn create(path: &Path, header: &Header) -> Result<Self, CreateError> {
        let failed = |source| CreateError::new(path, source);
        File::create_new(path).map_err(failed)?;
        let mut merged = Self { out: None, path: path.to_owned(), is_placed: false };
        merged.out = Some(Rewrite::begin(path, header).map_err(failed)?);
        Ok(merged)
    }

    ///
    /// # Errors
    ///
    /// The kernel's, such as a full disk.
    pub fn write(&mut self, line: &Line) -> Result<(), CreateError> {
        let Self { out, path, .. } = self;
        out.iter_mut().try_for_each(|out| out.write(line)).map_err(|source| CreateError::new(path, source))
    }

    /// Moves the complete file into place.
    ///
    /// # Errors
    ///
    /// The kernel's, such as a full disk.
    pub fn close(mut self) -> Result<(), CreateError> {
        let Some(out) = self.out.take() else { return Ok(()) };
        let placed = out.replace(&self.path).map(drop);
        self.is_placed = placed.is_ok();
        placed.map_err(|source| CreateError::new(&self.path, source))
    }
}

impl Drop for MergedFile {
    fn drop(&mut self) {
        if !self.is_placed {
            drop(std::fs::remove_file(&self.path));
        }
    }
}
