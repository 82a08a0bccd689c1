//! Watches a program and records it: the tracer's events of its threads, the kernel's statistics of them, and the turns of the loops
//! that it has marked.
//!
//! It joins `trace`, `watched-program` and the recorder of `session`. It knows neither command line nor terminal: a [`WatchDisplay`]
//! shows the progress, and other threads of howlate read the analysis by an [`AnalysisQuery`].

mod attachment;
mod background_priority;
mod chosen_tracer;
mod event_loops;
mod followed_threads;
mod loop_sleeps;
mod program_facts;
mod requests;
mod schedstats;
mod session;

pub use attachment::{Attachment, Visibility, WatchRequest};
pub use chosen_tracer::{AttachError, ChosenTracer};
pub use requests::RequestObserver;
pub use session::{AnalysisQuery, WatchDisplay, WatchOutcome, WatchSession};
