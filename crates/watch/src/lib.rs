//! Programs that exist already and know nothing of howlate: finds them, starts them, and knows their threads.
//!
//! Nothing is put into them, and nothing of them is changed: they are read of in `/proc`. A program that is started is handed
//! memory, in which it may leave the turns of loops that its author has marked.

mod error;
pub mod fuzzing;
mod identity;
mod loops;
mod process;
mod program;
mod threads;

pub use error::WatchError;
pub use identity::{Identities, Identity};
pub use loops::{Loops, Marked, ticks_are_the_clock};
pub use process::{Process, find};
pub use program::{Program, Stopped};
pub use threads::{Looked, ThreadStart, Threads, WatchedThread};
