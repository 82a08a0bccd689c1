//! Plan files: each table is parsed as the command line that it stands for.

#[cfg(test)]
mod schema;

use std::io;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser};
use howlate_guard::SettingRequest;
use howlate_model::nearest;
use howlate_plan::{MeasureTable, PlanEntry, PlanFile};
use howlate_recording::read_text_within;

use crate::error::Error;
use howlate_cli::built_in_plans;
use howlate_cli::{
    Cli, CliCommand, GuestArgs, MeasureUntilArgs, OutputArgs, RunArgs, TracingArgs, TuneArgs, TuneSubject,
    TuneWork, WholeRunArgs, option_names,
};

const COMMANDS: [&str; 8] =
    ["sleep", "cyclic", "notify", "guest", "tune", "tune sleep", "tune cyclic", "tune notify"];

/// Options that the tables of a plan cannot have: those of the whole run, and those that are no options of a measurement.
fn not_in_tables() -> Vec<String> {
    let more = ["help", "libvirt-xml", "no-save", "dry-run", "restore", "resume"].map(str::to_owned);
    [
        option_names::<WholeRunArgs>(),
        option_names::<OutputArgs>(),
        option_names::<TracingArgs>(),
        option_names::<MeasureUntilArgs>(),
        more.into(),
    ]
    .concat()
}

/// Options above the tables of a plan.
fn run_options() -> Vec<String> {
    let all = [option_names::<WholeRunArgs>(), option_names::<TracingArgs>()].concat();
    all.into_iter().filter(|name| name != TYPED_ONLY).collect()
}

/// Its commands are run, and whoever runs a plan may not have read it.
const TYPED_ONLY: &str = "on-late";

/// In bytes; far above any plan written by hand.
const MAX_PLAN_BYTES: u64 = 1 << 20;

/// Files of a plan, counted with repetitions: a chain of 31 files that each include the next twice would need two thousand million.
const MAX_FILES: usize = 256;

/// A plan with the plans that it includes.
#[derive(Default)]
pub(crate) struct Experiment {
    /// The command that reads it: `howlate run`.
    command: &'static str,
    pub(crate) about: Option<String>,
    pub(crate) options: Option<RunArgs>,
    pub(crate) settings: Vec<SettingRequest>,
    pub(crate) measures: Vec<CliCommand>,
    /// Guests to measure in; `None`: on this machine.
    pub(crate) guest: Option<GuestArgs>,
    /// The measurement that settings are tried on.
    pub(crate) tuning: Option<TuneWork>,
    /// All files, without symbolic links; built-in plans have none.
    pub(crate) files: Vec<PathBuf>,
}

impl Experiment {
    /// Reads a plan for `command`, such as `howlate run`.
    pub(crate) fn read(path: &Path, command: &'static str) -> Result<Self, Error> {
        let mut experiment = Self { command, ..Self::default() };
        experiment.add(path, &mut Vec::new())?;
        match experiment.problem() {
            Some(reason) => {
                Err(Error::PlanFile { path: path.to_owned(), line: None, reason: reason.to_owned() })
            }
            None => Ok(experiment),
        }
    }

    /// A contradiction within the whole plan.
    fn problem(&self) -> Option<&'static str> {
        let stands_alone = self.measures.is_empty() && self.guest.is_none() && self.settings.is_empty();
        match &self.tuning {
            Some(_) if !stands_alone => Some(
                "tries settings, which takes turns and settings of its own: beside `[[tune]]` there can be no other table",
            ),
            None if self.measures.is_empty() => {
                Some("measures nothing; it needs a table such as `[[sleep]]`")
            }
            _ => None,
        }
    }

    /// Adds a file; `open` is the chain of files that include it.
    fn add(&mut self, path: &Path, open: &mut Vec<PathBuf>) -> Result<(), Error> {
        let (real, text) = read(path).map_err(|source| Error::PlanUnreadable {
            path: path.to_owned(),
            command: self.command,
            source,
        })?;
        let error_at =
            |line: usize, reason: String| Error::PlanFile { path: path.to_owned(), line: Some(line), reason };
        let file = PlanFile::parse(&text).map_err(|error| error_at(error.line, error.reason))?;
        if self.files.len() == MAX_FILES {
            return Err(Error::PlanIncludes { path: path.to_owned(), most: MAX_FILES });
        }
        self.files.extend(real.clone());
        open.push(real.unwrap_or_else(|| path.to_owned()));
        for include in &file.include {
            for name in &include.values {
                let included = path.parent().unwrap_or(Path::new("")).join(name);
                if included.canonicalize().is_ok_and(|included| open.contains(&included)) {
                    return Err(error_at(
                        include.line,
                        format!("includes `{name}`, which includes this plan"),
                    ));
                }
                self.add(&included, open)?;
            }
        }
        open.pop();
        self.apply(&file, path).map_err(|problem| error_at(problem.line, problem.reason))
    }

    fn apply(&mut self, file: &PlanFile, path: &Path) -> Result<(), PlanProblem> {
        self.about = file.about.clone().or(self.about.take());
        for setting in &file.settings {
            let value = setting.values.first().map_or("", String::as_str);
            let knob_setting = SettingRequest::parse(&setting.name, value)
                .map_err(|error| PlanProblem::at(setting, error.to_string()))?;
            self.settings.push(knob_setting);
        }
        let command = format!("run {}", path.display());
        let options = parse(&command, &file.options, &run_options(), 1, Vec::new())?;
        if let CliCommand::Run(options) = options {
            let mut options = *options;
            if let Some(included) = self.options.take() {
                options.or(included);
            }
            self.options = Some(options);
        }
        for measure in &file.measures {
            match parse_table(measure, path)? {
                CliCommand::Guest(guest) => self.guest = Some(guest),
                CliCommand::Tune(TuneArgs { subject: TuneSubject::Work(work) }) => {
                    if self.tuning.replace(work).is_some() {
                        let reason = "settings are tried on one thing at a time: a plan has one `[[tune]]`";
                        return Err(PlanProblem { line: measure.line, reason: reason.to_owned() });
                    }
                }
                command => self.measures.push(command),
            }
        }
        Ok(())
    }
}

/// The file without symbolic links, and its text; no file for a built-in plan.
fn read(path: &Path) -> io::Result<(Option<PathBuf>, String)> {
    match built_in_plans::find(path) {
        Some(plan) => Ok((None, plan.text.to_owned())),
        None => Ok((Some(path.canonicalize()?), read_text_within(path, MAX_PLAN_BYTES)?)),
    }
}

struct PlanProblem {
    line: usize,
    reason: String,
}

impl PlanProblem {
    fn at(entry: &PlanEntry, reason: String) -> Self {
        Self { line: entry.line, reason }
    }
}

fn parse_table(measure: &MeasureTable, path: &Path) -> Result<CliCommand, PlanProblem> {
    if !COMMANDS.contains(&measure.command.as_str()) {
        let reason =
            format!("`{}` is not a plan command; {}", measure.command, choice(&measure.command, &COMMANDS));
        return Err(PlanProblem { line: measure.line, reason });
    }
    // As on the command line, where `howlate tune` means `howlate tune cyclic`.
    let command = if measure.command == "tune" { "tune cyclic" } else { &measure.command };
    let options = options_of(command);
    // Guests run this plan again.
    let arguments = ["--", "run"].map(str::to_owned).into_iter().chain([path.display().to_string()]);
    let arguments: Vec<String> = if measure.command == "guest" { arguments.collect() } else { Vec::new() };
    parse(command, &measure.options, &options, measure.line, arguments)
}

/// Options of a measuring command that its table can have.
fn options_of(command: &str) -> Vec<String> {
    let cli = Cli::command();
    let names = arguments_of(&cli, command).filter_map(clap::Arg::get_long);
    in_tables(names)
}

/// The names that these options had before, which are still read.
fn old_names_of(command: &str) -> Vec<String> {
    let cli = Cli::command();
    let names = arguments_of(&cli, command).filter_map(clap::Arg::get_all_aliases).flatten();
    in_tables(names)
}

fn arguments_of<'cli>(cli: &'cli clap::Command, command: &str) -> impl Iterator<Item = &'cli clap::Arg> {
    let subcommand = command.split(' ').try_fold(cli, |command, name| command.find_subcommand(name));
    subcommand.into_iter().flat_map(clap::Command::get_arguments)
}

fn in_tables<'name>(names: impl Iterator<Item = &'name str>) -> Vec<String> {
    let excluded = not_in_tables();
    names.map(str::to_owned).filter(|name| !excluded.contains(name)).collect()
}

/// Parses `command` with `options`, followed by `arguments`.
fn parse(
    command: &str,
    options: &[PlanEntry],
    known_options: &[String],
    line: usize,
    arguments: Vec<String>,
) -> Result<CliCommand, PlanProblem> {
    let old_names = old_names_of(command);
    for option in options {
        if !known_options.contains(&option.name) && !old_names.contains(&option.name) {
            return Err(PlanProblem::at(option, unknown_option(&option.name, command, known_options)));
        }
    }
    let mut command_line: Vec<String> = std::iter::once("howlate".to_owned()).collect();
    command_line.extend(command.splitn(2, ' ').map(str::to_owned));
    command_line.extend(options.iter().flat_map(option_arguments));
    command_line.extend(arguments);
    let cli = Cli::try_parse_from(command_line).map_err(|error| parser_problem(&error, options, line))?;
    cli.command.ok_or_else(|| PlanProblem { line, reason: "is no command".to_owned() })
}

fn unknown_option(name: &str, command: &str, known_options: &[String]) -> String {
    if name == TYPED_ONLY {
        return format!("`{name}` is not for plans: type it, as in `howlate run PLAN --{name} COMMAND`");
    }
    let is_run = command.starts_with("run ");
    if is_run && COMMANDS.iter().any(|command| options_of(command).iter().any(|option| option == name)) {
        return format!("`{name}` belongs into a table such as `[[sleep]]`, or on the command line");
    }
    if option_names::<MeasureUntilArgs>().iter().any(|option| option == name) {
        return format!(
            "`{name}` is not for plans: type it after `howlate cyclic`, `howlate sleep` or `howlate notify`"
        );
    }
    if not_in_tables().iter().any(|option| option == name) {
        return format!("`{name}` is for the whole run: put it above the first table, or type `--{name}`");
    }
    let taker = if is_run { "a plan" } else { command };
    format!("`{name}` is not an option of {taker}; {}", choice(name, known_options))
}

/// Suggests the nearest name, or lists all.
fn choice<T: AsRef<str>>(found: &str, names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(T::as_ref).collect();
    match nearest(found, names.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("choose from {}", names.join(", ")),
    }
}

fn option_arguments(option: &PlanEntry) -> Vec<String> {
    let argument = |value: &String| match value.is_empty() {
        true => format!("--{}", option.name),
        false => format!("--{}={value}", option.name),
    };
    option.values.iter().map(argument).collect()
}

/// The parser's error, with the line of the option that it names.
fn parser_problem(error: &clap::Error, options: &[PlanEntry], line: usize) -> PlanProblem {
    let about = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(text)) => text.as_str(),
        Some(ContextValue::Strings(texts)) => texts.first().map_or("", String::as_str),
        _ => "",
    };
    let name = about.trim_start_matches("--").split([' ', '=']).next().unwrap_or_default();
    let line = options.iter().find(|option| option.name == name).map_or(line, |option| option.line);
    let text = error.to_string();
    let first_paragraph = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
    let reason = first_paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    PlanProblem { line, reason }
}
