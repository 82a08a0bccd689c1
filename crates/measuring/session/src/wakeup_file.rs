//! A file with every wake-up.

use std::path::Path;

use howlate_model::{Block, Caveat, Header, MonotonicTime, Turn, Wakeup};
use howlate_recording::{CreateError, Samples, TurnId};

/// An open file of wake-ups.
pub(crate) struct WakeupFile {
    file: Samples,
    /// Condition and round of each thread of the current turn.
    threads: Vec<TurnId>,
    /// Whether wake-ups of this turn come from its blocks instead of one by one.
    in_blocks: bool,
    /// Wake-ups that were left out of blocks.
    missing: u64,
}

impl WakeupFile {
    pub(crate) fn create(path: &Path, header: &Header) -> Result<Self, CreateError> {
        let file = Samples::create(path, header)?;
        Ok(Self { file, threads: Vec::new(), in_blocks: false, missing: 0 })
    }

    pub(crate) fn turn_begins(&mut self, turn: &Turn) {
        self.threads = turn.tasks.iter().map(|task| (task.condition, task.round)).collect();
        self.in_blocks = turn.tasks.iter().any(|task| task.work.wait().is_none());
    }

    /// Adds wake-ups of a thread of the current turn.
    pub(crate) fn wakeups(&mut self, thread: usize, wakeups: &[Wakeup]) {
        if self.in_blocks {
            return;
        }
        if let Some(&(condition, round)) = self.threads.get(thread) {
            self.file.write(condition, round, wakeups);
        }
    }

    pub(crate) fn block(&mut self, block: &Block) {
        if !self.in_blocks {
            return;
        }
        let wakeups: Vec<Wakeup> = block
            .series
            .iter()
            .map(|point| {
                let expected = MonotonicTime::from_nanos(block.from.as_nanos() + point.0);
                Wakeup { expected, ran: MonotonicTime::from_nanos(expected.as_nanos() + point.1.as_nanos()) }
            })
            .collect();
        self.missing += block.latency.count().saturating_sub(wakeups.len() as u64);
        self.file.write(block.condition, block.round, &wakeups);
    }

    /// Completes the file; returns a caveat about missing wake-ups.
    pub(crate) fn close(self) -> Option<Caveat> {
        let path = self.file.path().display().to_string();
        match self.file.close() {
            Ok(()) if self.missing == 0 => None,
            Ok(()) => Some(Caveat::SamplesIncomplete { path, missing: self.missing }),
            Err(error) => Some(Caveat::SamplesUnreadable { path, reason: error.to_string() }),
        }
    }
}
