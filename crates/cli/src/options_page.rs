//! docs/options.md: the options of every command, made of the table that `--help` is made of.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory};

use super::Cli;

const ABOUT: &str = "# Options of every command

Reference, made from the program: what `howlate help COMMAND` says, in one place. [Commands](commands.md) says how to type them.

## Common options
";

/// One row of a table: how it is typed, and what it means.
type Row = (String, String);

/// Rows of each command by its name, in the order of `howlate help --all`.
fn commands(cli: &Command) -> Vec<(String, Vec<Row>)> {
    let mut found = vec![(String::new(), rows(cli))];
    for command in cli.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = command.get_name();
        found.push((name.to_owned(), rows(command)));
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            found.push((format!("{name} {}", below.get_name()), rows(below)));
        }
    }
    found.retain(|(_, rows)| !rows.is_empty());
    found
}

fn rows(command: &Command) -> Vec<Row> {
    let is_listed = |argument: &&Arg| !argument.is_hide_set() && argument.get_long().is_some();
    let is_own = |argument: &&Arg| !matches!(argument.get_id().as_str(), "help" | "version");
    command.get_arguments().filter(is_listed).filter(is_own).map(row).collect()
}

fn row(argument: &Arg) -> Row {
    let long = argument.get_long().unwrap_or_default();
    let short = argument.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
    let takes_value = argument.get_action().takes_values();
    let value =
        argument.get_value_names().filter(|_| takes_value).map(|names| format!(" {}", names.join(" ")));
    let help = argument.get_long_help().or_else(|| argument.get_help()).map(ToString::to_string);
    let mut meaning = help.unwrap_or_default().replace("\n\n", ". ").replace("..", ".").replace('\n', " ");
    let values = argument.get_possible_values();
    if takes_value && !values.is_empty() && !argument.is_hide_possible_values_set() {
        let values: Vec<String> = values.iter().map(|value| format!("`{}`", value.get_name())).collect();
        let _ = write!(meaning, ": {}", values.join(", "));
    }
    let default: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if takes_value && !default.is_empty() && !argument.is_hide_default_value_set() {
        let _ = write!(meaning, " [default: `{}`]", default.join(","));
    }
    (format!("{short}`--{long}{}`", value.unwrap_or_default()), meaning)
}

fn page() -> String {
    let mut cli = Cli::command();
    cli.build();
    let commands = commands(&cli);
    let mut count: BTreeMap<&Row, usize> = BTreeMap::new();
    for row in commands.iter().flat_map(|(_, rows)| rows) {
        *count.entry(row).or_default() += 1;
    }
    // What two commands describe in the same words is described once.
    let is_common = |row: &&Row| count[*row] > 1;
    let common: Vec<&Row> = count.keys().copied().filter(is_common).collect();
    let mut page = format!("{ABOUT}{}", table(&common));
    for (name, rows) in &commands {
        let (shared, own): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(is_common);
        let _ = write!(page, "\n## `{}`\n", format!("howlate {name}").trim_end());
        page.push_str(&table(&own));
        if !shared.is_empty() {
            let names: Vec<&str> = shared.iter().map(|(typed, _)| name_of(typed)).collect();
            let _ = write!(
                page,
                "\nCommon: {}\n",
                names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
            );
        }
    }
    page
}

/// `--out` of "`-o`, `--out FILE`".
fn name_of(typed: &str) -> &str {
    typed.rsplit("`, `").next().unwrap_or(typed).trim_matches('`').split(' ').next().unwrap_or_default()
}

fn table(rows: &[&Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let line = |(typed, meaning): &&Row| format!("| {} | {} |\n", cell(typed), cell(meaning));
    format!("\n| option | meaning |\n|---|---|\n{}", rows.iter().map(line).collect::<String>())
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[test]
fn the_page_of_options_is_what_the_program_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/options.md");
    let (now, published) = (page(), std::fs::read_to_string(path).unwrap_or_default());
    if now != published && std::env::var_os("HOWLATE_UPDATE").is_some() {
        return std::fs::write(path, now).unwrap();
    }
    assert!(now == published, "run HOWLATE_UPDATE=1 cargo test -p howlate-cli, then read the difference");
}
