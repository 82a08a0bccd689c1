//! What oslat and hwlatdetect do, done by howlate: `howlate oslat`, `howlate hwlatdetect`, and howlate under these names.
//!
//! The options and the texts are in `howlate-rt-tests`, the spinning threads in `howlate-gaps`. Nothing is printed here: who calls
//! hands in its streams.

mod call;
mod failure;
mod hwlatdetect;
mod interruption;
mod moved;
mod oslat;

pub use call::Call;
