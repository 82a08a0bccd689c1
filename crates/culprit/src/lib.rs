//! Known causes of lateness: made on purpose, and stamped by whoever makes them.
//!
//! For each class a helper process sleeps until one time after the other, as a periodic program does, and others get in its
//! way: this program started again, see `howlate_linux::helper`. All read `CLOCK_MONOTONIC` themselves, so that what
//! they stamp owes nothing to any tracer.

mod class;
mod known;
mod order;
mod party;
mod serve;
mod work;

mod flood;
mod herd;
mod hog;
mod measured;
mod rival;
mod stopper;
mod watch;

pub use class::{Class, UnknownClass};
pub use order::{Order, Part, Told};
pub use party::{NotMade, Party};
pub use serve::HELPER;
