//! Parses the command line.

use crate::compat::{Compat, UnknownCompat};
use crate::cyclictest::affinity::CpuMasks;
use crate::cyclictest::checks;
use crate::cyclictest::options::{CyclictestEarlyExit, CyclictestRequest};
use crate::cyclictest::raw_options::RawCyclictestOptions;
use crate::cyclictest::table::{CyclictestOption, option_specs};
use crate::cyclictest::warning::CyclictestWarning;
use crate::getopt::getopt;

/// Parses a command line without the program name. `default_compat` applies unless `--compat` is given.
///
/// # Errors
///
/// For `--help`, invalid options and invalid values.
pub fn parse(
    arguments: &[String],
    masks: &CpuMasks,
    default_compat: Compat,
) -> Result<CyclictestRequest, CyclictestEarlyExit> {
    let compat = compat_option(arguments)?.unwrap_or(default_compat);
    let given = getopt(arguments, &option_specs(compat))
        .map_err(|error| CyclictestEarlyExit::GetoptError(compat, error.to_string()))?;
    let mut raw = RawCyclictestOptions::new(compat);
    for option in given {
        if option.id == CyclictestOption::Help {
            return Err(CyclictestEarlyExit::Help(compat));
        }
        raw.apply(&option, masks);
    }
    checks::check(raw, masks)
}

/// The value of `--compat`: it determines how all other arguments are parsed, also those before it.
fn compat_option(arguments: &[String]) -> Result<Option<Compat>, CyclictestEarlyExit> {
    let mut value = None;
    let mut arguments = arguments.iter().take_while(|argument| *argument != "--");
    while let Some(argument) = arguments.next() {
        value = match argument.strip_prefix("--compat") {
            Some("") => arguments.next().map(String::as_str),
            Some(attached) if attached.starts_with('=') => Some(&attached[1..]),
            _ => value,
        };
    }
    let unknown = |error: UnknownCompat| {
        CyclictestEarlyExit::Invalid(
            Compat::default(),
            vec![CyclictestWarning::UnknownCompat { source: "--compat", message: error.to_string() }],
        )
    };
    value.map(|value| value.parse().map_err(unknown)).transpose()
}
