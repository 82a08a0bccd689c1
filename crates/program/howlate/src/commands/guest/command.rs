//! The command for the guests, checked before any of them boots.

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

/// Command for the guests.
pub(super) enum GuestTask {
    /// A measurement, with the limits for the combined result.
    Measure(GuestCommand, Vec<Limit>, TracingArgs),
    /// A command that prints.
    Print(GuestCommand, PrintingCommand),
}

/// Commands whose result is their output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PrintingCommand {
    Selfcheck,
    Doctor,
    Top,
}

impl PrintingCommand {
    /// JSON key of the output of one guest.
    pub(super) const fn json_key(self) -> &'static str {
        match self {
            Self::Selfcheck => "check",
            Self::Doctor => "doctor",
            Self::Top => "top",
        }
    }

    /// JSON key of the outputs of all guests.
    pub(super) const fn json_list_key(self) -> &'static str {
        match self {
            Self::Selfcheck => "checks",
            Self::Doctor | Self::Top => "printed",
        }
    }
}

impl GuestTask {
    /// Whether the guests trace.
    pub(super) const fn traces(&self) -> bool {
        matches!(
            self,
            Self::Print(_, PrintingCommand::Selfcheck | PrintingCommand::Top)
                | Self::Measure(_, _, TracingArgs { why: true, .. })
        )
    }
}

/// Parses the command for the guests.
pub(super) fn prepare(command_line: &[String]) -> Result<GuestTask, Error> {
    let arguments = std::iter::once("howlate").chain(command_line.iter().map(String::as_str));
    let cli = Cli::try_parse_from(arguments).unwrap_or_else(|error| error.exit());
    let arguments = command_line
        .iter()
        .filter(|argument| !matches!(argument.as_str(), "--quiet" | "-q"))
        .cloned()
        .collect();
    let command = GuestCommand { arguments, files: Vec::new(), prints: false };
    let first_argument = || command_line.first().cloned().unwrap_or_default();
    match cli.command {
        Some(CliCommand::Selfcheck(args)) => selfcheck(command, &args),
        Some(CliCommand::Doctor(args)) => doctor(command, &args),
        Some(CliCommand::Top(args)) => top(command, &args),
        Some(CliCommand::Cyclic(args)) => measure(command, args.measuring, args.reasons),
        Some(CliCommand::Sleep(args)) => measure(command, args.measuring, args.reasons),
        Some(CliCommand::Notify(args)) => measure(command, args.measuring, args.reasons),
        Some(CliCommand::Run(args)) => run_plan(command, *args),
        Some(_) => Err(Error::NotForGuests(NotForGuests::Command(first_argument()))),
        // `howlate guest -- --why`: options of the quick look.
        None if !command_line.is_empty() => Err(Error::NotForGuests(NotForGuests::Option(first_argument()))),
        None => Err(Error::NotForGuests(NotForGuests::Command(String::new()))),
    }
}

fn selfcheck(mut command: GuestCommand, args: &SelfcheckArgs) -> Result<GuestTask, Error> {
    command.arguments.push("--quiet".to_owned());
    prints(command, PrintingCommand::Selfcheck, args.printing.json)
}

/// `--root` names a folder on the host.
fn doctor(command: GuestCommand, args: &DoctorArgs) -> Result<GuestTask, Error> {
    if args.root.is_some() {
        return Err(Error::NotForGuests(NotForGuests::option("--root")));
    }
    prints(command, PrintingCommand::Doctor, args.json)
}

/// Prints one table: the guest has no terminal.
fn top(mut command: GuestCommand, args: &TopArgs) -> Result<GuestTask, Error> {
    if !args.once {
        command.arguments.push("--once".to_owned());
    }
    prints(command, PrintingCommand::Top, args.json)
}

fn prints(command: GuestCommand, kind: PrintingCommand, is_json: bool) -> Result<GuestTask, Error> {
    if is_json {
        return Err(Error::OutputOfGuest(OutputOfGuest::Json));
    }
    Ok(GuestTask::Print(GuestCommand { prints: true, ..command }, kind))
}

fn measure(
    mut command: GuestCommand,
    measuring: MeasureArgs,
    reasons: TracingArgs,
) -> Result<GuestTask, Error> {
    check_output(&measuring.output)?;
    if measuring.until.until.is_some() {
        return Err(Error::NotForGuests(NotForGuests::option("--until")));
    }
    check_actions(&reasons)?;
    command.arguments.push("--quiet".to_owned());
    if !reasons.why {
        // Guests contain tracing programs only on request.
        command.arguments.push("--tracer=none".to_owned());
    }
    Ok(GuestTask::Measure(command, measuring.run.fail_above, reasons))
}

/// Copies the plan and its included files into the guest, with the same paths relative to each other.
fn run_plan(mut command: GuestCommand, args: RunArgs) -> Result<GuestTask, Error> {
    check_output(&args.output)?;
    command.arguments.push("--quiet".to_owned());
    check_actions(&args.reasons)?;
    let experiment = Experiment::read(args.plan(), "howlate guest … -- run")?;
    // In a separate folder: a mount in the guest would hide /tmp.
    let read = |path: &PathBuf| Ok((format!("/plans{}", path.display()), std::fs::read(path)?));
    command.files = experiment.files.iter().map(read).collect::<std::io::Result<_>>()?;
    let plan = args.plan().display().to_string();
    // The argument that names the plan; built-in plans keep their name.
    if let Some((guest_path, _)) = command.files.first() {
        let plan_arguments = command.arguments.iter_mut().filter(|argument| **argument == plan);
        plan_arguments.for_each(|argument| argument.clone_from(guest_path));
    }
    let (run, reasons) = match experiment.options {
        Some(options) => (args.run.options.or(options.run.options), args.reasons.or(options.reasons)),
        None => (args.run.options, args.reasons),
    };
    Ok(GuestTask::Measure(command, run.fail_above, reasons))
}

/// A guest has no programs but howlate.
fn check_actions(reasons: &TracingArgs) -> Result<(), Error> {
    if reasons.on_late.is_empty() {
        Ok(())
    } else {
        Err(Error::NotForGuests(NotForGuests::option("--on-late")))
    }
}

/// Options of output are errors: `howlate guest` itself saves and prints the recordings.
fn check_output(output: &OutputArgs) -> Result<(), Error> {
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
