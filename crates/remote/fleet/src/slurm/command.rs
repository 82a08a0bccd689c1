//! Running Slurm's programs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::FleetError;
use crate::process::{Run, as_file};

/// How long a controller may take to answer; its clients themselves try for some time.
const ANSWER: Duration = Duration::from_secs(120);
/// The same of one that is asked to forget what was begun, once somebody waits for the end.
const FAREWELL: Duration = Duration::from_secs(10);

/// Slurm's programs, as long as nobody interrupts.
#[derive(Clone, Copy)]
pub(super) struct Programs<'a> {
    /// Set when no answer is to be waited for any longer.
    pub(super) interrupted: &'a AtomicBool,
}

impl Programs<'_> {
    pub(super) fn is_interrupted(self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// What a program says that ends well.
    pub(super) fn output(
        self,
        program: &'static str,
        words: &[String],
        input: Option<&str>,
    ) -> Result<String, FleetError> {
        output_of(program, words, input, ANSWER, Some(self.interrupted))
    }

    /// The same of what must be tried after an interruption as well, for a while.
    pub(super) fn last_output(self, program: &'static str, words: &[String]) -> Result<String, FleetError> {
        let patience = if self.is_interrupted() { FAREWELL } else { ANSWER };
        output_of(program, words, None, patience, None)
    }
}

fn output_of(
    program: &'static str,
    words: &[String],
    input: Option<&str>,
    patience: Duration,
    interrupted: Option<&AtomicBool>,
) -> Result<String, FleetError> {
    let refused = |said: String| FleetError::Refused { program, said };
    let input = input.map(as_file).transpose().map_err(|error| refused(error.to_string()))?;
    let said = Run { program, words, input, patience, interrupted }.output()?;
    if said.is_success() { Ok(said.out) } else { Err(refused(said.reason())) }
}
