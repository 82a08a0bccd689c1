//! The end of a program's standard error.

use std::io::Read;
use std::os::fd::AsFd;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// Bytes that are stored.
const MAX_BYTES: usize = 400;

/// The end of the output of a pipe, read without blocking.
pub(crate) struct StderrTail<R> {
    pipe: R,
    tail: Vec<u8>,
}

impl<R: Read + AsFd> StderrTail<R> {
    pub(crate) fn new(pipe: R) -> Self {
        // If this fails, reads block, and lines arrive late at worst.
        let _ = fcntl_getfl(&pipe).and_then(|flags| fcntl_setfl(&pipe, flags | OFlags::NONBLOCK));
        Self { pipe, tail: Vec::new() }
    }

    /// Reads all available output.
    pub(crate) fn read_available(&mut self) {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = self.pipe.read(&mut buffer) {
            self.tail.extend_from_slice(&buffer[..count]);
            let surplus = self.tail.len().saturating_sub(MAX_BYTES);
            self.tail.drain(..surplus);
        }
    }

    /// The last line that is not empty, without control characters.
    pub(crate) fn last_line(&mut self) -> Option<String> {
        self.read_available();
        let text = String::from_utf8_lossy(&self.tail);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(line.chars().filter(|letter| !letter.is_control()).collect())
    }
}
