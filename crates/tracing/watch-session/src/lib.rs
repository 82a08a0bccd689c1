//! Watches a program from the first look to the last line of the recording: what the tracer saw of its threads, what the kernel
//! accounts to them, and the turns of loops that it has marked become lines.
//!
//! It joins `trace`, `watched-program` and a session's recorder, and knows neither command line nor terminal: what is shown meanwhile goes to a
//! [`Display`] that it is handed, and whoever else wants to know sends a [`Look`].

mod accounts;
mod attached;
mod background_priority;
mod error;
mod event_loops;
mod followed;
mod loop_sleeps;
mod program_facts;
mod traced;
mod watching;

pub use attached::{Attached, Request, Seen};
pub use error::NotWatched;
pub use traced::ChosenTracer;
pub use watching::{Display, Ended, Look, Watching};
