//! What users of oslat, hwlatdetect and cyclicdeadline type, and what their readers parse. Pure.
//!
//! Dialects are spoken, see [`Dialect`]. `docs/gaps.md` and `docs/cyclicdeadline.md` list where this differs from the originals on
//! purpose.

pub mod cyclicdeadline;
mod dialect;
pub mod hwlatdetect;
pub mod oslat;

pub use dialect::Dialect;
