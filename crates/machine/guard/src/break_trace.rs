//! Stops the kernel's trace at a late wake-up.
//!
//! Tracing is not switched on again: the user wants a trace that ends where a thread was late, and
//! further events would overwrite it.

use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Mount points of tracefs since Linux 4.1, and before.
const TRACEFS_PATHS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The trace files, opened beforehand so that stopping takes two writes.
pub struct KernelTrace {
    marker: File,
    switch: File,
}

impl KernelTrace {
    /// `None` where tracefs is not mounted or not writable.
    pub fn open() -> Option<Self> {
        let open = |name: &str| {
            let path =
                TRACEFS_PATHS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists());
            path.and_then(|path| File::options().write(true).open(path).ok())
        };
        Some(Self { marker: open("trace_marker")?, switch: open("tracing_on")? })
    }

    /// Writes `mark` into the trace and stops it. Errors are ignored.
    pub fn stop(&self, mark: &str) {
        // The measurement does not depend on the trace.
        drop((&self.marker).write_all(mark.as_bytes()));
        drop((&self.switch).write_all(b"0"));
    }
}
