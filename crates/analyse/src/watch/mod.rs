//! Programs that were watched: from what a tracer saw of their threads to wake-ups, rhythms and causes. Pure.
//!
//! `awakening` says of one sleep what it was to end with and when; `grid` finds strict rhythms; `thread` sums up one
//! thread; `rhythm` reads those sums from a recording.

mod awakening;
mod grid;
mod rhythm;
mod thread;

pub use awakening::Awakening;
pub use rhythm::{Rhythm, RhythmNumbers};
pub use thread::Thread;
