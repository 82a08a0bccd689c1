//! One call of `ssh`.

use std::fs::File;
use std::io::Read;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::FleetError;
use crate::folder::Fleet;
use crate::process::{CommandRun, Output, as_file};

/// No password prompts among many hosts; dead connections are detected.
const OPTIONS: [&str; 4] =
    ["BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=15", "ServerAliveCountMax=3"];

/// How long a node may take for an answer: its shell may start slowly, its home may be on a server.
const ANSWER: Duration = Duration::from_secs(60);
/// How long the program or a recording may take.
pub(super) const TRANSFER: Duration = Duration::from_secs(30 * 60);

/// Arguments of `ssh` that run `command` on the host.
pub(super) fn ssh_arguments(address: &str, command: &str) -> Vec<String> {
    let options = OPTIONS.iter().flat_map(|option| ["-o", option]).chain(["-T", "--", address, command]);
    options.map(str::to_owned).collect()
}

/// A node as it is reached.
pub(super) struct Connection<'a> {
    address: &'a str,
    interrupted: &'a AtomicBool,
}

impl<'a> Connection<'a> {
    /// Setting `interrupted` stops waiting: everything that is done there may be repeated.
    pub(super) fn to(fleet: &'a Fleet, node: usize, interrupted: &'a AtomicBool) -> Self {
        Self { address: &fleet.members[node].host.address, interrupted }
    }

    fn run_within<'b>(&'b self, arguments: &'b [String], input: File, patience: Duration) -> CommandRun<'b> {
        CommandRun {
            program: "ssh",
            arguments,
            input: Some(input),
            patience,
            interrupted: Some(self.interrupted),
        }
    }

    /// Standard output of a script; an error if it could not be run or failed.
    pub(super) fn run_script(&self, script: &str) -> Result<String, String> {
        let arguments = ssh_arguments(self.address, "sh -s");
        let input = as_file(script).map_err(|error| error.to_string())?;
        stdout(self.run_within(&arguments, input, ANSWER).output())
    }

    /// Runs a script and passes its standard output to `take`.
    pub(super) fn run<T: Send + Default + 'static>(
        &self,
        script: &str,
        patience: Duration,
        take: impl FnOnce(Box<dyn Read>) -> T + Send + 'static,
    ) -> Result<(Output, T), String> {
        let arguments = ssh_arguments(self.address, "sh -s");
        let input = as_file(script).map_err(|error| error.to_string())?;
        self.run_within(&arguments, input, patience).run_with_reader(take).map_err(|error| error.to_string())
    }

    /// Runs a command that reads a file.
    pub(super) fn send_file(&self, command: &str, file: File) -> Result<(), String> {
        let arguments = ssh_arguments(self.address, command);
        stdout(self.run_within(&arguments, file, TRANSFER).output()).map(drop)
    }
}

fn stdout(output: Result<Output, FleetError>) -> Result<String, String> {
    match output {
        Ok(output) if output.is_success() => Ok(output.out),
        Ok(output) => Err(output.reason()),
        Err(error) => Err(error.to_string()),
    }
}
