//! The guardian process as seen by the measuring process.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use howlate_model::Caveat;

use crate::helper_main::{Answer, GUARDIAN, Order};
use crate::journal::Journal;
use crate::saved_setting::SavedSetting;

/// Why a request to the guardian failed.
pub(crate) enum GuardianError {
    /// The guardian was killed.
    Lost,
    /// The guardian's reason.
    Refused(String),
}

impl From<io::Error> for GuardianError {
    fn from(_: io::Error) -> Self {
        Self::Lost
    }
}

/// The process that restores settings when this one ends.
pub(crate) struct Guardian {
    child: Child,
    /// Closing it makes the guardian restore everything.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Guardian {
    /// Starts a guardian that shares the journal and so its lock.
    pub(crate) fn start(journal: &Journal) -> io::Result<Self> {
        let mut child = GUARDIAN
            .command([])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // The guardian prints no errors; this descriptor passes the journal.
            .stderr(journal.copy()?)
            .spawn()?;
        let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
        let output = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        Ok(Self { input: child.stdin.take(), output, child })
    }

    /// Returns when the guardian has stored `change`, so that it may be applied.
    pub(crate) fn remember(&mut self, change: &SavedSetting) -> Result<(), GuardianError> {
        self.request_storing(&Order::Remember(change.clone()))
    }

    /// Returns when the guardian has stored the value to expect at the restore of change `id`.
    pub(crate) fn set_expected(&mut self, id: u32, value: &str) -> Result<(), GuardianError> {
        self.request_storing(&Order::SetExpected(id, value.to_owned()))
    }

    fn request_storing(&mut self, order: &Order) -> Result<(), GuardianError> {
        match self.request(order)? {
            Answer::Remembered => Ok(()),
            Answer::NotRemembered(reason) => Err(GuardianError::Refused(reason)),
            Answer::Undone(_) => Err(GuardianError::Lost),
        }
    }

    /// Undoes some changes; returns caveats about those that could not be undone.
    pub(crate) fn undo(&mut self, ids: &[u32]) -> Result<Vec<Caveat>, GuardianError> {
        match self.request(&Order::Undo(ids.to_vec()))? {
            Answer::Undone(caveats) => Ok(caveats),
            _ => Err(GuardianError::Lost),
        }
    }

    /// Restores everything; returns caveats about what could not be restored.
    pub(crate) fn end(mut self) -> Result<Vec<Caveat>, GuardianError> {
        self.input = None;
        match self.receive()? {
            Answer::Undone(caveats) => Ok(caveats),
            _ => Err(GuardianError::Lost),
        }
    }

    fn request(&mut self, order: &Order) -> Result<Answer, GuardianError> {
        let input = self.input.as_mut().ok_or(GuardianError::Lost)?;
        writeln!(input, "{}", serde_json::to_string(order).map_err(io::Error::from)?)?;
        self.receive()
    }

    fn receive(&mut self) -> Result<Answer, GuardianError> {
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        serde_json::from_str(&answer).map_err(|_| GuardianError::Lost)
    }
}

impl Drop for Guardian {
    /// Lets the guardian restore the remaining changes, and waits for its end.
    fn drop(&mut self) {
        self.input = None;
        drop(self.child.wait());
    }
}
