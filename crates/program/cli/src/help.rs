//! `howlate --help`: the main commands in two groups; `howlate help --all` lists all.

use clap::{Command, CommandFactory};

use super::Cli;

/// Groups of the main commands.
pub const GROUPS: [(&str, &[&str]); 2] = [
    ("Start here", &["cyclic", "sleep", "watch", "doctor"]),
    ("Understand", &["why", "top", "tune", "compare", "show", "report"]),
];

/// Row for `howlate` without a command.
const ALONE: (&str, &str) = ("(alone)", "A quick look at this machine (about 20 s)");
/// Row for the remaining commands.
const ALL: (&str, &str) = ("help --all", "Every command:");

/// The clap command with grouped help.
pub fn program() -> Command {
    let program = Cli::command();
    let groups = groups(&program);
    let options = heading(&program, "Options");
    program.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\n{options}{{options}}{{after-help}}"
    ))
}

/// The clap command with help on all commands.
pub fn everything() -> Command {
    Cli::command()
}

pub(crate) fn heading(program: &Command, title: &str) -> String {
    let style = program.get_styles().get_header();
    format!("{style}{title}:{style:#}\n")
}

/// All groups, and the names of the other commands.
fn groups(program: &Command) -> String {
    let about = |name: &'static str| {
        let about = program.find_subcommand(name).and_then(Command::get_about);
        (name, about.map(ToString::to_string).unwrap_or_default())
    };
    let alone = (ALONE.0, ALONE.1.to_owned());
    let [(start, first), (understand, second)] = GROUPS;
    let groups = [
        (start, std::iter::once(alone).chain(first.iter().map(|name| about(name))).collect()),
        (understand, second.iter().map(|name| about(name)).collect()),
        ("More", vec![(ALL.0, ALL.1.to_owned())]),
    ];
    let width = ALL.0.len();
    let group = |(title, lines): &(&str, Vec<(&str, String)>)| {
        let lines: String = lines.iter().map(|(name, about)| format!("  {name:width$}  {about}\n")).collect();
        format!("{}{lines}", heading(program, title))
    };
    let groups: Vec<String> = groups.iter().map(group).collect();
    format!("{}{}\n", groups.join("\n"), wrap_names(&ungrouped(program), width + 4))
}

/// Commands in no group.
fn ungrouped(program: &Command) -> Vec<&str> {
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
    shown.filter(|name| !GROUPS.iter().any(|(_, names)| names.contains(name))).collect()
}

/// Names in wrapped, indented lines.
fn wrap_names(names: &[&str], indent: usize) -> String {
    let text = howlate_render::wrapped(&names.join(", "), COLUMNS - indent, 0);
    text.lines().map(|line| format!("{:indent$}{line}", "")).collect::<Vec<_>>().join("\n")
}

/// Maximum width of help lines.
const COLUMNS: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    /// What was typed before keeps its meaning.
    #[test]
    fn old_spellings_are_read_and_not_shown() {
        for (old, command) in [
            ("howlate serve --open", "serve"),
            ("howlate serve --watch 1", "serve"),
            ("howlate selfcheck --for thread", "selfcheck"),
            ("howlate top --process 1", "top"),
            ("howlate compare --self-test", "compare"),
        ] {
            let arguments = old.split(' ');
            assert!(program().try_get_matches_from(arguments).is_ok(), "{old}");
            let help = everything().find_subcommand_mut(command).unwrap().render_long_help().to_string();
            let option = old.split(' ').nth(2).unwrap();
            assert!(
                !help.contains(&format!("{option} ")) && !help.contains(&format!("{option}\n")),
                "{option}: {help}"
            );
        }
    }

    #[test]
    fn every_command_stands_in_help_once() {
        let help = program().render_help().to_string();
        for command in everything().get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
            let name = command.get_name();
            let times = help
                .split(|letter: char| !letter.is_alphanumeric() && letter != '-')
                .filter(|word| *word == name)
                .count();
            assert!(times > 0, "{name}: {help}");
        }
        for (_, names) in GROUPS {
            for name in names {
                assert!(program().find_subcommand(name).is_some(), "{name}");
            }
        }
        assert!(help.lines().all(|line| line.len() <= 100), "{help}");
    }
}
