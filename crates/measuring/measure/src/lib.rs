//! The measuring loops, and what keeps them undisturbed.
//!
//! Measuring threads run one short loop — wait, read the clock, store — and write only their
//! own memory. The caller's thread is the observer: it empties their rings, hands on what it
//! finds as lines of the recording, and stops them. It sits on CPUs that are not measured,
//! where there are any.

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

pub use deadline::{DeadlineEnd, DeadlinePlan, DeadlineRefused, DeadlineThread, DeadlineThreads, Step};
pub use instrument::measure_instrument;
pub use notify::{HELPERS, Notifications, is_allowed};
pub use run::Threads;
pub use settings::{Process, allow_realtime};
pub use spin::{Counted, NotStarted, SpinPlan, Spinners, counted, shortest_turn};
