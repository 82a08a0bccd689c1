//! Exit status, as with `diff`.

use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// Done, within limits.
    Done,
    /// A limit was exceeded.
    Exceeded,
    /// Could not: bad request, missing file, missing permission.
    CouldNot,
    /// Ran, but not as asked, or not to the end.
    NotTrustworthy,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Done => 0,
            Status::Exceeded => 1,
            Status::CouldNot => 2,
            Status::NotTrustworthy => 3,
        })
    }
}
