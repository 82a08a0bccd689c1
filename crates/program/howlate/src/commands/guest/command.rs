//! What is to be measured in the guests: checked here, before anything is booted.

use std::path::PathBuf;

use clap::Parser;
use howlate_guest::GuestCommand;
use howlate_model::Limit;

use crate::error::Error;
use crate::plan_file::Experiment;
use howlate_cli::{
    Cli, CliCommand, DisplayArgs, DoctorArgs, MeasureArgs, OutputArgs, OutputFormat, PrintArgs, RunArgs,
    SelfcheckArgs, TopArgs, TracingArgs,
};
use howlate_model::refused_option::{NotForGuests, OutputOfGuest};

/// What the guests are to do.
pub(super) enum Task {
    /// To measure; the result of all of them must keep these limits. Also why, perhaps.
    Measure(GuestCommand, Vec<Limit>, TracingArgs),
    /// To print something.
    Print(GuestCommand, Printed),
}

/// What a command that prints does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Printed {
    /// It checks the tracer inside.
    Check,
    /// It looks at the guest's machine.
    Doctor,
    /// It looks at what is waited for.
    Top,
}

impl Printed {
    /// The name, in JSON, of what one guest printed.
    pub(super) const fn one(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Doctor => "doctor",
            Self::Top => "top",
        }
    }

    /// The name, in JSON, of what all guests printed.
    pub(super) const fn all(self) -> &'static str {
        match self {
            Self::Check => "checks",
            Self::Doctor | Self::Top => "printed",
        }
    }
}

impl Task {
    /// Whether the guests trace.
    pub(super) const fn traces(&self) -> bool {
        matches!(
            self,
            Self::Print(_, Printed::Check | Printed::Top)
                | Self::Measure(_, _, TracingArgs { why: true, .. })
        )
    }
}

/// The command for inside.
pub(super) fn prepare(words: &[String]) -> Result<Task, Error> {
    let typed = std::iter::once("howlate").chain(words.iter().map(String::as_str));
    let cli = Cli::try_parse_from(typed).unwrap_or_else(|error| error.exit());
    let arguments = words.iter().filter(|word| !matches!(word.as_str(), "--quiet" | "-q")).cloned().collect();
    let command = GuestCommand { arguments, files: Vec::new(), prints: false };
    let first = || words.first().cloned().unwrap_or_default();
    match cli.command {
        Some(CliCommand::Selfcheck(args)) => check(command, &args),
        Some(CliCommand::Doctor(args)) => doctor(command, &args),
        Some(CliCommand::Top(args)) => top(command, &args),
        Some(CliCommand::Cyclic(args)) => with_limits(command, args.measuring, args.reasons),
        Some(CliCommand::Sleep(args)) => with_limits(command, args.measuring, args.reasons),
        Some(CliCommand::Notify(args)) => with_limits(command, args.measuring, args.reasons),
        Some(CliCommand::Run(args)) => with_plan(command, *args),
        Some(_) => Err(Error::NotForGuests(NotForGuests::Command(first()))),
        // Options of the quick look.
        None if !words.is_empty() => Err(Error::NotForGuests(NotForGuests::Option(first()))),
        None => Err(Error::NotForGuests(NotForGuests::Command(String::new()))),
    }
}

fn check(mut command: GuestCommand, args: &SelfcheckArgs) -> Result<Task, Error> {
    command.arguments.push("--quiet".to_owned());
    prints(command, Printed::Check, args.printing.json)
}

/// A captured tree is on the host.
fn doctor(command: GuestCommand, args: &DoctorArgs) -> Result<Task, Error> {
    if args.root.is_some() {
        return Err(Error::NotForGuests(NotForGuests::option("--root")));
    }
    prints(command, Printed::Doctor, args.json)
}

/// One table: nobody sits at the guest's terminal.
fn top(mut command: GuestCommand, args: &TopArgs) -> Result<Task, Error> {
    if !args.once {
        command.arguments.push("--once".to_owned());
    }
    prints(command, Printed::Top, args.json)
}

fn prints(command: GuestCommand, printed: Printed, is_json: bool) -> Result<Task, Error> {
    if is_json {
        return Err(Error::OutputOfGuest(OutputOfGuest::Json));
    }
    Ok(Task::Print(GuestCommand { prints: true, ..command }, printed))
}

fn with_limits(
    mut command: GuestCommand,
    measuring: MeasureArgs,
    reasons: TracingArgs,
) -> Result<Task, Error> {
    refuse(&measuring.output)?;
    if measuring.until.until.is_some() {
        return Err(Error::NotForGuests(NotForGuests::option("--until")));
    }
    command.arguments.push("--quiet".to_owned());
    if !reasons.why {
        // What a guest has for tracing is only packed where it was asked for.
        command.arguments.push("--tracer=none".to_owned());
    }
    Ok(Task::Measure(command, measuring.run.fail_above, reasons))
}

/// The plan, and what it includes, come along with the same paths to each other.
fn with_plan(mut command: GuestCommand, args: RunArgs) -> Result<Task, Error> {
    refuse(&args.output)?;
    command.arguments.push("--quiet".to_owned());
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
fn refuse(output: &OutputArgs) -> Result<(), Error> {
    match output {
        OutputArgs { out: Some(_), .. } => Err(Error::OutputOfGuest(OutputOfGuest::Out)),
        OutputArgs { printing: PrintArgs { json: true, .. }, .. } => {
            Err(Error::OutputOfGuest(OutputOfGuest::Json))
        }
        OutputArgs { format, .. } if *format != OutputFormat::Text => {
            Err(Error::OutputOfGuest(OutputOfGuest::Format))
        }
        OutputArgs { display: DisplayArgs { live: true, .. }, .. } => {
            Err(Error::NotForGuests(NotForGuests::option("--live")))
        }
        OutputArgs { samples_out: Some(_), .. } => {
            Err(Error::NotForGuests(NotForGuests::option("--samples-out")))
        }
        OutputArgs { export_json: Some(_), .. } => {
            Err(Error::NotForGuests(NotForGuests::option("--export-json")))
        }
        OutputArgs { export_markdown: Some(_), .. } => {
            Err(Error::NotForGuests(NotForGuests::option("--export-markdown")))
        }
        _ => Ok(()),
    }
}
