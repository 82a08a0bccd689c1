//! The end of what a program says on its standard error.

use std::io::Read;
use std::os::fd::AsFd;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// Bytes that are kept.
const KEPT: usize = 400;

/// The end of what came out of a pipe, read without waiting.
pub(crate) struct StderrTail<R> {
    pipe: R,
    kept: Vec<u8>,
}

impl<R: Read + AsFd> StderrTail<R> {
    pub(crate) fn new(pipe: R) -> Self {
        // A pipe that still waits gives its lines late, at worst.
        let _ = fcntl_getfl(&pipe).and_then(|flags| fcntl_setfl(&pipe, flags | OFlags::NONBLOCK));
        Self { pipe, kept: Vec::new() }
    }

    /// Takes what has come.
    pub(crate) fn listen(&mut self) {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = self.pipe.read(&mut buffer) {
            self.kept.extend_from_slice(&buffer[..count]);
            let old = self.kept.len().saturating_sub(KEPT);
            self.kept.drain(..old);
        }
    }

    /// The last line that says something; `None` when nothing was said.
    pub(crate) fn last(&mut self) -> Option<String> {
        self.listen();
        let text = String::from_utf8_lossy(&self.kept);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        Some(line.chars().filter(|letter| !letter.is_control()).collect())
    }
}
