//! Errors that end a run, with their exit status.

use std::io;

use howlate_measure::ProcessSetup;
use howlate_model::{Caveat, EngineError, Policy};
use howlate_recording::CreateError;

/// An error that ends the run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CyclictestError {
    /// The original's message, which people search for, then the reason and a hint.
    #[error(
        "Unable to change scheduling policy!\nProbably missing capabilities, either run as root or \
         increase RLIMIT_RTPRIO limits.\nWARN: {policy}: {reason}\nhint: {remedy}"
    )]
    Policy { policy: Policy, reason: io::Error, remedy: String },
    #[error("FATAL: timerthread{thread}: failed to set priority to {priority}")]
    Priority { thread: u32, priority: u32 },
    #[error("mlockall: {0}")]
    Mlockall(String),
    #[error("FATAL: SMI counter is not supported on this processor")]
    NoSmi,
    #[error("FATAL: cannot read the SMI counter of CPU {cpu} ({path}): {source}")]
    Smi { cpu: u32, path: String, source: io::Error },
    #[error("FATAL: {0}")]
    Recording(#[from] CreateError),
    #[error("FATAL: {0}")]
    Engine(#[from] EngineError),
    #[error("FATAL: cannot receive signals: {0}")]
    Signals(io::Error),
    #[error("FATAL: cannot write the result: {0}")]
    Output(#[from] io::Error),
    #[error("FATAL: thread {thread} could not go on: {reason}")]
    Thread { thread: u32, reason: String },
}

impl CyclictestError {
    /// Whole lines for standard error; empty if the reader closed the pipe, as in `… | head`.
    pub(crate) fn message(&self) -> String {
        if self.is_broken_pipe() { String::new() } else { format!("{}\n", self.to_string().trim_end()) }
    }

    /// As in the original: 255 if memory cannot be locked, the status of `SIGPIPE` in a shell if the reader closed the
    /// pipe, otherwise 1.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Self::Mlockall(_) => 255,
            _ if self.is_broken_pipe() => 128 + 13,
            _ => 1,
        }
    }

    fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Why memory is not locked; empty if it is.
pub(crate) fn memory_reason(process: &ProcessSetup) -> String {
    let reason = process.caveats.iter().find_map(|caveat| match caveat {
        Caveat::MemoryNotLocked { reason } => Some(reason.to_string()),
        _ => None,
    });
    reason.unwrap_or_default()
}

/// Message that `/dev/cpu_dma_latency` is not held.
pub(crate) fn dma_latency_reason(process: &ProcessSetup) -> String {
    let reason = process.caveats.iter().find_map(|caveat| match caveat {
        Caveat::DmaLatencyRefused { reason, .. } => Some(reason.to_string()),
        _ => None,
    });
    format!("cannot set /dev/cpu_dma_latency: {}", reason.unwrap_or_default())
}
