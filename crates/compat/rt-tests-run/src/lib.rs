//! `howlate cyclictest`, `howlate oslat`, `howlate hwlatdetect` and `howlate cyclicdeadline`, and howlate when called by
//! these names.
//!
//! Command lines and texts are in `howlate-rt-tests`, spinning threads in `howlate-gaps`, periodic threads in
//! `howlate-measure`. All output goes to the caller's [`Streams`].

mod call;
mod common;
mod cyclicdeadline;
pub mod cyclictest;
mod deadline_refusal;
mod error;
mod hwlatdetect;
mod oslat;
mod output;

pub use call::RtTestsCall;
pub use output::Streams;
