//! What users of oslat and hwlatdetect type, and what their readers parse. Pure.
//!
//! Two dialects of oslat are spoken, see [`oslat::Dialect`]. `docs/gaps.md` lists where this differs from the originals on purpose.

pub mod hwlatdetect;
pub mod oslat;
