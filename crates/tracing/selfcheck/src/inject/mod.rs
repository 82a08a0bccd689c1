//! Injects known causes of lateness, and records when.
//!
//! For each class of causes a helper process sleeps until one time after the other, as a periodic program does, and others disturb it:
//! all are this program started again, see `howlate_linux::helper`. All read `CLOCK_MONOTONIC` themselves, so that their stamps
//! depend on no tracer.

mod class;
mod injector;
mod serve;
mod task;

mod busy_thread;
mod clock_reader;
mod machine_stop;
mod measured_thread;
mod packet_flood;
mod sigstop;
mod timer_burst;

pub use class::{CauseClass, UnknownClass};
pub(crate) use injector::HelperProcess;
pub use serve::HELPER;
pub(crate) use task::{HelperRole, HelperTask, InjectorReport};
