//! Runs `kubectl` with the user's configuration.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::FleetError;
use crate::process::{CommandRun, Output, as_file, complaint};

pub(super) const KUBECTL: &str = "kubectl";

/// How long a cluster may take to answer.
const ANSWER: Duration = Duration::from_secs(120);
/// Time limit of clean-up after an interruption.
const CLEANUP: Duration = Duration::from_secs(10);
/// How long a log may take.
const TRANSFER: Duration = Duration::from_secs(30 * 60);
/// No list of pods is longer: a pod takes some 10 KB.
const LONGEST_ANSWER: u64 = 512 << 20;

/// The client, for the cluster of a context.
pub(super) struct Kubectl<'a> {
    pub(super) context: Option<&'a str>,
    /// The namespace; that of the context if there is none.
    pub(super) namespace: Option<&'a str>,
    /// Set when no answer is to be waited for any longer.
    pub(super) interrupted: &'a AtomicBool,
}

pub(super) fn refused(message: impl Into<String>) -> FleetError {
    FleetError::Refused { program: KUBECTL, message: message.into() }
}

/// The error, without the prefix of its messages.
fn failed(output: &Output) -> FleetError {
    refused(complaint(&output.error).unwrap_or_else(|| output.reason()))
}

impl Kubectl<'_> {
    fn with_context(&self, arguments: &[&str]) -> Vec<String> {
        let context = self.context.map(|name| format!("--context={name}"));
        let namespace = self.namespace.map(|name| format!("--namespace={name}"));
        context.into_iter().chain(namespace).chain(arguments.iter().map(|word| (*word).to_owned())).collect()
    }

    /// Standard output on success; `input` is its standard input.
    pub(super) fn output(&self, arguments: &[&str], input: Option<&str>) -> Result<String, FleetError> {
        self.output_of(arguments, input, ANSWER, Some(self.interrupted))
    }

    /// Also runs after an interruption, for a short time.
    pub(super) fn cleanup_output(&self, arguments: &[&str]) -> Result<String, FleetError> {
        let patience = if self.interrupted.load(Ordering::Relaxed) { CLEANUP } else { ANSWER };
        self.output_of(arguments, None, patience, None)
    }

    fn output_of(
        &self,
        arguments: &[&str],
        input: Option<&str>,
        patience: Duration,
        interrupted: Option<&AtomicBool>,
    ) -> Result<String, FleetError> {
        let input = input.map(as_file).transpose().map_err(|error| refused(error.to_string()))?;
        let arguments = self.with_context(arguments);
        let output =
            CommandRun { program: KUBECTL, arguments: &arguments, input, patience, interrupted }.output()?;
        if output.is_success() { Ok(output.out) } else { Err(failed(&output)) }
    }

    /// Its JSON output.
    pub(super) fn answer<T: DeserializeOwned + Send + 'static>(
        &self,
        arguments: &[&str],
    ) -> Result<T, FleetError> {
        let arguments = self.with_context(&[arguments, &["--output=json"]].concat());
        let interrupted = Some(self.interrupted);
        let run = CommandRun {
            program: KUBECTL,
            arguments: &arguments,
            input: None,
            patience: ANSWER,
            interrupted,
        };
        let (output, answer) = run.run_with_reader(|out| {
            Some(serde_json::from_reader(std::io::BufReader::new(out.take(LONGEST_ANSWER))))
        })?;
        match answer {
            _ if !output.is_success() => Err(failed(&output)),
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => Err(refused(format!("its answer is none that is known: {error}"))),
            None => Err(refused("it answers nothing")),
        }
    }

    /// Passes the log of a container to `take`.
    pub(super) fn log<T: Send + Default + 'static>(
        &self,
        pod: &str,
        container: &str,
        take: impl FnOnce(Box<dyn Read>) -> T + Send + 'static,
    ) -> Result<(Output, T), FleetError> {
        let arguments = self.with_context(&["logs", &format!("--container={container}"), "--", pod]);
        let interrupted = Some(self.interrupted);
        CommandRun { program: KUBECTL, arguments: &arguments, input: None, patience: TRANSFER, interrupted }
            .run_with_reader(take)
    }
}
