//! From words to options.

use crate::affinity::Machine;
use crate::checks;
use crate::compat::{Compat, UnknownCompat};
use crate::draft::Draft;
use crate::getopt::getopt;
use crate::options::Options;
use crate::table::{Opt, known};
use crate::warning::Warning;

/// A command line that can be carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What to do.
    pub options: Options,
    /// What to say beforehand.
    pub warnings: Vec<Warning>,
}

/// Why there is nothing to carry out. In each case the usage is printed on standard output.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Help was asked for. Status 0.
    Help(Compat),
    /// An option that nobody knows; the text is `getopt_long`'s, without the program's name. Status 0.
    Unreadable(Compat, String),
    /// Options that cannot be carried out, with the reasons. Status 1.
    Invalid(Compat, Vec<Warning>),
}

/// Reads a command line, the program's name left out.
///
/// # Errors
///
/// When help was asked for, a word cannot be read, or a value cannot be meant.
pub fn read(words: &[String], machine: &Machine) -> Result<Request, Refusal> {
    let compat = dialect(words)?;
    let given = getopt(words, &known(compat))
        .map_err(|unreadable| Refusal::Unreadable(compat, unreadable.to_string()))?;
    let mut draft = Draft::new(compat);
    for one in given {
        if one.id == Opt::Help {
            return Err(Refusal::Help(compat));
        }
        draft.take(&one, machine);
    }
    checks::finish(draft, machine)
}

/// The dialect must be known before the other words are read, even if they cannot be.
fn dialect(words: &[String]) -> Result<Compat, Refusal> {
    let mut asked = None;
    let mut words = words.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        asked = match word.strip_prefix("--compat") {
            Some("") => words.next().map(String::as_str),
            Some(value) if value.starts_with('=') => Some(&value[1..]),
            _ => asked,
        };
    }
    let Some(asked) = asked else { return Ok(Compat::default()) };
    asked.parse().map_err(|error: UnknownCompat| {
        Refusal::Invalid(Compat::default(), vec![Warning::UnknownCompat(error.to_string())])
    })
}
