//! Finds or starts the programs to watch, and follows their threads.
//!
//! Nothing is injected into them, and nothing of them is changed: they are read in `/proc`. A program that howlate starts is given
//! shared memory, to which it may write the turns of the loops that its author has marked.

mod error;
pub mod fuzzing;
mod loops;
mod process;
mod program;
mod realtime_limit;
mod symbolize;
mod target;
mod thread_identity;
mod threads;

pub use error::{ProgramFailed, WatchError, start_command};
pub use loops::{MarkedLoop, MarkedLoops, MarkedTurn, UnmeasuredSpans, clock_is_tsc};
pub use process::{NamedProcess, ProcessCgroups, find_process, process_exists};
pub use program::{ProgramExit, StartedProgram};
pub use realtime_limit::RealtimeLimit;
pub use symbolize::Symbolizer;
pub use target::WatchTarget;
pub use thread_identity::{ThreadIdentities, ThreadIdentity};
pub use threads::{ThreadChanges, ThreadStart, WatchedThread, WatchedThreads, in_force};
