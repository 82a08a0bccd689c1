//! Settings of the machine that a measurement changes, and that are put back afterwards.
//!
//! Before anything is changed, this program is started again as a guardian that knows what was
//! there before. The guardian puts it back when its standard input ends: because the
//! measurement is over, or because the kernel closed it with a killed process. So not even
//! `SIGKILL` leaves the machine changed.
//!
//! What is changed also stands in a journal, which both processes hold locked: two runs cannot take
//! each other's settings for the machine's own, a killed guardian is noticed and stood in for, and where both
//! were killed, the next start puts back what they left ([`put_back_leftovers`]).

mod break_trace;
mod guardian;
mod helper_main;
mod journal;
mod leftover_finding;
mod protocol;
mod quota_cgroup;
mod registry;
mod requested;
mod saved_setting;
mod scope;
mod setting;
mod thread;

pub use break_trace::Trace;
pub use helper_main::GUARDIAN;
pub use journal::{LockError, put_back_leftovers, restore, unrestored};
pub use leftover_finding::leftover_finding;
pub use quota_cgroup::Group;
pub use requested::{Wanted, WantedError};
pub use scope::{Applied, Guard};
pub use setting::not_as_before;
pub use thread::{Subject, is_there, read_of_thread, setting_of_thread};
