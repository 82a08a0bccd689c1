//! What is to be measured in the guests: checked here, before anything is booted.

use std::path::PathBuf;

use clap::Parser;
use howlate_guest::Errand;
use howlate_model::Limit;

use crate::cli::{Cli, Command, Measuring, Run};
use crate::error::Error;
use crate::experiment::Experiment;

/// The command for inside, and the limits that the result of all guests must keep.
pub(super) fn prepare(words: &[String]) -> Result<(Errand, Vec<Limit>), Error> {
    let typed = std::iter::once("howlate").chain(words.iter().map(String::as_str));
    let cli = Cli::try_parse_from(typed).unwrap_or_else(|error| error.exit());
    let arguments = words.iter().filter(|word| !matches!(word.as_str(), "--quiet" | "-q")).cloned().collect();
    let errand = Errand { arguments, files: Vec::new() };
    match cli.command {
        Some(Command::Cyclic(asked)) => with_limits(errand, asked.measuring),
        Some(Command::Sleep(asked)) => with_limits(errand, asked.measuring),
        Some(Command::Notify(asked)) => with_limits(errand, asked.measuring),
        Some(Command::Run(asked)) => with_plan(errand, *asked),
        _ => Err(Error::NotForGuests(words.first().cloned().unwrap_or_default())),
    }
}

fn with_limits(errand: Errand, measuring: Measuring) -> Result<(Errand, Vec<Limit>), Error> {
    refuse_output(measuring.out.is_some(), measuring.json, measuring.samples_out.is_some())?;
    Ok((errand, measuring.fail_above))
}

/// The plan, and what it includes, come along with the same paths to each other.
fn with_plan(mut errand: Errand, asked: Run) -> Result<(Errand, Vec<Limit>), Error> {
    refuse_output(asked.out.is_some(), asked.json, asked.samples_out.is_some())?;
    let experiment = Experiment::read(&asked.plan)?;
    // Below a folder of their own: what is mounted in the guest would hide /tmp.
    let read = |path: &PathBuf| Ok((format!("/plans{}", path.display()), std::fs::read(path)?));
    errand.files = experiment.files.iter().map(read).collect::<std::io::Result<_>>()?;
    let plan = asked.plan.display().to_string();
    for word in errand.arguments.iter_mut().filter(|word| **word == plan) {
        *word = errand.files[0].0.clone();
    }
    let options = experiment.options.map_or_else(Vec::new, |options| options.fail_above);
    Ok((errand, if asked.fail_above.is_empty() { options } else { asked.fail_above }))
}

fn refuse_output(out: bool, json: bool, samples: bool) -> Result<(), Error> {
    match (out, json, samples) {
        (true, ..) => Err(Error::OutputOfGuest("--out")),
        (_, true, _) => Err(Error::OutputOfGuest("--json")),
        (_, _, true) => Err(Error::NotForGuests("--samples-out".to_owned())),
        _ => Ok(()),
    }
}
