//! Runs Slurm's programs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::FleetError;
use crate::process::{CommandRun, as_file};

/// How long a controller may take to answer; its clients themselves try for some time.
const ANSWER: Duration = Duration::from_secs(120);
/// Time limit of clean-up after an interruption.
const CLEANUP: Duration = Duration::from_secs(10);

/// Runs Slurm's programs until an interruption.
#[derive(Clone, Copy)]
pub(super) struct SlurmClient<'a> {
    /// Set when no answer is to be waited for any longer.
    pub(super) interrupted: &'a AtomicBool,
}

impl SlurmClient<'_> {
    pub(super) fn is_interrupted(self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Standard output on success.
    pub(super) fn output(
        self,
        program: &'static str,
        arguments: &[String],
        input: Option<&str>,
    ) -> Result<String, FleetError> {
        output_of(program, arguments, input, ANSWER, Some(self.interrupted))
    }

    /// Also runs after an interruption, for a short time.
    pub(super) fn cleanup_output(
        self,
        program: &'static str,
        arguments: &[String],
    ) -> Result<String, FleetError> {
        let patience = if self.is_interrupted() { CLEANUP } else { ANSWER };
        output_of(program, arguments, None, patience, None)
    }
}

fn output_of(
    program: &'static str,
    arguments: &[String],
    input: Option<&str>,
    patience: Duration,
    interrupted: Option<&AtomicBool>,
) -> Result<String, FleetError> {
    let refused = |message: String| FleetError::Refused { program, message };
    let input = input.map(as_file).transpose().map_err(|error| refused(error.to_string()))?;
    let output = CommandRun { program, arguments, input, patience, interrupted }.output()?;
    if output.is_success() { Ok(output.out) } else { Err(refused(output.reason())) }
}
