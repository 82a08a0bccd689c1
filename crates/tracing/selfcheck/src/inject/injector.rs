//! A helper process as the one that started it sees it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread::{JoinHandle, spawn};

use howlate_model::MonotonicTime;

use super::request::{InjectorReport, Order, Ready};
use super::serve::HELPER;

/// Why a class cannot be made here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotMade {
    /// It says itself why.
    #[error("{0}")]
    Cannot(String),
    /// Its process cannot be started, or ended without a word.
    #[error("its process failed: {0}")]
    Process(#[from] io::Error),
    /// What it said cannot be read.
    #[error("its process failed: {0}")]
    Said(#[from] serde_json::Error),
}

/// One of the processes that make a class; killed when dropped.
pub(crate) struct Party {
    child: Child,
    stdin: ChildStdin,
    /// What it has to tell; read as it comes, so that it is never held up.
    told: JoinHandle<io::Result<String>>,
}

impl Party {
    /// Starts it; returns when it waits for [`go`](Self::go).
    ///
    /// # Errors
    ///
    /// When it cannot do here what it is to do.
    pub(crate) fn start(order: &Order) -> Result<Self, NotMade> {
        let mut command = HELPER.command([serde_json::to_string(order)?]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        let (stdin, stdout) = (child.stdin.take().ok_or_else(gone)?, child.stdout.take().ok_or_else(gone)?);
        let mut says = BufReader::new(stdout);
        match ready(&mut says) {
            Ok(()) => Ok(Self { child, stdin, told: spawn(move || to_its_end(says)) }),
            Err(reason) => {
                drop(child.kill());
                drop(child.wait());
                Err(reason)
            }
        }
    }

    /// Its process; it has one thread, of the same number.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets it begin at `start`.
    ///
    /// # Errors
    ///
    /// `BrokenPipe` when it is gone.
    pub(crate) fn go(&mut self, start: MonotonicTime) -> io::Result<()> {
        writeln!(self.stdin, "{}", start.as_nanos())
    }

    /// Whether it has told all, or is gone.
    pub(crate) fn is_done(&self) -> bool {
        self.told.is_finished()
    }

    /// What it has to tell; waits for it.
    ///
    /// # Errors
    ///
    /// When it failed.
    pub(crate) fn wait_for_report(mut self) -> Result<InjectorReport, NotMade> {
        let empty = spawn(|| Ok(String::new()));
        let text = std::mem::replace(&mut self.told, empty).join().unwrap_or_else(|_| Ok(String::new()))?;
        Ok(serde_json::from_str(&text)?)
    }
}

fn ready(says: &mut BufReader<ChildStdout>) -> Result<(), NotMade> {
    let mut line = String::new();
    says.read_line(&mut line)?;
    match serde_json::from_str(&line)? {
        Ready::Ready => Ok(()),
        Ready::Cannot(reason) => Err(NotMade::Cannot(reason)),
    }
}

fn to_its_end(mut says: BufReader<ChildStdout>) -> io::Result<String> {
    let mut text = String::new();
    says.read_to_string(&mut text)?;
    Ok(text)
}

impl Drop for Party {
    fn drop(&mut self) {
        // It may be stopped, and ends all the same.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
