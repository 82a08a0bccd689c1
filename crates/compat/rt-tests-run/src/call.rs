//! A call in another program's place.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::streams::Streams;
use howlate_rt_tests::Compat;

use crate::failure::Failure;
use crate::{cyclicdeadline, hwlatdetect, oslat};

/// Says the dialect where neither `--compat` nor the program's name does.
const DIALECT: &str = "HOWLATE_COMPAT";

/// Whose place is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Oslat,
    Hwlatdetect,
    Cyclicdeadline,
}

impl Program {
    const ALL: [Self; 3] = [Self::Oslat, Self::Hwlatdetect, Self::Cyclicdeadline];

    const fn name(self) -> &'static str {
        match self {
            Self::Oslat => "oslat",
            Self::Hwlatdetect => "hwlatdetect",
            Self::Cyclicdeadline => "cyclicdeadline",
        }
    }
}

/// A call as one of them: under its name, or by the command.
#[derive(Debug, PartialEq, Eq)]
pub struct Call {
    program: Program,
    words: Vec<String>,
    /// The dialect that the program's name asks for.
    named: Option<Compat>,
}

impl Call {
    /// The call, if the program's name or the first word says so: `oslat`, `oslat-2.10`, `hwlatdetect`.
    pub fn from_arguments(arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut words: Vec<String> = arguments.map(|word| word.to_string_lossy().into_owned()).collect();
        let file = Path::new(words.first()?).file_name()?.to_string_lossy().into_owned();
        let by_name = |program: Program| {
            let rest = file.strip_prefix(program.name())?;
            let named = rest.strip_prefix('-').and_then(|version| version.parse().ok());
            (rest.is_empty() || named.is_some()).then_some((program, named))
        };
        if let Some((program, named)) = Program::ALL.into_iter().find_map(by_name) {
            return Some(Self { program, words: words.split_off(1), named });
        }
        let word = words.get(1)?;
        let program = Program::ALL.into_iter().find(|program| word == program.name())?;
        Some(Self { program, words: words.split_off(2), named: None })
    }

    /// A call of oslat by the command, with these words behind it.
    pub const fn as_oslat(words: Vec<String>) -> Self {
        Self { program: Program::Oslat, words, named: None }
    }

    /// A call of hwlatdetect by the command, with these words behind it.
    pub const fn as_hwlatdetect(words: Vec<String>) -> Self {
        Self { program: Program::Hwlatdetect, words, named: None }
    }

    /// A call of cyclicdeadline by the command, with these words behind it.
    pub const fn as_cyclicdeadline(words: Vec<String>) -> Self {
        Self { program: Program::Cyclicdeadline, words, named: None }
    }

    /// The words but for `--compat`, and the dialect that is asked for.
    fn dialect(&self) -> Result<(Vec<String>, Compat), Failure> {
        let mut words = self.words.clone();
        let place = words.iter().position(|word| word == "--compat" || word.starts_with("--compat="));
        let asked = place.map(|place| {
            let word = words.remove(place);
            let joined = word.strip_prefix("--compat=").map(str::to_owned);
            joined.unwrap_or_else(|| if place < words.len() { words.remove(place) } else { String::new() })
        });
        let asked = asked.or_else(|| match self.named {
            Some(_) => None,
            None => std::env::var_os(DIALECT).map(|asked| asked.to_string_lossy().into_owned()),
        });
        let compat =
            asked.map(|text| text.parse::<Compat>().map_err(|error| Failure::Refused(error.to_string())));
        Ok((words, compat.transpose()?.or(self.named).unwrap_or_default()))
    }

    /// Does what the program would do.
    pub fn run(&self, streams: Streams) -> ExitCode {
        let status = self.dialect().and_then(|(words, compat)| match self.program {
            Program::Oslat => oslat::run(&words, compat, streams),
            Program::Hwlatdetect => hwlatdetect::run(&words, streams),
            Program::Cyclicdeadline => cyclicdeadline::run(&words, compat, streams),
        });
        let said = |failure: Failure| {
            streams.say(&failure.text(self.program.name()));
            failure.status()
        };
        ExitCode::from(status.unwrap_or_else(said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(line: &str) -> Option<Call> {
        Call::from_arguments(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_name_or_the_first_word_says_whose_place_is_taken() {
        let of = |line: &str| call(line).map(|call| (call.program, call.words.len(), call.named));
        assert_eq!(of("/usr/bin/oslat -D 1"), Some((Program::Oslat, 2, None)));
        assert_eq!(of("oslat-2.4 -q"), Some((Program::Oslat, 1, Some(Compat::V2_4))));
        assert_eq!(of("howlate hwlatdetect --watch"), Some((Program::Hwlatdetect, 1, None)));
        assert_eq!(of("cyclicdeadline-2.10"), Some((Program::Cyclicdeadline, 0, Some(Compat::V2_10))));
        assert_eq!((of("howlate gaps"), of("oslat-x"), of("howlate")), (None, None, None));
    }

    #[test]
    fn the_dialect_is_taken_out_of_the_words() {
        let dialect = |line: &str| call(line).unwrap().dialect().ok();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(dialect("oslat --compat 2.4 -q"), Some((words(&["-q"]), Compat::V2_4)));
        assert_eq!(dialect("oslat-2.4 -q --compat=2.10"), Some((words(&["-q"]), Compat::V2_10)));
        assert_eq!(dialect("oslat-2.4"), Some((words(&[]), Compat::V2_4)));
        assert_eq!(dialect("oslat --compat=3"), None);
    }
}
