//! Sleeps of language runtimes, measured from outside.
//!
//! Each runtime has one small program in `crates/measuring/runtimes/programs/`, carried in this one. It is prepared once (written
//! down, compiled where needed) and then started for each turn, under exactly the settings of the
//! condition, as `chrt`, `nice` and `taskset` would start it. It prints two clock readings for each
//! sleep; these become the same lines of the recording as those of a measuring thread.
//!
//! What it does not do: install anything, or run more than one program at a time.

mod blocks;
mod cache;
mod clock_conversion;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod probe_process;
mod program;
mod protocol;
mod recipe;
mod run;
mod settings;
mod toolchain;

pub use error::{Failed, Missing, ProtocolError};
pub use program::Probes;
pub use run::Programs;
pub use toolchain::missing;
