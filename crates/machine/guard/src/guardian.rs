//! The process that puts settings back, as seen from the one that measures.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use howlate_model::Caveat;

use crate::helper_main::GUARDIAN;
use crate::journal::Journal;
use crate::protocol::{Answer, Order};
use crate::saved_setting::SavedSetting;

/// Why a guardian did not do its part.
pub(crate) enum Trouble {
    /// It was killed.
    Gone,
    /// It said why.
    Refused(String),
}

impl From<io::Error> for Trouble {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// The process that puts settings back once this one ends.
pub(crate) struct Guardian {
    child: Child,
    /// Closing it makes the guardian put everything back.
    input: Option<ChildStdin>,
    says: BufReader<ChildStdout>,
}

impl Guardian {
    /// Starts one that shares the journal, and so its lock.
    pub(crate) fn start(journal: &Journal) -> io::Result<Self> {
        let mut child = GUARDIAN
            .command([])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // It has nothing to say to people: what it is given there is the journal.
            .stderr(journal.copy()?)
            .spawn()?;
        let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
        let says = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        Ok(Self { input: child.stdin.take(), says, child })
    }

    /// Returns when the guardian knows it, so that the change may be made.
    pub(crate) fn remember(&mut self, change: &SavedSetting) -> Result<(), Trouble> {
        self.tell(&Order::Remember(change.clone()))
    }

    /// Returns when the guardian knows that this change is only lent.
    pub(crate) fn lend(&mut self, id: u32, found: &str) -> Result<(), Trouble> {
        self.tell(&Order::Lend(id, found.to_owned()))
    }

    fn tell(&mut self, order: &Order) -> Result<(), Trouble> {
        match self.ask(order)? {
            Answer::Remembered => Ok(()),
            Answer::NotRemembered(reason) => Err(Trouble::Refused(reason)),
            Answer::Undone(_) => Err(Trouble::Gone),
        }
    }

    /// Has some changes taken back; tells what could not be.
    pub(crate) fn undo(&mut self, ids: &[u32]) -> Result<Vec<Caveat>, Trouble> {
        match self.ask(&Order::Undo(ids.to_vec()))? {
            Answer::Undone(caveats) => Ok(caveats),
            _ => Err(Trouble::Gone),
        }
    }

    /// Has everything put back; tells what could not be.
    pub(crate) fn end(mut self) -> Result<Vec<Caveat>, Trouble> {
        self.input = None;
        match self.receive()? {
            Answer::Undone(caveats) => Ok(caveats),
            _ => Err(Trouble::Gone),
        }
    }

    fn ask(&mut self, order: &Order) -> Result<Answer, Trouble> {
        let input = self.input.as_mut().ok_or(Trouble::Gone)?;
        writeln!(input, "{}", serde_json::to_string(order).map_err(io::Error::from)?)?;
        self.receive()
    }

    fn receive(&mut self) -> Result<Answer, Trouble> {
        let mut answer = String::new();
        self.says.read_line(&mut answer)?;
        serde_json::from_str(&answer).map_err(|_| Trouble::Gone)
    }
}

impl Drop for Guardian {
    /// Lets it put back what is left, and waits until it has.
    fn drop(&mut self) {
        self.input = None;
        drop(self.child.wait());
    }
}
