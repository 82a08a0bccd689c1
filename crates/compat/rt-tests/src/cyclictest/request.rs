//! What comes of a command line.

use crate::compat::Compat;
use crate::cyclictest::options::Options;
use crate::cyclictest::warning::Warning;

/// A command line that can be carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What to do.
    pub options: Options,
    /// What to say beforehand.
    pub warnings: Vec<Warning>,
}

/// Why there is nothing to carry out. The usage is printed on standard output unless one says otherwise.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Help was asked for. Status 0.
    Help(Compat),
    /// An option that nobody knows; the text is `getopt_long`'s, without the program's name. Status 0.
    Unreadable(Compat, String),
    /// Options that cannot be carried out, with the reasons. Status 1.
    Invalid(Compat, Vec<Warning>),
    /// Options that the original ends at with one line, without the usage. Status 1.
    Fatal(Warning),
}
