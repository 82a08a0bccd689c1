//! Running Slurm's programs.

use std::time::Duration;

use crate::FleetError;
use crate::process::{Run, as_file};

/// How long a controller may take to answer; its clients themselves try for some time.
const ANSWER: Duration = Duration::from_secs(120);

/// What a program says that ends well.
pub(super) fn output(
    program: &'static str,
    words: &[String],
    input: Option<&str>,
) -> Result<String, FleetError> {
    let refused = |said: String| FleetError::Refused { program, said };
    let input = input.map(as_file).transpose().map_err(|error| refused(error.to_string()))?;
    let said = Run { program, words, input, patience: ANSWER, interrupted: None }.output()?;
    if said.is_success() { Ok(said.out) } else { Err(refused(said.reason())) }
}
