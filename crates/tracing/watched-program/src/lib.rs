//! Programs that exist already and know nothing of howlate: finds them, starts them, and knows their threads.
//!
//! Nothing is put into them, and nothing of them is changed: they are read of in `/proc`. A program that is started is handed
//! memory, in which it may leave the turns of loops that its author has marked.

mod error;
pub mod fuzzing;
mod in_force;
mod loops;
mod process;
mod process_cgroups;
mod program;
mod realtime_time;
mod subject;
mod symbolize;
mod thread_names;
mod threads;

pub use error::{ProgramFailed, WatchError, started_as};
pub use in_force::in_force;
pub use loops::{Loops, Marked, MarkedTurn, SpansLeftOut, ticks_are_the_clock};
pub use process::{Process, find, is_there};
pub use process_cgroups::ProcessGroups;
pub use program::{Program, Stopped};
pub use realtime_time::RealtimeTime;
pub use subject::Subject;
pub use symbolize::Functions;
pub use thread_names::{Identities, Identity};
pub use threads::{Looked, ThreadStart, Threads, WatchedThread};
