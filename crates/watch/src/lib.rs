//! Programs that exist already and know nothing of howlate: finds them, starts them, and knows their threads.
//!
//! Nothing is put into them, and nothing of them is changed: they are read of in `/proc`.

mod error;
mod identity;
mod process;
mod program;
mod threads;

pub use error::WatchError;
pub use identity::{Identities, Identity};
pub use process::{Process, find};
pub use program::{Program, Stopped};
pub use threads::{Looked, Thread, Threads};
