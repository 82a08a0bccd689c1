//! `howlate oslat`, `howlate hwlatdetect`, and howlate under these names.

use std::process::ExitCode;

use howlate_as_cyclictest::Streams;
use howlate_as_rt_tests::Call;

use crate::terminal::{print_as_is, say};

/// Does what the other program would do.
pub(crate) fn run(call: &Call) -> ExitCode {
    call.run(Streams { print: print_as_is, say })
}
