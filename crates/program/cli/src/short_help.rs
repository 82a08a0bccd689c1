//! `-h`: one line for each option, a few examples, all on one screen. `--help` says the rest.

use std::ffi::OsString;

use clap::{Arg, Command};

use super::help::heading;

/// A small terminal.
const LINES: usize = 24;
const COLUMNS: usize = 80;
/// Where a text may end that is too long, the best first: before a default value, a second sentence, a list, a remark, a clause.
const ENDS: [&str; 5] = [" [", "; ", ": ", " (", ", "];
const EXAMPLES: &str = "Examples";

/// Whether these arguments ask for it. Behind `--`, they are another program's.
pub fn is_asked_for(arguments: &[OsString]) -> bool {
    let own = || arguments.iter().take_while(|argument| *argument != "--");
    own().any(|argument| argument == "-h") && own().all(|argument| argument != "--help")
}

/// The program with such a help of all commands that have no commands of their own.
pub fn with_short_help(mut program: Command) -> Command {
    // Usage needs the names of the commands above.
    program.build();
    of_commands(program)
}

fn of_commands(program: Command) -> Command {
    let names: Vec<String> = program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    names.into_iter().fold(program, |program, name| program.mut_subcommand(name, with_text))
}

fn with_text(mut command: Command) -> Command {
    if command.has_subcommands() {
        return of_commands(command);
    }
    if command.is_disable_help_flag_set() {
        return command;
    }
    let text = text(&mut command);
    command.override_help(text)
}

fn text(command: &mut Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.render_usage();
    let options = options(command);
    let head = format!(
        "{}\n\n{}\n\n{}{options}",
        fitted(&about, COLUMNS),
        usage.ansi(),
        heading(command, "Options")
    );
    // An empty line and the heading.
    let lines = LINES.saturating_sub(head.lines().count() + 2);
    let examples = first_examples(command, lines);
    match examples.is_empty() {
        true => head,
        false => format!("{head}\n{}{examples}", heading(command, EXAMPLES)),
    }
}

/// A line for each option that short help shows; `-h` itself is the last one.
fn options(command: &Command) -> String {
    let is_shown = |arg: &&Arg| !arg.is_positional() && !arg.is_hide_set() && !arg.is_hide_short_help_set();
    let mut shown: Vec<&Arg> = command.get_arguments().filter(is_shown).collect();
    shown.sort_by_key(|arg| arg.get_id() == "help");
    let names = |arg: &Arg| match arg.get_short() {
        Some(short) => format!("-{short}, {arg}"),
        None => format!("    {arg}"),
    };
    let width = shown.iter().map(|arg| names(arg).chars().count()).max().unwrap_or(0);
    let room = COLUMNS.saturating_sub(width + 4);
    let literal = command.get_styles().get_literal();
    let line = |arg: &&Arg| {
        let names = names(arg);
        let gap = width - names.chars().count();
        format!("  {literal}{names}{literal:#}{:gap$}  {}\n", "", fitted(&help(arg), room))
    };
    shown.iter().map(line).collect()
}

/// What it does, and its default value.
fn help(arg: &Arg) -> String {
    let text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let takes_value = arg.get_action().takes_values() && !arg.is_hide_default_value_set();
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    match takes_value && !defaults.is_empty() {
        true => format!("{text} [default: {}]", defaults.join(",")),
        false => text,
    }
}

/// The beginning of a text that has room.
fn fitted(text: &str, room: usize) -> String {
    let has_room = |text: &str| text.chars().count() <= room;
    if has_room(text) {
        return text.to_owned();
    }
    let ended = |end: &&str| {
        let places = text.match_indices(end).map(|(place, _)| text.split_at(place).0);
        places.filter(|start| has_room(start)).last()
    };
    let start = ENDS.iter().find_map(ended);
    start.map_or_else(|| cut(text, room), str::to_owned)
}

/// The words that have room.
fn cut(text: &str, room: usize) -> String {
    let mut start = String::new();
    for word in text.split_inclusive(' ') {
        if start.chars().count() + word.chars().count() > room {
            break;
        }
        start.push_str(word);
    }
    format!("{}…", start.trim_end())
}

/// The first examples, as many as there are lines for; one that takes two lines ends its first one with a backslash.
fn first_examples(command: &Command, lines: usize) -> String {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let all = help.lines().skip_while(|line| line.trim_end_matches(':') != EXAMPLES).skip(1);
    let mut shown = String::new();
    let (mut used, mut example) = (0, String::new());
    for line in all.take_while(|line| !line.is_empty()) {
        used += 1;
        example = format!("{example}{line}\n");
        if used > lines {
            break;
        }
        if !line.ends_with('\\') {
            shown.push_str(&std::mem::take(&mut example));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use clap::builder::Styles;

    use super::*;
    use crate::help;

    /// All commands that have no others below.
    fn last_commands(command: Command) -> Vec<Command> {
        let below: Vec<Command> = command.get_subcommands().cloned().collect();
        match below.is_empty() {
            true => vec![command],
            false => below.into_iter().flat_map(last_commands).collect(),
        }
    }

    #[test]
    fn each_fits_a_screen_and_has_examples() {
        let mut program = help::program();
        program.build();
        let all = last_commands(program).into_iter().filter(|command| !command.is_disable_help_flag_set());
        let mut seen = 0;
        for mut command in all.filter(|command| !command.is_hide_set() && command.get_name() != "help") {
            command = command.styles(Styles::plain());
            let text = text(&mut command);
            let name = command.get_bin_name().unwrap_or_default().to_owned();
            assert!(text.lines().count() <= LINES, "{name} has {} lines:\n{text}", text.lines().count());
            let longest = text.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(COLUMNS), "{name}:\n{text}");
            assert!(!text.contains("…\n"), "{name} has no room for all that an option is:\n{text}");
            let has_examples =
                command.get_after_help().is_some_and(|help| help.to_string().contains(EXAMPLES));
            assert!(
                !has_examples || text.contains("\nExamples:\n  howlate"),
                "{name} has no room for an example:\n{text}"
            );
            seen += 1;
        }
        assert!(seen > 20, "{seen}");
    }

    #[test]
    fn a_text_that_is_too_long_ends_where_it_can() {
        let text = "About each: a command, which gets JSON; or stop, which ends it [default: none]";
        for (room, expected) in [
            (78, text),
            (77, "About each: a command, which gets JSON; or stop, which ends it"),
            (50, "About each: a command, which gets JSON"),
            (20, "About each"),
            (8, "About…"),
        ] {
            assert_eq!(fitted(text, room), expected);
        }
    }

    #[test]
    fn what_stands_behind_two_dashes_is_for_another_program() {
        let is_asked = |line: &str| is_asked_for(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert!(is_asked("howlate watch -h") && is_asked("howlate watch -h -- prog"));
        assert!(!is_asked("howlate watch --help -h") && !is_asked("howlate watch -- prog -h"));
    }
}
