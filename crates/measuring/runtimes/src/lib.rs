//! Sleeps of language runtimes, measured from outside.
//!
//! Each runtime has a small probe program in `crates/measuring/runtimes/programs/`, which is embedded in howlate. It is prepared
//! once (written to a file, compiled if necessary) and then started for each turn with exactly the settings of the
//! condition, like with `chrt`, `nice` and `taskset`. It prints two clock readings for each sleep; these become the same
//! lines of the recording as those of a measuring thread.
//!
//! This crate installs nothing and never runs more than one program at a time.

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

pub use error::{MissingRuntime, ProbeError, ProtocolError};
pub use program::Probes;
pub use run::ProbeEngine;
pub use toolchain::missing;
