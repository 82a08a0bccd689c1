//! Known causes of lateness: made on purpose, and stamped by whoever makes them.
//!
//! For each class a helper process sleeps until one time after the other, as a periodic program does, and others get in its
//! way: this program started again, see `howlate_linux::helper`. All read `CLOCK_MONOTONIC` themselves, so that what
//! they stamp owes nothing to any tracer.

mod class;
mod expected;
mod request;
mod injector;
mod serve;
mod work;

mod packet_flood;
mod timer_burst;
mod cpu_hog;
mod measured_thread;
mod competitor;
mod sigstop;
mod clock_reader;

pub use class::{Class, UnknownClass};
pub use request::{Order, Part, Told};
pub use injector::{NotMade, Party};
pub use serve::HELPER;
