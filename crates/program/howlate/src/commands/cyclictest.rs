//! `howlate cyclictest`, `oslat`, `hwlatdetect` and `cyclicdeadline`, and howlate under these names.

use std::process::ExitCode;

use howlate_rt_tests_run::cyclictest::CyclictestCall;
use howlate_rt_tests_run::{RtTestsCall, Streams};

use crate::startup::clean_up;
use crate::terminal::{eprint, print_as_is};

/// Acts as cyclictest.
pub(crate) fn run(call: &CyclictestCall) -> ExitCode {
    call.run(Streams { print: print_as_is, say: eprint }, clean_up)
}

/// Acts as oslat, hwlatdetect or cyclicdeadline.
pub(crate) fn run_rt_tests(call: &RtTestsCall) -> ExitCode {
    call.run(Streams { print: print_as_is, say: eprint })
}
