//! What every thread of the machine waits for.

#[cfg(target_endian = "little")]
mod bpf;
#[cfg(target_endian = "little")]
mod earlier;
#[cfg(target_endian = "little")]
mod record;

use std::fmt;

use howlate_model::WaitsRead;

use crate::Refusal;

/// Where it is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitSource {
    /// Programs in the kernel: every wait is counted, and its place is looked at now and then.
    Bpf,
}

impl WaitSource {
    /// As results name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bpf => "bpf",
        }
    }
}

impl fmt::Display for WaitSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Reads what threads wait for.
pub trait WaitReader {
    /// Where it is known from.
    fn source(&self) -> WaitSource;

    /// What there was since the last call, or since it was opened. To be called at least once a second: there is room for
    /// so many threads that end.
    ///
    /// # Errors
    ///
    /// When the kernel refuses what it allowed before.
    fn read(&mut self) -> Result<WaitsRead, Refusal>;
}

/// Begins to add up; ends when it is dropped.
///
/// # Errors
///
/// When it cannot be had here.
pub fn read_waits() -> Result<Box<dyn WaitReader>, Refusal> {
    #[cfg(target_endian = "little")]
    return Ok(Box::new(bpf::Counting::begin()?));
    #[cfg(not(target_endian = "little"))]
    Err(Refusal::Processor)
}
