//! A plan file, understood: its tables are parsed as the command lines that they stand for.

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

/// Commands that a plan can hold.
const COMMANDS: [&str; 8] =
    ["sleep", "cyclic", "notify", "guest", "tune", "tune sleep", "tune cyclic", "tune notify"];

/// Options that a plan's tables cannot hold: they belong to the whole run, or are no options of a measurement.
fn not_in_tables() -> Vec<String> {
    let others = ["help", "libvirt-xml", "no-save", "dry-run", "restore", "resume"].map(str::to_owned);
    [
        option_names::<WholeRunArgs>(),
        option_names::<OutputArgs>(),
        option_names::<TracingArgs>(),
        option_names::<MeasureUntilArgs>(),
        others.into(),
    ]
    .concat()
}

/// A plan is written by hand; this is a book of a thousand pages.
const LARGEST_PLAN: u64 = 1 << 20;

/// Files that make up a plan, those that are included twice counted twice: a chain of 31 that each include the
/// next twice would be two thousand million.
const MOST_FILES: usize = 256;

/// What a plan and the plans that it includes ask for.
#[derive(Default)]
pub(crate) struct Experiment {
    /// What reads it, as typed.
    command: &'static str,
    pub(crate) about: Option<String>,
    pub(crate) options: Option<RunArgs>,
    pub(crate) settings: Vec<SettingRequest>,
    pub(crate) measures: Vec<CliCommand>,
    /// The guests to measure in, if not here.
    pub(crate) guest: Option<GuestArgs>,
    /// What settings are tried on, if any are.
    pub(crate) tuning: Option<TuneWork>,
    /// Every file that was read, without symbolic links; none of a plan that comes with the program.
    pub(crate) files: Vec<PathBuf>,
}

impl Experiment {
    /// Reads a plan for `command`, such as `howlate run`.
    pub(crate) fn read(path: &Path, command: &'static str) -> Result<Self, Error> {
        let mut experiment = Self { command, ..Self::default() };
        experiment.add(path, &mut Vec::new())?;
        match experiment.amiss() {
            Some(reason) => {
                Err(Error::PlanFile { path: path.to_owned(), line: None, reason: reason.to_owned() })
            }
            None => Ok(experiment),
        }
    }

    /// What is wrong with all of it together.
    fn amiss(&self) -> Option<&'static str> {
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

    /// Adds what a file asks for; `open` are the files that led to it.
    fn add(&mut self, path: &Path, open: &mut Vec<PathBuf>) -> Result<(), Error> {
        let (real, text) = read(path).map_err(|source| Error::PlanUnreadable {
            path: path.to_owned(),
            command: self.command,
            source,
        })?;
        let at =
            |line: usize, reason: String| Error::PlanFile { path: path.to_owned(), line: Some(line), reason };
        let file = PlanFile::parse(&text).map_err(|error| at(error.line, error.reason))?;
        if self.files.len() == MOST_FILES {
            return Err(Error::PlanIncludes { path: path.to_owned(), most: MOST_FILES });
        }
        self.files.extend(real.clone());
        open.push(real.unwrap_or_else(|| path.to_owned()));
        for include in &file.include {
            for name in &include.values {
                let other = path.parent().unwrap_or(Path::new("")).join(name);
                if other.canonicalize().is_ok_and(|other| open.contains(&other)) {
                    return Err(at(include.line, format!("includes `{name}`, which includes this plan")));
                }
                self.add(&other, open)?;
            }
        }
        open.pop();
        self.take(&file, path).map_err(|wrong| at(wrong.line, wrong.reason))
    }

    fn take(&mut self, file: &PlanFile, path: &Path) -> Result<(), Wrong> {
        self.about = file.about.clone().or(self.about.take());
        for one in &file.settings {
            let value = one.values.first().map_or("", String::as_str);
            let wanted =
                SettingRequest::parse(&one.name, value).map_err(|error| one.wrong(error.to_string()))?;
            self.settings.push(wanted);
        }
        let command = format!("run {}", path.display());
        let of_the_run = [option_names::<WholeRunArgs>(), option_names::<TracingArgs>()].concat();
        let options = parsed(&command, &file.options, &of_the_run, 1, Vec::new())?;
        if let CliCommand::Run(options) = options {
            let mut options = *options;
            if let Some(included) = self.options.take() {
                options.or(included);
            }
            self.options = Some(options);
        }
        for measure in &file.measures {
            match command_of(measure, path)? {
                CliCommand::Guest(guest) => self.guest = Some(guest),
                CliCommand::Tune(TuneArgs { subject: TuneSubject::Work(work) }) => {
                    if self.tuning.replace(work).is_some() {
                        let reason = "settings are tried on one thing at a time: a plan has one `[[tune]]`";
                        return Err(Wrong { line: measure.line, reason: reason.to_owned() });
                    }
                }
                command => self.measures.push(command),
            }
        }
        Ok(())
    }
}

/// The file without symbolic links, and its text; no file where the plan is one that comes with the program.
fn read(path: &Path) -> io::Result<(Option<PathBuf>, String)> {
    match built_in_plans::find(path) {
        Some(plan) => Ok((None, plan.text.to_owned())),
        None => Ok((Some(path.canonicalize()?), read_text_within(path, LARGEST_PLAN)?)),
    }
}

/// What is wrong, and on which line.
struct Wrong {
    line: usize,
    reason: String,
}

trait At {
    fn wrong(&self, reason: String) -> Wrong;
}

impl At for PlanEntry {
    fn wrong(&self, reason: String) -> Wrong {
        Wrong { line: self.line, reason }
    }
}

fn command_of(measure: &MeasureTable, path: &Path) -> Result<CliCommand, Wrong> {
    if !COMMANDS.contains(&measure.command.as_str()) {
        let reason =
            format!("`{}` is not a plan command; {}", measure.command, choice(&measure.command, &COMMANDS));
        return Err(Wrong { line: measure.line, reason });
    }
    // As on the command line.
    let command = if measure.command == "tune" { "tune cyclic" } else { &measure.command };
    let known = options_of(command);
    // The guests run this very plan.
    let rest = ["--", "run"].map(str::to_owned).into_iter().chain([path.display().to_string()]);
    let rest: Vec<String> = if measure.command == "guest" { rest.collect() } else { Vec::new() };
    parsed(command, &measure.options, &known, measure.line, rest)
}

/// The options of a measuring command that a table can hold.
fn options_of(command: &str) -> Vec<String> {
    let cli = Cli::command();
    let found = command.split(' ').try_fold(&cli, |within, word| within.find_subcommand(word));
    let arguments = found.into_iter().flat_map(clap::Command::get_arguments);
    let names = arguments.filter_map(|argument| argument.get_long()).map(str::to_owned);
    let elsewhere = not_in_tables();
    names.filter(|name| !elsewhere.contains(name)).collect()
}

/// `command` with `options` and the `rest`, as if it had been typed.
fn parsed(
    command: &str,
    options: &[PlanEntry],
    known: &[String],
    line: usize,
    rest: Vec<String>,
) -> Result<CliCommand, Wrong> {
    for option in options {
        if !known.contains(&option.name) {
            return Err(option.wrong(unknown(&option.name, command, known)));
        }
    }
    let mut words: Vec<String> = std::iter::once("howlate".to_owned()).collect();
    words.extend(command.splitn(2, ' ').map(str::to_owned));
    words.extend(options.iter().flat_map(in_words));
    words.extend(rest);
    let cli = Cli::try_parse_from(words).map_err(|error| explained(&error, options, line))?;
    cli.command.ok_or_else(|| Wrong { line, reason: "is no command".to_owned() })
}

fn unknown(name: &str, command: &str, known: &[String]) -> String {
    let of_the_run = command.starts_with("run ");
    if of_the_run && COMMANDS.iter().any(|command| options_of(command).iter().any(|one| one == name)) {
        return format!("`{name}` belongs into a table such as `[[sleep]]`, or on the command line");
    }
    if option_names::<MeasureUntilArgs>().iter().any(|one| one == name) {
        return format!(
            "`{name}` is not for plans: type it after `howlate cyclic`, `howlate sleep` or `howlate notify`"
        );
    }
    if not_in_tables().iter().any(|one| one == name) {
        return format!("`{name}` is for the whole run: put it above the first table, or type `--{name}`");
    }
    let of = if of_the_run { "a plan" } else { command };
    format!("`{name}` is not an option of {of}; {}", choice(name, known))
}

/// The nearest name, or all.
fn choice<T: AsRef<str>>(found: &str, known: &[T]) -> String {
    let known: Vec<&str> = known.iter().map(T::as_ref).collect();
    match nearest(found, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("choose from {}", known.join(", ")),
    }
}

fn in_words(option: &PlanEntry) -> Vec<String> {
    let word = |value: &String| match value.is_empty() {
        true => format!("--{}", option.name),
        false => format!("--{}={value}", option.name),
    };
    option.values.iter().map(word).collect()
}

/// The parser's complaint, with the line of the option that it is about.
fn explained(error: &clap::Error, options: &[PlanEntry], line: usize) -> Wrong {
    let about = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(text)) => text.as_str(),
        Some(ContextValue::Strings(texts)) => texts.first().map_or("", String::as_str),
        _ => "",
    };
    let name = about.trim_start_matches("--").split([' ', '=']).next().unwrap_or_default();
    let line = options.iter().find(|option| option.name == name).map_or(line, |option| option.line);
    let text = error.to_string();
    let said = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
    let reason = said.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    Wrong { line, reason }
}
