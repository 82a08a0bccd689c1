//! A helper process, from the side of the process that started it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread::{JoinHandle, spawn};

use howlate_model::MonotonicTime;

use super::serve::HELPER;
use super::task::{HelperStatus, HelperTask, InjectorReport};

/// Why a class cannot be injected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InjectorError {
    /// The helper's own reason.
    #[error("{0}")]
    Impossible(String),
    /// The helper cannot be started, or ended without a message.
    #[error("its process failed: {0}")]
    Process(#[from] io::Error),
    /// The helper's message cannot be parsed.
    #[error("its process failed: {0}")]
    Message(#[from] serde_json::Error),
}

/// A helper process; killed on drop.
pub(crate) struct HelperProcess {
    child: Child,
    stdin: ChildStdin,
    /// Reads the report as it is written, so that the helper never blocks.
    report: JoinHandle<io::Result<String>>,
}

impl HelperProcess {
    /// Starts the helper; returns when it waits for [`start_at`](Self::start_at).
    ///
    /// # Errors
    ///
    /// When the class cannot be injected here.
    pub(crate) fn start(task: &HelperTask) -> Result<Self, InjectorError> {
        let mut command = HELPER.command([serde_json::to_string(task)?]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let no_pipe = || io::Error::from(io::ErrorKind::BrokenPipe);
        let (stdin, stdout) =
            (child.stdin.take().ok_or_else(no_pipe)?, child.stdout.take().ok_or_else(no_pipe)?);
        let mut output = BufReader::new(stdout);
        match read_status(&mut output) {
            Ok(()) => Ok(Self { child, stdin, report: spawn(move || read_to_end(output)) }),
            Err(reason) => {
                drop(child.kill());
                drop(child.wait());
                Err(reason)
            }
        }
    }

    /// Process id, which is also that of its only thread.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets it begin at `start`.
    ///
    /// # Errors
    ///
    /// `BrokenPipe` if it has ended.
    pub(crate) fn start_at(&mut self, start: MonotonicTime) -> io::Result<()> {
        writeln!(self.stdin, "{}", start.as_nanos())
    }

    /// Whether it has reported or ended.
    pub(crate) fn is_done(&self) -> bool {
        self.report.is_finished()
    }

    /// Waits for the report.
    ///
    /// # Errors
    ///
    /// When it failed.
    pub(crate) fn wait_for_report(mut self) -> Result<InjectorReport, InjectorError> {
        let empty = spawn(|| Ok(String::new()));
        let text = std::mem::replace(&mut self.report, empty).join().unwrap_or_else(|_| Ok(String::new()))?;
        Ok(serde_json::from_str(&text)?)
    }
}

fn read_status(output: &mut BufReader<ChildStdout>) -> Result<(), InjectorError> {
    let mut line = String::new();
    output.read_line(&mut line)?;
    match serde_json::from_str(&line)? {
        HelperStatus::Ready => Ok(()),
        HelperStatus::Impossible(reason) => Err(InjectorError::Impossible(reason)),
    }
}

fn read_to_end(mut output: BufReader<ChildStdout>) -> io::Result<String> {
    let mut text = String::new();
    output.read_to_string(&mut text)?;
    Ok(text)
}

impl Drop for HelperProcess {
    fn drop(&mut self) {
        // SIGKILL also ends a stopped process.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
