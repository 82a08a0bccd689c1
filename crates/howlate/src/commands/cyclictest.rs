//! `howlate cyclictest`, and howlate under the name `cyclictest`.

use std::process::ExitCode;

use howlate_cyclictest_run::{Call, Streams};

use crate::startup::clear_up;
use crate::terminal::{print_as_is, say};

/// Does what cyclictest would do.
pub(crate) fn run(call: &Call) -> ExitCode {
    call.run(Streams { print: print_as_is, say }, clear_up)
}
