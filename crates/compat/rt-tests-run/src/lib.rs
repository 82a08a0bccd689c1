//! What oslat, hwlatdetect and cyclicdeadline do, done by howlate: `howlate oslat`, `howlate hwlatdetect`,
//! `howlate cyclicdeadline`, and howlate under these names.
//!
//! The options and the texts are in `howlate-rt-tests`, the spinning threads in `howlate-gaps`, those with deadlines in
//! `howlate-measure`. Nothing is printed here: who calls hands in its streams.

mod call;
mod cyclicdeadline;
mod deadline_refusal;
mod failure;
mod hwlatdetect;
mod interruption;
mod moved;
mod oslat;

pub use call::Call;
