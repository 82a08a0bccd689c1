//! `howlate --help`: the main commands in groups; `howlate help --all` lists all.

use clap::{Command, CommandFactory};

use super::Cli;

/// Groups of the main commands.
const GROUPS: [(&str, &[&str]); 3] = [
    ("Start here", &["watch", "cyclic", "sleep", "notify", "doctor"]),
    ("Whole machine", &["top", "record", "gaps", "tune"]),
    ("Understand", &["why", "compare", "show", "report"]),
];

/// Commands in place of others; listed last.
const REPLACEMENTS: [&str; 4] = ["cyclictest", "oslat", "hwlatdetect", "cyclicdeadline"];

/// Row for `howlate` without a command.
const ALONE: (&str, &str) = ("(alone)", "Take a quick look at this machine (about 20 s)");
/// Heading of the remaining commands.
const MORE: &str = "More (`howlate help --all` explains them)";

/// The clap command with grouped help.
pub fn program() -> Command {
    let program = Cli::command();
    let groups = groups(&program);
    let options = heading(&program, "Options");
    program.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} howlate [OPTIONS] [COMMAND]\n\n{groups}\n{options}{{options}}{{after-help}}"
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
    let about = |name: &&'static str| {
        let about = program.find_subcommand(name).and_then(Command::get_about);
        (*name, about.map(ToString::to_string).unwrap_or_default())
    };
    let mut groups = GROUPS.map(|(title, names)| (title, names.iter().map(about).collect::<Vec<_>>()));
    groups[0].1.insert(0, (ALONE.0, ALONE.1.to_owned()));
    let width = groups.iter().flat_map(|(_, lines)| lines).map(|(name, _)| name.len()).max().unwrap_or(0);
    let group = |(title, lines): &(&str, Vec<(&str, String)>)| {
        let lines: String = lines.iter().map(|(name, about)| format!("  {name:width$}  {about}\n")).collect();
        format!("{}{lines}", heading(program, title))
    };
    let groups = groups.iter().map(group).collect::<Vec<_>>().join("\n");
    format!("{groups}\n{}{}\n", heading(program, MORE), ungrouped(program))
}

/// Commands in no group, in wrapped lines.
fn ungrouped(program: &Command) -> String {
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
    let is_grouped = |name: &&str| GROUPS.iter().any(|(_, names)| names.contains(name));
    let (replacements, others): (Vec<_>, Vec<_>) =
        shown.filter(|name| !is_grouped(name)).partition(|name| REPLACEMENTS.contains(name));
    wrap_names(&format!("{}; drop-ins: {}", others.join(", "), replacements.join(", ")), 2)
}

/// Names in wrapped, indented lines.
fn wrap_names(names: &str, indent: usize) -> String {
    let text = howlate_render::wrapped(names, COLUMNS - indent, 0);
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
            ("howlate notify --by pipe", "notify"),
            ("howlate notify --between threads", "notify"),
            ("howlate guest --cpus 1 --list", "guest"),
            ("howlate record --policy fifo", "record"),
            ("howlate record --at-most 1/h", "record"),
            ("howlate show --group pod", "show"),
            ("howlate report --group pod", "report"),
            ("howlate doctor --verbose", "doctor"),
            ("howlate doctor -v", "doctor"),
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
