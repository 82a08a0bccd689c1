//! Calls as oslat, hwlatdetect or cyclicdeadline.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::output::Streams;
use howlate_rt_tests::Compat;

use crate::common::COMPAT_VARIABLE;
use crate::error::RtTestsError;
use crate::{cyclicdeadline, hwlatdetect, oslat};

/// The program that howlate stands in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RtTestsProgram {
    Oslat,
    Hwlatdetect,
    Cyclicdeadline,
}

impl RtTestsProgram {
    const ALL: [Self; 3] = [Self::Oslat, Self::Hwlatdetect, Self::Cyclicdeadline];

    const fn name(self) -> &'static str {
        match self {
            Self::Oslat => "oslat",
            Self::Hwlatdetect => "hwlatdetect",
            Self::Cyclicdeadline => "cyclicdeadline",
        }
    }
}

/// A call by the name of such a program, or by howlate's subcommand of that name.
#[derive(Debug, PartialEq, Eq)]
pub struct RtTestsCall {
    program: RtTestsProgram,
    arguments: Vec<String>,
    /// Version in the program name, as in `oslat-2.10`.
    program_compat: Option<Compat>,
}

impl RtTestsCall {
    /// The call, if the program name or the first argument is `oslat`, `oslat-2.10`, `hwlatdetect`…; else `None`.
    pub fn from_arguments(arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut arguments: Vec<String> =
            arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
        let file = Path::new(arguments.first()?).file_name()?.to_string_lossy().into_owned();
        let by_name = |program: RtTestsProgram| {
            let rest = file.strip_prefix(program.name())?;
            let program_compat = rest.strip_prefix('-').and_then(|version| version.parse().ok());
            (rest.is_empty() || program_compat.is_some()).then_some((program, program_compat))
        };
        if let Some((program, program_compat)) = RtTestsProgram::ALL.into_iter().find_map(by_name) {
            return Some(Self { program, arguments: arguments.split_off(1), program_compat });
        }
        let argument = arguments.get(1)?;
        let program = RtTestsProgram::ALL.into_iter().find(|program| argument == program.name())?;
        Some(Self { program, arguments: arguments.split_off(2), program_compat: None })
    }

    /// `howlate oslat` with these arguments.
    pub const fn as_oslat(arguments: Vec<String>) -> Self {
        Self { program: RtTestsProgram::Oslat, arguments, program_compat: None }
    }

    /// `howlate hwlatdetect` with these arguments.
    pub const fn as_hwlatdetect(arguments: Vec<String>) -> Self {
        Self { program: RtTestsProgram::Hwlatdetect, arguments, program_compat: None }
    }

    /// `howlate cyclicdeadline` with these arguments.
    pub const fn as_cyclicdeadline(arguments: Vec<String>) -> Self {
        Self { program: RtTestsProgram::Cyclicdeadline, arguments, program_compat: None }
    }

    /// The arguments without `--compat`, and the version of rt-tests.
    fn split_compat(&self) -> Result<(Vec<String>, Compat), RtTestsError> {
        let mut arguments = self.arguments.clone();
        let index =
            arguments.iter().position(|argument| argument == "--compat" || argument.starts_with("--compat="));
        let option_value = index.map(|index| {
            let argument = arguments.remove(index);
            let attached = argument.strip_prefix("--compat=").map(str::to_owned);
            attached.unwrap_or_else(|| {
                if index < arguments.len() { arguments.remove(index) } else { String::new() }
            })
        });
        let version = option_value.or_else(|| match self.program_compat {
            Some(_) => None,
            None => std::env::var_os(COMPAT_VARIABLE).map(|value| value.to_string_lossy().into_owned()),
        });
        let compat = version
            .map(|text| text.parse::<Compat>().map_err(|error| RtTestsError::Invalid(error.to_string())));
        Ok((arguments, compat.transpose()?.or(self.program_compat).unwrap_or_default()))
    }

    /// Runs as the program.
    pub fn run(&self, streams: Streams) -> ExitCode {
        let status = self.split_compat().and_then(|(arguments, compat)| match self.program {
            RtTestsProgram::Oslat => oslat::run(&arguments, compat, streams),
            RtTestsProgram::Hwlatdetect => hwlatdetect::run(&arguments, streams),
            RtTestsProgram::Cyclicdeadline => cyclicdeadline::run(&arguments, compat, streams),
        });
        let report = |error: RtTestsError| {
            streams.say(&error.text(self.program.name()));
            error.status()
        };
        ExitCode::from(status.unwrap_or_else(report))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(line: &str) -> Option<RtTestsCall> {
        RtTestsCall::from_arguments(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_program_name_or_the_first_argument_selects_the_program() {
        let fields =
            |line: &str| call(line).map(|call| (call.program, call.arguments.len(), call.program_compat));
        assert_eq!(fields("/usr/bin/oslat -D 1"), Some((RtTestsProgram::Oslat, 2, None)));
        assert_eq!(fields("oslat-2.4 -q"), Some((RtTestsProgram::Oslat, 1, Some(Compat::V2_4))));
        assert_eq!(fields("howlate hwlatdetect --watch"), Some((RtTestsProgram::Hwlatdetect, 1, None)));
        assert_eq!(
            fields("cyclicdeadline-2.10"),
            Some((RtTestsProgram::Cyclicdeadline, 0, Some(Compat::V2_10)))
        );
        assert_eq!((fields("howlate gaps"), fields("oslat-x"), fields("howlate")), (None, None, None));
    }

    #[test]
    fn compat_is_removed_from_the_arguments() {
        let split = |line: &str| call(line).unwrap().split_compat().ok();
        let owned =
            |arguments: &[&str]| arguments.iter().map(|argument| (*argument).to_owned()).collect::<Vec<_>>();
        assert_eq!(split("oslat --compat 2.4 -q"), Some((owned(&["-q"]), Compat::V2_4)));
        assert_eq!(split("oslat-2.4 -q --compat=2.10"), Some((owned(&["-q"]), Compat::V2_10)));
        assert_eq!(split("oslat-2.4"), Some((owned(&[]), Compat::V2_4)));
        assert_eq!(split("oslat --compat=3"), None);
    }
}
