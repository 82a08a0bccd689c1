//! `howlate cyclictest`, `oslat`, `hwlatdetect` and `cyclicdeadline`, and howlate under these names.

use std::process::ExitCode;

use howlate_cyclictest_run::{Call, Streams};
use howlate_rt_tests_run::Call as Other;

use crate::startup::clear_up;
use crate::terminal::{print_as_is, say};

/// Does what cyclictest would do.
pub(crate) fn run(call: &Call) -> ExitCode {
    call.run(Streams { print: print_as_is, say }, clear_up)
}

/// Does what oslat, hwlatdetect or cyclicdeadline would do.
pub(crate) fn run_other(call: &Other) -> ExitCode {
    call.run(Streams { print: print_as_is, say })
}
