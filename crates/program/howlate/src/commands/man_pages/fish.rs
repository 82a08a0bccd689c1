//! What fish completes after a command's name: clap_complete knows the values of options only.

use clap::{Arg, Command};

/// A line for each command whose words have known values, such as the plans of `howlate run`.
pub(super) fn words_after(program: &Command) -> String {
    let of = |command: &Command| {
        let words: Vec<String> = command.get_positionals().flat_map(values).collect();
        let line = format!(
            "complete -c howlate -n \"__fish_howlate_using_subcommand {}\" -a \"{}\"\n",
            command.get_name(),
            words.join(" ")
        );
        (!words.is_empty()).then_some(line)
    };
    program.get_subcommands().filter_map(of).collect()
}

/// Names that need no quotes; others would end the list.
fn values(argument: &Arg) -> Vec<String> {
    let is_plain =
        |name: &String| name.chars().all(|one| one.is_ascii_alphanumeric() || "-_:.+".contains(one));
    argument.get_possible_values().iter().map(|one| one.get_name().to_owned()).filter(is_plain).collect()
}
