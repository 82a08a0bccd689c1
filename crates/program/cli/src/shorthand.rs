//! Expands shorthand command lines.

use std::ffi::OsString;

use clap::{Arg, Command, CommandFactory};

use super::Cli;

/// Takes no value; behind the program of `watch` it is that program's.
const DEBUG: &str = "--debug";

/// Expands a command line: `--debug` before a command moves behind it, `tune` without a subject to `tune cyclic` or `tune program`, `howlate -- PROGRAM` to `howlate watch`, and
/// `help --all` to its own command.
pub fn expand_shorthand(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    const COMPLETE: [&str; 7] = ["cyclic", "sleep", "notify", "program", "-h", "--help", "help"];
    let mut arguments: Vec<OsString> = arguments.collect();
    // An option of the program itself, which clap takes behind a command only.
    let begins_with_debug = arguments.get(1).is_some_and(|word| word == DEBUG);
    if begins_with_debug && arguments.get(2).is_some_and(|word| !is_option(&word.to_string_lossy())) {
        arguments.swap(1, 2);
    }
    if arguments.get(1).is_some_and(|word| word == "--") {
        arguments.insert(1, "watch".into());
    }
    if arguments.get(1..).is_some_and(|rest| rest == ["help", "--all"]) {
        arguments.splice(1.., ["help-all".into()]);
    }
    if arguments.get(1).is_some_and(|word| word == "watch") {
        separate_program(&mut arguments);
    }
    let is_tune = arguments.get(1).is_some_and(|word| word == "tune");
    if is_tune && !arguments.get(2).is_some_and(|next| COMPLETE.iter().any(|word| next == word)) {
        let is_process = arguments.get(2).is_some_and(|next| !next.as_encoded_bytes().starts_with(b"-"));
        let is_program = is_process || arguments.iter().any(|word| word == "--");
        arguments.insert(2, if is_program { "program" } else { "cyclic" }.into());
    }
    arguments
}

/// Inserts `--` before the program of `watch` if an unknown option or a `--` follows it: then all following arguments are the
/// program's.
fn separate_program(arguments: &mut Vec<OsString>) {
    let cli = Cli::command();
    let Some(watch) = cli.find_subcommand("watch") else { return };
    let texts: Vec<&str> = arguments.iter().map(|argument| argument.to_str().unwrap_or("\u{fffd}")).collect();
    let Some(program) = program_position(watch, &texts) else { return };
    let mut rest = texts[program + 1..].iter();
    let is_separate = loop {
        match rest.next() {
            None => return,
            Some(&"--") => break true,
            Some(word) if is_option(word) => match option_kind(watch, word) {
                OptionKind::Unknown => break true,
                OptionKind::WithValue => drop(rest.next()),
                OptionKind::Flag => {}
            },
            Some(_) => {}
        }
    };
    if is_separate {
        arguments.insert(program, "--".into());
    }
}

/// Position of the first argument that is neither an option of `watch` nor its value; `None` if `--` or an unknown option comes
/// first.
fn program_position(watch: &Command, arguments: &[&str]) -> Option<usize> {
    let mut place = 2;
    loop {
        match *arguments.get(place)? {
            "--" => return None,
            DEBUG => place += 1,
            word if is_option(word) => {
                place += match option_kind(watch, word) {
                    OptionKind::Unknown => return None,
                    OptionKind::WithValue => 2,
                    OptionKind::Flag => 1,
                };
            }
            _ => return Some(place),
        }
    }
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// Kind of an argument that starts with `-`.
enum OptionKind {
    Unknown,
    Flag,
    WithValue,
}

fn option_kind(watch: &Command, word: &str) -> OptionKind {
    let takes_value = |option: &Arg| option.get_action().takes_values();
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let has_name = |option: &&Arg| {
            option.get_long() == Some(name) || option.get_all_aliases().is_some_and(|all| all.contains(&name))
        };
        return match watch.get_arguments().find(has_name) {
            Some(option) if takes_value(option) && value.is_none() => OptionKind::WithValue,
            Some(_) => OptionKind::Flag,
            None if name == "help" => OptionKind::Flag,
            None => OptionKind::Unknown,
        };
    }
    let mut letters = word.chars().skip(1);
    while let Some(letter) = letters.next() {
        match watch.get_arguments().find(|option| option.get_short() == Some(letter)) {
            Some(option) if takes_value(option) => {
                return if letters.next().is_some() { OptionKind::Flag } else { OptionKind::WithValue };
            }
            Some(_) => {}
            None if letter == 'h' => {}
            None => return OptionKind::Unknown,
        }
    }
    OptionKind::Flag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_program_is_its_own() {
        for (line, expanded) in [
            ("howlate watch java -cp x.jar J", "howlate watch -- java -cp x.jar J"),
            (
                "howlate watch --duration 5s java -Xmx1g J -o x",
                "howlate watch --duration 5s -- java -Xmx1g J -o x",
            ),
            (
                "howlate watch -qo r.jsonl chrt --fifo 80 ./x",
                "howlate watch -qo r.jsonl -- chrt --fifo 80 ./x",
            ),
            ("howlate --debug watch java -cp x.jar J", "howlate watch --debug -- java -cp x.jar J"),
            ("howlate watch python3 loop.py --debug", "howlate watch -- python3 loop.py --debug"),
            ("howlate watch npm run x -- --flag", "howlate watch -- npm run x -- --flag"),
            ("howlate watch python3 loop.py --rate 5", "howlate watch -- python3 loop.py --rate 5"),
        ] {
            assert_eq!(expand(line), expanded);
        }
        for ours in [
            "howlate watch 4711 --duration 30s",
            "howlate watch python3 loop.py --duration 30s --live",
            "howlate watch -- java -cp x",
            "howlate watch --banana java -cp x",
            "howlate watch --thread a b -q",
            "howlate watch",
        ] {
            assert_eq!(expand(ours), ours);
        }
    }

    fn expand(line: &str) -> String {
        let arguments = expand_shorthand(line.split(' ').map(Into::into));
        arguments.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tune_alone_tries_settings_on_periodic_threads() {
        assert_eq!(expand("howlate tune"), "howlate tune cyclic");
        assert_eq!(expand("howlate tune --dry-run"), "howlate tune cyclic --dry-run");
        assert_eq!(expand("howlate tune 4711 --dry-run"), "howlate tune program 4711 --dry-run");
        assert_eq!(
            expand("howlate tune --goal p50 -- ./sleep"),
            "howlate tune program --goal p50 -- ./sleep"
        );
        assert_eq!(expand("howlate -- python3 loop.py"), "howlate watch -- python3 loop.py");
        assert_eq!(expand("howlate help --all"), "howlate help-all");
        assert_eq!(expand("howlate --debug doctor --json"), "howlate doctor --debug --json");
        for line in [
            "howlate --debug",
            "howlate --debug --no-save",
            "howlate tune sleep --for 1ms",
            "howlate tune --help",
            "howlate doctor",
            "howlate",
        ] {
            assert_eq!(expand(line), line);
        }
    }
}
