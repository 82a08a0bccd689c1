//! Counts lines that reached the disk and lines that did not.

use std::io;

use howlate_model::{AsText, WriteFailure};

/// Lines that were not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostLines {
    pub lines: u64,
    /// Reason for the first of them.
    pub reason: AsText<WriteFailure>,
}

/// Lines since the last call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteStatus {
    /// Lines confirmed by a sync.
    pub confirmed: u64,
    pub loss: Option<LostLines>,
}

#[derive(Debug, Default)]
pub(super) struct WriteStatusCounter {
    status: WriteStatus,
    /// Lines written but not synced yet.
    unsynced: u64,
}

impl WriteStatusCounter {
    pub(super) const fn note_written(&mut self) {
        self.unsynced = self.unsynced.saturating_add(1);
    }

    pub(super) fn note_failure(&mut self, error: &io::Error) {
        self.add(1, error.into());
    }

    /// Result of a sync. The kernel reports an error only once and then treats the data as written, so that all
    /// unsynced lines may be lost.
    pub(super) fn note_sync(&mut self, result: io::Result<()>) {
        let lines = std::mem::take(&mut self.unsynced);
        match result {
            Ok(()) => self.status.confirmed = self.status.confirmed.saturating_add(lines),
            Err(error) => self.add(lines, WriteFailure::unconfirmed(&error)),
        }
    }

    pub(super) fn take(&mut self) -> WriteStatus {
        std::mem::take(&mut self.status)
    }

    fn add(&mut self, lines: u64, reason: AsText<WriteFailure>) {
        let loss = self.status.loss.get_or_insert(LostLines { lines: 0, reason });
        loss.lines = loss.lines.saturating_add(lines);
    }
}
