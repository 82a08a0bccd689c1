//! What every thread of the machine waits for.

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

/// Where it is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitSource {
    /// Programs in the kernel: every wait is counted, and its place is looked at now and then.
    Bpf,
    /// Accounts in `/proc`: every wait is counted, and where one's own programs sleep is looked at now and then.
    Proc,
}

/// Which of them is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitChoice {
    /// The best that can be had.
    #[default]
    Auto,
    /// This one or none.
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
    /// As results name it.
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

/// Reads what threads wait for.
pub trait WaitReader {
    /// Where it is known from.
    fn source(&self) -> WaitSource;

    /// How often it is to be read at least.
    fn every(&self) -> Span;

    /// What there was since the last call, or since it was opened.
    ///
    /// # Errors
    ///
    /// When the kernel refuses what it allowed before.
    fn read(&mut self) -> Result<WaitsReport, TracerRefusal>;
}

/// Begins to add up, which ends when it is dropped; and why a better source cannot be had.
///
/// # Errors
///
/// When what is asked for cannot be had here.
pub fn read_waits(choice: WaitChoice) -> Result<(Box<dyn WaitReader>, Option<TracerRefusal>), TracerRefusal> {
    if !Root::live().has_processes() {
        return Err(TracerRefusal::NoProc);
    }
    match choice {
        WaitChoice::Only(WaitSource::Bpf) => Ok((from_kernel()?, None)),
        WaitChoice::Only(WaitSource::Proc) => Ok((from_proc()?, None)),
        WaitChoice::Auto => match from_kernel() {
            Ok(reader) => Ok((reader, None)),
            // What the better one takes says more than what the other one lacks.
            Err(refusal) => Ok((from_proc().map_err(|_| refusal.clone())?, Some(refusal))),
        },
    }
}

fn from_proc() -> Result<Box<dyn WaitReader>, TracerRefusal> {
    Ok(Box::new(proc::Sampling::begin(Root::live())?))
}

#[cfg(target_endian = "little")]
fn from_kernel() -> Result<Box<dyn WaitReader>, TracerRefusal> {
    Ok(Box::new(bpf::Counting::begin()?))
}

#[cfg(not(target_endian = "little"))]
fn from_kernel() -> Result<Box<dyn WaitReader>, TracerRefusal> {
    Err(TracerRefusal::Processor)
}
