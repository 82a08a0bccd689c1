//! Command lines and output of the rt-tests programs cyclictest, oslat, hwlatdetect and cyclicdeadline. Pure.
//!
//! The output differs between the versions of rt-tests, see [`Compat`]. `docs/cyclictest.md`, `docs/gaps.md` and
//! `docs/cyclicdeadline.md` list the intended differences from the originals.

mod compat;
pub mod cyclicdeadline;
pub mod cyclictest;
mod getopt;
pub mod hwlatdetect;
mod number;
pub mod oslat;
mod run_facts;

pub use compat::{Compat, UnknownCompat};
pub use run_facts::RunFacts;
