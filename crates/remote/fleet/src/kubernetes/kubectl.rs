//! Running `kubectl`, as its user has configured it.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::FleetError;
use crate::process::{Output, Run, as_file, complaint};

pub(super) const KUBECTL: &str = "kubectl";

/// How long a cluster may take to answer.
const ANSWER: Duration = Duration::from_secs(120);
/// The same of one that is asked to forget what was begun, once somebody waits for the end.
const FAREWELL: Duration = Duration::from_secs(10);
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

pub(super) fn refused(said: impl Into<String>) -> FleetError {
    FleetError::Refused { program: KUBECTL, said: said.into() }
}

/// What went wrong, without the word that begins its messages.
fn failed(said: &Output) -> FleetError {
    refused(complaint(&said.error).unwrap_or_else(|| said.reason()))
}

impl Kubectl<'_> {
    fn words(&self, words: &[&str]) -> Vec<String> {
        let context = self.context.map(|name| format!("--context={name}"));
        let namespace = self.namespace.map(|name| format!("--namespace={name}"));
        context.into_iter().chain(namespace).chain(words.iter().map(|word| (*word).to_owned())).collect()
    }

    /// What it says that ends well; `input` is what it reads.
    pub(super) fn output(&self, words: &[&str], input: Option<&str>) -> Result<String, FleetError> {
        self.output_of(words, input, ANSWER, Some(self.interrupted))
    }

    /// The same of what must be tried after an interruption as well, for a while.
    pub(super) fn last_output(&self, words: &[&str]) -> Result<String, FleetError> {
        let patience = if self.interrupted.load(Ordering::Relaxed) { FAREWELL } else { ANSWER };
        self.output_of(words, None, patience, None)
    }

    fn output_of(
        &self,
        words: &[&str],
        input: Option<&str>,
        patience: Duration,
        interrupted: Option<&AtomicBool>,
    ) -> Result<String, FleetError> {
        let input = input.map(as_file).transpose().map_err(|error| refused(error.to_string()))?;
        let words = self.words(words);
        let said = Run { program: KUBECTL, words: &words, input, patience, interrupted }.output()?;
        if said.is_success() { Ok(said.out) } else { Err(failed(&said)) }
    }

    /// What it answers in JSON.
    pub(super) fn answer<T: DeserializeOwned + Send + 'static>(
        &self,
        words: &[&str],
    ) -> Result<T, FleetError> {
        let words = self.words(&[words, &["--output=json"]].concat());
        let interrupted = Some(self.interrupted);
        let run = Run { program: KUBECTL, words: &words, input: None, patience: ANSWER, interrupted };
        let (said, answer) = run
            .heard(|out| Some(serde_json::from_reader(std::io::BufReader::new(out.take(LONGEST_ANSWER)))))?;
        match answer {
            _ if !said.is_success() => Err(failed(&said)),
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => Err(refused(format!("its answer is none that is known: {error}"))),
            None => Err(refused("it answers nothing")),
        }
    }

    /// Hands the log of a container to `take`.
    pub(super) fn log<T: Send + Default + 'static>(
        &self,
        pod: &str,
        container: &str,
        take: impl FnOnce(Box<dyn Read>) -> T + Send + 'static,
    ) -> Result<(Output, T), FleetError> {
        let words = self.words(&["logs", &format!("--container={container}"), "--", pod]);
        let interrupted = Some(self.interrupted);
        Run { program: KUBECTL, words: &words, input: None, patience: TRANSFER, interrupted }.heard(take)
    }
}
