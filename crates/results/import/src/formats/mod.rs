//! The formats that are read, each in a file of its own.

mod bpf_histogram;
mod cyclictest_histogram;
mod cyclictest_json;
mod cyclictest_verbose;
mod hgrm;
mod hlog;
mod hyperfine;
mod jitterdebugger;
mod osadl;
mod oslat_json;
mod oslat_text;
mod percentiles;
mod rtla;
mod schbench;
mod stress_ng;
mod wrk;

use crate::format::FileFormat;

/// All of them, in the order of the manual's table.
pub(crate) const FORMATS: &[FileFormat] = &[
    cyclictest_json::FORMAT,
    cyclictest_histogram::FORMAT,
    osadl::FORMAT,
    cyclictest_verbose::FORMAT,
    jitterdebugger::FORMAT,
    oslat_json::FORMAT,
    oslat_text::FORMAT,
    rtla::FORMAT,
    stress_ng::FORMAT,
    hlog::FORMAT,
    hgrm::FORMAT,
    schbench::FORMAT,
    bpf_histogram::FORMAT,
    hyperfine::FORMAT,
    wrk::FORMAT,
];
