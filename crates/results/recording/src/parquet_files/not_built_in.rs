//! Stubs for a program without Parquet.

use std::path::Path;

use howlate_model::{Header, Wakeup};

use crate::CreateError;

pub enum Samples {}

impl Samples {
    ///
    /// # Errors
    ///
    /// Always: Parquet is not built in.
    pub fn create(path: &Path, _header: &Header) -> Result<Self, CreateError> {
        Err(CreateError::NoParquet { path: path.to_owned() })
    }

    pub const fn path(&self) -> &Path {
        match *self {}
    }

    pub const fn write(&mut self, _condition: u32, _round: u32, _wakeups: &[Wakeup]) {
        match *self {}
    }

    ///
    /// # Errors
    ///
    /// None, as there is no file.
    pub const fn close(self) -> Result<(), CreateError> {
        match self {}
    }
}

///
/// # Errors
///
/// Always: Parquet is not built in.
pub fn write_table(path: &Path, _columns: &[super::TableColumn]) -> Result<(), CreateError> {
    Err(CreateError::NoParquet { path: path.to_owned() })
}
