//! The measuring loops and their threads.
//!
//! Measuring threads run one short loop — wait, read the clock, store — and write only their
//! own memory. The caller's thread is the observer: it drains their rings, emits lines of the
//! recording, and stops them. It runs on CPUs that are not measured, where there are any.

mod collector;
mod deadline;
#[doc(hidden)]
pub mod fuzzing;
mod instrument;
mod loops;
mod notify;
mod observer;
mod ring;
mod run;
mod settings;
mod spin;
mod thread;
mod wait;
mod wait_clock;

pub use deadline::{
    DeadlineEnd, DeadlinePlan, DeadlineSetupError, DeadlineStep, DeadlineThread, DeadlineThreads,
};
pub use instrument::measure_instrument;
pub use notify::{HELPERS, NotifyEngine, is_allowed};
pub use run::ThreadEngine;
pub use settings::{ProcessSetup, allow_realtime};
pub use spin::{SpinPlan, SpinStartError, Spinners, TickSource, shortest_iteration, tick_source};
