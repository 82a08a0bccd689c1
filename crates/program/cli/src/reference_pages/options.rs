//! docs/options.md: the options of every command, from the clap definitions.

use std::collections::BTreeMap;

use clap::{Arg, Command, CommandFactory};

use crate::Cli;

const ABOUT: &str = "# Options of every command

Reference, made from the program: what `howlate help COMMAND` says, in one place. [Commands](commands.md) says how to type them.

## Common options
";

/// One row of a table.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    name: String,
    syntax: String,
    meaning: String,
}

impl Row {
    fn new(argument: &Arg) -> Self {
        let takes_value = argument.get_action().takes_values();
        let value = argument.get_value_names().filter(|_| takes_value).map(|names| names.join(" "));
        let value = value.unwrap_or_default();
        let (name, syntax) = match argument.get_long() {
            Some(long) => (format!("--{long}"), format!("`{}`", format!("--{long} {value}").trim_end())),
            None => (value.clone(), format!("`{value}`")),
        };
        let short = argument.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
        let help = argument.get_long_help().or_else(|| argument.get_help()).map(ToString::to_string);
        let values = if takes_value { values(argument) } else { String::new() };
        Self { name, syntax: short + &syntax, meaning: one_line(&help.unwrap_or_default()) + &values }
    }

    fn line(&self) -> String {
        format!("| {} | {} |\n", self.syntax.replace('|', "\\|"), self.meaning.replace('|', "\\|"))
    }
}

/// Joins paragraphs into one line.
fn one_line(help: &str) -> String {
    let paragraphs = help.split("\n\n").map(|paragraph| paragraph.trim_end_matches('.').replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join(". ")
}

/// Possible values and default of an option.
fn values(argument: &Arg) -> String {
    let possible = argument.get_possible_values();
    let possible: Vec<String> = possible.iter().map(|value| format!("`{}`", value.get_name())).collect();
    let default: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let possible = if possible.is_empty() || argument.is_hide_possible_values_set() {
        String::new()
    } else {
        format!(": {}", possible.join(", "))
    };
    let default = if default.is_empty() || argument.is_hide_default_value_set() {
        String::new()
    } else {
        format!(". Default: `{}`", default.join(","))
    };
    possible + &default
}

/// A command with its options.
struct Section {
    name: String,
    about: String,
    rows: Vec<Row>,
}

impl Section {
    fn new(name: &str, command: &Command) -> Self {
        let is_listed = |argument: &&Arg| !argument.is_hide_set();
        let is_own = |argument: &&Arg| !matches!(argument.get_id().as_str(), "help" | "version");
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let rows = command.get_arguments().filter(is_listed).filter(is_own).map(Row::new).collect();
        Self { name: name.to_owned(), about, rows }
    }

    /// Removes options that `same` describes identically.
    fn remove_shared(&mut self, same: &Self) {
        let missing = same.rows.iter().filter(|row| !self.rows.contains(row));
        let missing: Vec<String> = missing.map(|row| format!("`{}`", row.name)).collect();
        self.about = format!("Those of `{}`, but not {}. Also:", same.name, missing.join(", "));
        self.rows.retain(|row| !same.rows.contains(row));
    }

    /// Its text; common rows are only named.
    fn text(&self, common: impl Fn(&Row) -> bool) -> String {
        let (shared, own): (Vec<&Row>, Vec<&Row>) = self.rows.iter().partition(|row| common(row));
        let names: Vec<String> = shared.iter().map(|row| format!("`{}`", row.name)).collect();
        let names =
            if names.is_empty() { String::new() } else { format!("\nCommon: {}\n", names.join(", ")) };
        format!("\n## `{}`\n\n{}\n{}{names}", self.name, self.about, table(&own))
    }
}

/// All commands, in the order of `howlate help --all`.
fn sections(cli: &Command) -> Vec<Section> {
    let mut sections = vec![Section::new("howlate", cli)];
    for command in cli.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = format!("howlate {}", command.get_name());
        sections.push(Section::new(&name, command));
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            let mut section = Section::new(&format!("{name} {}", below.get_name()), below);
            if let Some(same) = cli.find_subcommand(below.get_name()) {
                section.remove_shared(&Section::new(&format!("howlate {}", below.get_name()), same));
            }
            sections.push(section);
        }
    }
    sections.retain(|section| !section.rows.is_empty());
    sections
}

fn table(rows: &[&Row]) -> String {
    let lines: String = rows.iter().map(|row| row.line()).collect();
    if lines.is_empty() { lines } else { format!("\n| option or argument | meaning |\n|---|---|\n{lines}") }
}

pub(super) fn page() -> String {
    let mut cli = Cli::command();
    cli.build();
    let sections = sections(&cli);
    let mut count: BTreeMap<&Row, usize> = BTreeMap::new();
    for row in sections.iter().flat_map(|section| &section.rows) {
        *count.entry(row).or_default() += 1;
    }
    // Options that several commands describe identically are described once.
    let is_common = |row: &Row| count[row] > 1;
    let common: Vec<&Row> = count.keys().copied().filter(|row| is_common(row)).collect();
    let text: String = sections.iter().map(|section| section.text(is_common)).collect();
    format!("{ABOUT}{}{text}", table(&common))
}
