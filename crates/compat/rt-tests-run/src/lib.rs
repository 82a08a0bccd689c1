//! `howlate cyclictest`, `howlate oslat`, `howlate hwlatdetect` and `howlate cyclicdeadline`, and howlate under these names.
//!
//! Options and texts are in `howlate-rt-tests`, the spinning threads in `howlate-gaps`, periodic threads in
//! `howlate-measure`. Nothing is printed here: the caller passes its [`Streams`].

mod call;
mod cyclicdeadline;
pub mod cyclictest;
mod deadline_refusal;
mod failure;
mod hwlatdetect;
mod interruption;
mod kernel_trace;
mod moved;
mod oslat;
mod run_facts;
mod streams;

pub use call::Call;
pub use streams::Streams;
