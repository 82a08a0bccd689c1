//! Reads what every thread of the machine waits for.

#[cfg(target_endian = "little")]
mod bpf;
#[cfg(target_endian = "little")]
mod delta;
mod proc;
#[cfg(target_endian = "little")]
mod record;

use std::fmt;
use std::str::FromStr;

use howlate_model::{Span, TracerRefusal, WaitsReport};
use howlate_procfs::Root;

/// Source of the waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitSource {
    /// BPF programs: every wait is counted, and its kernel stack is sampled.
    Bpf,
    /// `/proc`: every wait is counted, and the kernel function in which own programs sleep is sampled.
    Proc,
}

/// The source that the user chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitChoice {
    /// The best available one.
    #[default]
    Auto,
    /// This one, or an error.
    Only(WaitSource),
}

impl FromStr for WaitChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "bpf" => Ok(Self::Only(WaitSource::Bpf)),
            "proc" => Ok(Self::Only(WaitSource::Proc)),
            _ => Err(format!("`{text}` does not see waits; write auto, bpf or proc")),
        }
    }
}

impl WaitSource {
    /// As in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bpf => "bpf",
            Self::Proc => "proc",
        }
    }
}

impl fmt::Display for WaitSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

pub trait WaitReader {
    fn source(&self) -> WaitSource;

    /// Longest time between two readings.
    fn every(&self) -> Span;

    /// Waits since the last call, or since the start.
    ///
    /// # Errors
    ///
    /// When the kernel refuses what it allowed before.
    fn read(&mut self) -> Result<WaitsReport, TracerRefusal>;
}

/// Starts to count waits until the reader is dropped; also returns why a better source is not available.
///
/// # Errors
///
/// When the chosen source is not available.
pub fn read_waits(choice: WaitChoice) -> Result<(Box<dyn WaitReader>, Option<TracerRefusal>), TracerRefusal> {
    if !Root::live().has_processes() {
        return Err(TracerRefusal::NoProc);
    }
    match choice {
        WaitChoice::Only(WaitSource::Bpf) => Ok((from_bpf()?, None)),
        WaitChoice::Only(WaitSource::Proc) => Ok((from_proc()?, None)),
        WaitChoice::Auto => match from_bpf() {
            Ok(reader) => Ok((reader, None)),
            // The requirements of BPF are the more helpful message.
            Err(refusal) => Ok((from_proc().map_err(|_| refusal.clone())?, Some(refusal))),
        },
    }
}

fn from_proc() -> Result<Box<dyn WaitReader>, TracerRefusal> {
    Ok(Box::new(proc::ProcWaitReader::begin(Root::live())?))
}

#[cfg(target_endian = "little")]
fn from_bpf() -> Result<Box<dyn WaitReader>, TracerRefusal> {
    Ok(Box::new(bpf::BpfWaitReader::begin()?))
}

#[cfg(not(target_endian = "little"))]
fn from_bpf() -> Result<Box<dyn WaitReader>, TracerRefusal> {
    Err(TracerRefusal::Processor)
}
