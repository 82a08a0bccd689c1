//! Tables for data bases and data frames, as Parquet, where that is built in.

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

/// The values of a column, one of each row; `None` where a row has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// Words, as UTF-8.
    Texts(Vec<Option<String>>),
    /// Whole numbers; a unit stands in the column's name.
    Numbers(Vec<Option<i64>>),
}

/// A column and its name, which is one of letters, digits and `_`.
pub type Column = (String, Values);
