//! What there is of it in a program without Parquet: a refusal.

use std::path::Path;

use howlate_model::{Header, Wakeup};

use crate::CreateError;

/// A file of wake-ups: there can be none.
pub enum Samples {}

impl Samples {
    /// Refuses.
    ///
    /// # Errors
    ///
    /// Always: Parquet is not built in.
    pub fn create(path: &Path, _header: &Header) -> Result<Self, CreateError> {
        Err(CreateError::NoParquet { path: path.to_owned() })
    }

    /// Where it is.
    pub const fn path(&self) -> &Path {
        match *self {}
    }

    /// Appends wake-ups.
    pub const fn write(&mut self, _condition: u32, _round: u32, _wakeups: &[Wakeup]) {
        match *self {}
    }

    /// Completes the file.
    ///
    /// # Errors
    ///
    /// None, as there is no file.
    pub const fn close(self) -> Result<(), CreateError> {
        match self {}
    }
}

/// Refuses.
///
/// # Errors
///
/// Always: Parquet is not built in.
pub fn write_table(path: &Path, _columns: &[super::Column]) -> Result<(), CreateError> {
    Err(CreateError::NoParquet { path: path.to_owned() })
}
