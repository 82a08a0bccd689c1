//! What a folder could not keep.

use std::io;

use howlate_model::{AsText, WriteFailure};

/// Lines that are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// How many.
    pub lines: u64,
    /// Why the first of them is.
    pub reason: AsText<WriteFailure>,
}

/// What became of lines since somebody asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Lines that the disk has, as far as the kernel knows.
    pub confirmed: u64,
    /// Those that are missing.
    pub loss: Option<Loss>,
}

/// Counts both.
#[derive(Debug, Default)]
pub(super) struct Losses {
    account: Account,
    /// Lines that were written, and may yet fail to reach the disk.
    on_their_way: u64,
}

impl Losses {
    pub(super) const fn written(&mut self) {
        self.on_their_way = self.on_their_way.saturating_add(1);
    }

    pub(super) fn refused(&mut self, error: &io::Error) {
        self.add(1, error.into());
    }

    /// The disk was waited for, and that `ended` so. The kernel says once that it failed, and takes what it could not write for
    /// written from then on: which lines those are, nobody knows.
    pub(super) fn waited_for(&mut self, ended: io::Result<()>) {
        let lines = std::mem::take(&mut self.on_their_way);
        match ended {
            Ok(()) => self.account.confirmed = self.account.confirmed.saturating_add(lines),
            Err(error) => self.add(lines, WriteFailure::unconfirmed(&error)),
        }
    }

    pub(super) fn take(&mut self) -> Account {
        std::mem::take(&mut self.account)
    }

    fn add(&mut self, lines: u64, reason: AsText<WriteFailure>) {
        let loss = self.account.loss.get_or_insert(Loss { lines: 0, reason });
        loss.lines = loss.lines.saturating_add(lines);
    }
}
