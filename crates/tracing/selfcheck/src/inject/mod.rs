//! Known causes of lateness: made on purpose, and stamped by whoever makes them.
//!
//! For each class a helper process sleeps until one time after the other, as a periodic program does, and others get in its
//! way: this program started again, see `howlate_linux::helper`. All read `CLOCK_MONOTONIC` themselves, so that what
//! they stamp owes nothing to any tracer.

mod class;
mod expected;
mod injector;
mod request;
mod serve;
mod work;

mod clock_reader;
mod competitor;
mod cpu_hog;
mod machine_stop;
mod measured_thread;
mod packet_flood;
mod sigstop;
mod timer_burst;

pub use class::{Class, UnknownClass};
pub(crate) use injector::Party;
pub(crate) use request::{InjectorReport, Order, Part};
pub use serve::HELPER;
