//! `/dev/cpu_dma_latency`: a promise of the kernel not to enter slow idle states.

use std::fs::File;
use std::io::{self, Read, Write};

/// Holds a limit on exit latencies of idle states for as long as it lives.
///
/// The kernel forgets the limit when the file is closed, by whatever end of the process,
/// so there is nothing to restore. Source: Documentation/power/pm_qos_interface.rst.
pub struct DmaLatency {
    file: File,
    micros: i32,
}

impl DmaLatency {
    /// Asks that no CPU take longer than `micros` to leave an idle state.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` without root, `NotFound` in most containers.
    ///
    /// Source: <https://docs.kernel.org/power/pm_qos_interface.html>
    pub fn hold(micros: i32) -> io::Result<Self> {
        let mut file = File::options().read(true).write(true).open("/dev/cpu_dma_latency")?;
        file.write_all(&micros.to_ne_bytes())?;
        Ok(Self { file, micros })
    }

    /// The shortest limit that anybody holds now, in microseconds, as the kernel says it.
    ///
    /// # Errors
    ///
    /// The kernel's reason.
    ///
    /// Source: <https://docs.kernel.org/power/pm_qos_interface.html>
    pub fn in_force(&mut self) -> io::Result<i32> {
        let mut limit = [0; 4];
        self.file.read_exact(&mut limit)?;
        Ok(i32::from_ne_bytes(limit))
    }

    /// The limit held, in microseconds.
    pub const fn micros(&self) -> i32 {
        self.micros
    }
}
