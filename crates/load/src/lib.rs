//! Background loads that conditions are measured under.
//!
//! A load runs as normal threads of this process, so it never outlives it, and tells afterwards
//! how much it really did.

mod cpu;

use std::io;

use howlate_model::{Load, LoadKind, LoadReport};

/// A load that runs until it is stopped or dropped.
pub struct Running(Option<cpu::CpuLoad>);

impl Running {
    /// Starts `load`.
    ///
    /// # Errors
    ///
    /// When its threads cannot be started.
    pub fn start(load: &Load) -> io::Result<Self> {
        if load.parts().iter().any(|part| part.kind != LoadKind::Cpu) {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!("this version has no load `{load}`"),
            ));
        }
        Ok(Self(if load.is_idle() { None } else { Some(cpu::CpuLoad::start()?) }))
    }

    /// Ends it; tells what it did. `None` when there was none.
    pub fn stop(self) -> Option<LoadReport> {
        self.0.map(cpu::CpuLoad::stop)
    }
}
