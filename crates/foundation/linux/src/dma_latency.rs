//! `/dev/cpu_dma_latency`: a limit on the exit latency of idle states.

use std::fs::File;
use std::io::{self, Read, Write};

/// A limit on the exit latency of idle states, in force as long as this lives.
///
/// The kernel drops the limit when the file is closed, however the process ends,
/// so there is nothing to restore. Source: Documentation/power/pm_qos_interface.rst.
pub struct DmaLatency {
    file: File,
    micros: i32,
}

impl DmaLatency {
    /// Requests that no CPU take longer than `micros` to leave an idle state.
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

    /// The smallest limit that any process requests now, in microseconds.
    ///
    /// Source: <https://docs.kernel.org/power/pm_qos_interface.html>
    pub fn in_force(&mut self) -> io::Result<i32> {
        let mut limit = [0; 4];
        self.file.read_exact(&mut limit)?;
        Ok(i32::from_ne_bytes(limit))
    }

    /// The limit requested here, in microseconds.
    pub const fn micros(&self) -> i32 {
        self.micros
    }
}
