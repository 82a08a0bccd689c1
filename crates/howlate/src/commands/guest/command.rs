//! What is to be measured in the guests: checked here, before anything is booted.

use std::path::PathBuf;

use clap::Parser;
use howlate_guest::GuestCommand;
use howlate_model::Limit;

use crate::cli::{Cli, Command, Format, Measuring, Output, Printing, Reasons, Run, Selfcheck};
use crate::error::Error;
use crate::experiment::Experiment;

/// What the guests are to do.
pub(super) enum Task {
    /// To measure; the result of all of them must keep these limits. Also why, perhaps.
    Measure(GuestCommand, Vec<Limit>, Reasons),
    /// To check the tracer inside.
    Check(GuestCommand),
}

impl Task {
    /// Whether the guests trace.
    pub(super) const fn traces(&self) -> bool {
        matches!(self, Self::Check(_) | Self::Measure(_, _, Reasons { why: true, .. }))
    }
}

/// The command for inside.
pub(super) fn prepare(words: &[String]) -> Result<Task, Error> {
    let typed = std::iter::once("howlate").chain(words.iter().map(String::as_str));
    let cli = Cli::try_parse_from(typed).unwrap_or_else(|error| error.exit());
    let arguments = words.iter().filter(|word| !matches!(word.as_str(), "--quiet" | "-q")).cloned().collect();
    let command = GuestCommand { arguments, files: Vec::new(), prints: false };
    match cli.command {
        Some(Command::Selfcheck(args)) => check(command, &args),
        Some(Command::Cyclic(args)) => with_limits(command, args.measuring, args.reasons),
        Some(Command::Sleep(args)) => with_limits(command, args.measuring, args.reasons),
        Some(Command::Notify(args)) => with_limits(command, args.measuring, args.reasons),
        Some(Command::Run(args)) => with_plan(command, *args),
        _ => Err(Error::NotForGuests(words.first().cloned().unwrap_or_default())),
    }
}

fn check(command: GuestCommand, args: &Selfcheck) -> Result<Task, Error> {
    if args.printing.json {
        return Err(Error::OutputOfGuest("--json"));
    }
    Ok(Task::Check(GuestCommand { prints: true, ..command }))
}

fn with_limits(command: GuestCommand, measuring: Measuring, reasons: Reasons) -> Result<Task, Error> {
    refuse(&measuring.output)?;
    Ok(Task::Measure(command, measuring.run.fail_above, reasons))
}

/// The plan, and what it includes, come along with the same paths to each other.
fn with_plan(mut command: GuestCommand, args: Run) -> Result<Task, Error> {
    refuse(&args.output)?;
    let experiment = Experiment::read(args.plan(), "howlate guest … -- run")?;
    // Below a folder of their own: what is mounted in the guest would hide /tmp.
    let read = |path: &PathBuf| Ok((format!("/plans{}", path.display()), std::fs::read(path)?));
    command.files = experiment.files.iter().map(read).collect::<std::io::Result<_>>()?;
    let plan = args.plan().display().to_string();
    // One that comes with the program has its name there as well.
    if let Some((there, _)) = command.files.first() {
        let named = command.arguments.iter_mut().filter(|word| **word == plan);
        named.for_each(|word| word.clone_from(there));
    }
    let (run, reasons) = match experiment.options {
        Some(options) => (args.run.options.or(options.run.options), args.reasons.or(options.reasons)),
        None => (args.run.options, args.reasons),
    };
    Ok(Task::Measure(command, run.fail_above, reasons))
}

/// What leaves a guest is its recording, which `howlate guest` itself saves and prints.
fn refuse(output: &Output) -> Result<(), Error> {
    match output {
        Output { out: Some(_), .. } => Err(Error::OutputOfGuest("--out")),
        Output { printing: Printing { json: true, .. }, .. } => Err(Error::OutputOfGuest("--json")),
        Output { format, .. } if *format != Format::Text => Err(Error::OutputOfGuest("--format")),
        Output { samples_out: Some(_), .. } => Err(Error::NotForGuests("--samples-out".to_owned())),
        _ => Ok(()),
    }
}
