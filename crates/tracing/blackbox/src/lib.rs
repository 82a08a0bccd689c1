//! The black box: every thread of the machine, for weeks. What is late becomes a line at once, with who it was; how long all
//! others waited becomes a line a minute. Programs may ask it to keep what all CPUs have just done, and hand it the turns of
//! their loops.
//!
//! ```text
//! trace ──► late waits, at once ──► chosen? ──► parts and causes ──► incident ─────────────┐
//!      └──► waits of each group, once a minute ──► chosen? ──► minute ─────────────────────┴──► files of a folder
//! ```

mod action;
mod background_priority;
mod chosen;
mod command_word;
mod explain;
mod extent;
pub mod fuzzing;
mod held;
mod install;
mod keeping;
mod notify;
mod offered_loops;
mod rate;
mod recorder;
mod requests;
mod snap;
mod snapped;
mod thread_owner;
mod threshold;
mod users;

pub use action::Action;
pub use chosen::{Chosen, PolicyName};
pub use extent::{ByteSize, age};
pub use howlate_recording::{AtMost, Bounds};
pub use install::{Installed, NotInstalled, Unit};
pub use keeping::DiskNews;
pub use recorder::{Asked, Display, Finished, NotRecorded, Requests, record};
pub use requests::NotListening;
pub use snap::{NotSnapped, snap};
pub use users::{uid_of, user_names};
