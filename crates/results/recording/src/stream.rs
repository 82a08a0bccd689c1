//! A recording that goes to a pipe, whose reader may be slow, late, or gone.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;

/// How long to wait before looking again whether the run is to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A pipe or a device, written to until the run is to end: a reader that does not read must not keep it.
#[derive(Debug)]
pub(crate) struct PipeStream {
    file: File,
    interrupted: Arc<AtomicBool>,
    /// The run is to end and the reader was waited for in vain: the other lines do not wait again.
    has_waited: bool,
}

impl PipeStream {
    /// Opens it; waits for the reader of a named pipe until `interrupted` is set.
    pub(crate) fn open(path: &Path, interrupted: Arc<AtomicBool>) -> io::Result<Self> {
        howlate_safe_path::atomic_write::check_stream(path)?;
        let is_pipe = path.metadata()?.file_type().is_fifo();
        let flags = if is_pipe { OFlags::NONBLOCK } else { OFlags::empty() };
        let flags = i32::try_from(flags.bits()).unwrap_or(0);
        loop {
            match File::options().write(true).custom_flags(flags).open(path) {
                // Nobody has opened it for reading yet.
                Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
                    if interrupted.load(Ordering::Relaxed) {
                        return Err(io::Error::new(io::ErrorKind::Interrupted, "nobody reads it"));
                    }
                    pause();
                }
                opened => return Ok(Self { file: opened?, interrupted, has_waited: false }),
            }
        }
    }

    /// Returns when there is room; an error when the run is to end and there is none.
    fn wait_for_room(&mut self) -> io::Result<()> {
        let wait = if self.has_waited { Duration::ZERO } else { LOOK_EVERY };
        let wait = Timespec::try_from(wait).unwrap_or_default();
        loop {
            match poll(&mut [PollFd::new(&self.file, PollFlags::OUT)], Some(&wait)) {
                Ok(0) if self.interrupted.load(Ordering::Relaxed) => {
                    self.has_waited = true;
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody reads the pipe"));
                }
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn pause() {
    let wait = Timespec::try_from(LOOK_EVERY).unwrap_or_default();
    let _ = poll(&mut [], Some(&wait));
}

impl Write for PipeStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.file.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait_for_room()?,
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_a_device_that_somebody_may_have_put_there_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("run.jsonl");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        let open = |path: &Path| PipeStream::open(path, Arc::default());
        assert_eq!(open(&link).unwrap_err().to_string(), "it is a link to something that is no file");
        assert!(open(Path::new("/dev/null")).is_ok());
    }
}
