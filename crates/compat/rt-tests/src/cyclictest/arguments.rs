//! From words to options.

use crate::compat::{Compat, UnknownCompat};
use crate::cyclictest::affinity::CpuMasks;
use crate::cyclictest::checks;
use crate::cyclictest::draft::Draft;
use crate::cyclictest::request::{Refusal, Request};
use crate::cyclictest::table::{Opt, known};
use crate::cyclictest::warning::Warning;
use crate::getopt::getopt;

/// Reads a command line, the program's name left out; `dialect` is spoken unless the words ask for another.
///
/// # Errors
///
/// When help was asked for, a word cannot be read, or a value cannot be meant.
pub fn read(words: &[String], masks: &CpuMasks, dialect: Compat) -> Result<Request, Refusal> {
    let compat = asked_dialect(words)?.unwrap_or(dialect);
    let given = getopt(words, &known(compat))
        .map_err(|unreadable| Refusal::Unreadable(compat, unreadable.to_string()))?;
    let mut draft = Draft::new(compat);
    for one in given {
        if one.id == Opt::Help {
            return Err(Refusal::Help(compat));
        }
        draft.take(&one, masks);
    }
    checks::finish(draft, masks)
}

/// The dialect must be known before the other words are read, even if they cannot be.
fn asked_dialect(words: &[String]) -> Result<Option<Compat>, Refusal> {
    let mut asked = None;
    let mut words = words.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        asked = match word.strip_prefix("--compat") {
            Some("") => words.next().map(String::as_str),
            Some(value) if value.starts_with('=') => Some(&value[1..]),
            _ => asked,
        };
    }
    let unknown = |error: UnknownCompat| {
        Refusal::Invalid(
            Compat::default(),
            vec![Warning::UnknownCompat { from: "--compat", text: error.to_string() }],
        )
    };
    asked.map(|asked| asked.parse().map_err(unknown)).transpose()
}
