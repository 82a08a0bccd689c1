//! Background loads that conditions are measured under.
//!
//! A load runs as normal threads of this process, so it never outlives it, and tells afterwards
//! how much it really did.

mod cpu;

use std::io;

use howlate_model::{Load, LoadReport};

/// A load that runs until it is stopped or dropped.
pub struct Running(Option<cpu::CpuLoad>);

impl Running {
    /// Starts `load`.
    ///
    /// # Errors
    ///
    /// When its threads cannot be started.
    pub fn start(load: Load) -> io::Result<Self> {
        Ok(Self(match load {
            Load::Idle => None,
            Load::Cpu => Some(cpu::CpuLoad::start()?),
        }))
    }

    /// Ends it; tells what it did. `None` when there was none.
    pub fn stop(self) -> Option<LoadReport> {
        self.0.map(cpu::CpuLoad::stop)
    }
}
