//! One call of `ssh`.

use std::fs::File;
use std::io::Read;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::FleetError;
use crate::folder::Fleet;
use crate::process::{Output, Run, as_file};

/// Nobody is asked for a password in the middle of many hosts, and a host that is gone is known to be.
const OPTIONS: [&str; 4] =
    ["BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=15", "ServerAliveCountMax=3"];

/// How long a node may take for an answer: its shell may start slowly, its home may be on a server.
const ANSWER: Duration = Duration::from_secs(60);
/// How long the program or a recording may take.
pub(super) const TRANSFER: Duration = Duration::from_secs(30 * 60);

/// The words after `ssh` that run `command` there.
pub(super) fn words(address: &str, command: &str) -> Vec<String> {
    let options = OPTIONS.iter().flat_map(|option| ["-o", option]).chain(["-T", "--", address, command]);
    options.map(str::to_owned).collect()
}

/// A node as it is reached.
pub(super) struct Connection<'a> {
    address: &'a str,
    interrupted: &'a AtomicBool,
}

impl<'a> Connection<'a> {
    /// Nobody waits for it any longer when `interrupted` is set: all that is done there may be done again.
    pub(super) fn to(fleet: &'a Fleet, node: usize, interrupted: &'a AtomicBool) -> Self {
        Self { address: &fleet.members[node].host.address, interrupted }
    }

    fn run_within<'b>(&'b self, words: &'b [String], input: File, patience: Duration) -> Run<'b> {
        Run { program: "ssh", words, input: Some(input), patience, interrupted: Some(self.interrupted) }
    }

    /// What a script says; why it could not be run, or went wrong.
    pub(super) fn says(&self, script: &str) -> Result<String, String> {
        let words = words(self.address, "sh -s");
        let input = as_file(script).map_err(|error| error.to_string())?;
        answered(self.run_within(&words, input, ANSWER).output())
    }

    /// The same with what it says handed to `take`.
    pub(super) fn run<T: Send + Default + 'static>(
        &self,
        script: &str,
        patience: Duration,
        take: impl FnOnce(Box<dyn Read>) -> T + Send + 'static,
    ) -> Result<(Output, T), String> {
        let words = words(self.address, "sh -s");
        let input = as_file(script).map_err(|error| error.to_string())?;
        self.run_within(&words, input, patience).heard(take).map_err(|error| error.to_string())
    }

    /// Runs a command that reads a file.
    pub(super) fn sends(&self, command: &str, file: File) -> Result<(), String> {
        let words = words(self.address, command);
        answered(self.run_within(&words, file, TRANSFER).output()).map(drop)
    }
}

fn answered(said: Result<Output, FleetError>) -> Result<String, String> {
    match said {
        Ok(said) if said.is_success() => Ok(said.out),
        Ok(said) => Err(said.reason()),
        Err(error) => Err(error.to_string()),
    }
}
