//! Background loads under which conditions are measured.
//!
//! Each part of a load is this program started again as a helper process, so that it shares neither memory
//! nor settings with what is measured. The helper sets `other`, nice 0 and the requested
//! CPUs, starts the part's workers and ends them when the pipe to its parent closes: on purpose, or because the
//! kernel closed it with a killed process. Workers count operations in memory that the parent reads.

mod duty_cycle;
mod error;
mod external_program;
mod helper;
mod helper_main;
mod preflight;
mod running;
mod scoreboard;
mod share;
mod stderr_tail;
mod steadiness;
mod stress_ng;
mod workers;

mod cpu;
mod disk;
mod files;
mod fork;
mod hackbench;
mod interrupt;
mod memory;
mod network;
mod pipe;
mod timers;

pub use error::StartError;
pub use helper_main::HELPER;
pub use preflight::check;
pub use running::{EndedPart, LoadSample, RunningLoad};
