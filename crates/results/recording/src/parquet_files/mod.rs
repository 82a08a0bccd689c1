//! Parquet tables for databases and data frames, if built in.

#[cfg(not(feature = "parquet"))]
mod not_built_in;
#[cfg(feature = "parquet")]
mod samples;
#[cfg(feature = "parquet")]
mod table;

#[cfg(not(feature = "parquet"))]
pub use not_built_in::{Samples, write_table};
#[cfg(feature = "parquet")]
pub use samples::Samples;
#[cfg(feature = "parquet")]
pub use table::write_table;

/// Values of a column, one per row; `None`: null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnValues {
    Texts(Vec<Option<String>>),
    /// Integers; the column's name contains the unit.
    Numbers(Vec<Option<i64>>),
}

/// Name (letters, digits and `_`) and values of a column.
pub type TableColumn = (String, ColumnValues);
