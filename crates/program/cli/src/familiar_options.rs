//! Hints for options that other programs have, and howlate under another name or not at all.

use clap::Error;
use clap::error::{ContextKind, ContextValue};
use howlate_model::{Notifier, Span};

/// An option that people bring with them.
struct Familiar {
    /// The commands with which it is typed.
    commands: &'static [&'static str],
    names: &'static [&'static str],
    /// What to type here: `VALUE` stands for what was typed with it, `LENGTH` for the same as a length of time, in seconds if it has no
    /// unit.
    here: &'static str,
    /// The value, where none was typed.
    example: &'static str,
}

const MEASURING: &[&str] = &["cyclic", "sleep", "notify", "run"];
const TIMED: &[&str] = &["cyclic", "sleep", "notify", "run", "gaps", "watch", "record", "load", "selfcheck"];

const FAMILIAR: [Familiar; 14] = [
    Familiar {
        commands: &["watch", "record"],
        names: &["-p", "--pid"],
        here: "a running process, by its id or name: `howlate watch VALUE`",
        example: "4711",
    },
    Familiar {
        commands: &["top"],
        names: &["-p", "--pid"],
        here: "one process, by its id or name: `howlate top VALUE`",
        example: "4711",
    },
    Familiar { commands: &["top"], names: &["-H", "--threads"], here: "`--by thread`", example: "" },
    Familiar {
        commands: &["notify"],
        names: &["--hold-awake"],
        here: "`--receiver held_awake`",
        example: "",
    },
    Familiar { commands: &["top"], names: &["-d", "--delay"], here: "`--interval LENGTH`", example: "2s" },
    Familiar {
        commands: &["top"],
        names: &["-n", "-b"],
        here: "`howlate top --once` prints one table; `--duration 10s` ends after that time",
        example: "",
    },
    Familiar {
        commands: TIMED,
        names: &["-d", "-D", "-t", "--time"],
        here: "`--duration LENGTH`",
        example: "10s",
    },
    Familiar {
        commands: MEASURING,
        names: &["-n", "-l", "--count", "--iterations", "--loops"],
        here: "`--samples VALUE`",
        example: "1000",
    },
    Familiar { commands: MEASURING, names: &["--runs", "--repeat"], here: "`--rounds VALUE`", example: "10" },
    Familiar {
        commands: MEASURING,
        names: &["--deadline"],
        here: "`--fail-above 'max>VALUE'`, or `howlate report --deadline VALUE` of a recording",
        example: "500us",
    },
    Familiar {
        commands: &["show", "compare", "report"],
        names: &["-f"],
        here: "`--format VALUE`",
        example: "json",
    },
    Familiar {
        commands: &["report"],
        names: &["--html", "--pdf"],
        here: "a page is what `howlate report` writes; `-o page.html` says where, and a browser prints it as PDF",
        example: "",
    },
    Familiar {
        commands: &["serve"],
        names: &["-p", "--port"],
        here: "`--listen 127.0.0.1:VALUE`",
        example: "9840",
    },
    Familiar {
        commands: &["watch", "top", "why", "show", "compare"],
        names: &["-v", "--verbose"],
        here: "`--details` prints everything",
        example: "",
    },
];

/// The hint for an unknown option that other programs have; `None` for any other.
pub(crate) fn hint(refused: &Error, command: &str, arguments: &[String]) -> Option<String> {
    let Some(ContextValue::String(option)) = refused.get(ContextKind::InvalidArg) else { return None };
    if command == "notify" && !option.starts_with('-') {
        let mechanisms = arguments[2..].iter().take_while(|word| !word.starts_with('-'));
        let mechanisms: Vec<_> = mechanisms.map(String::as_str).collect();
        let are_known = mechanisms.iter().all(|name| name.parse::<Notifier>().is_ok());
        let example = if are_known { mechanisms.join(",") } else { "pipe,futex".to_owned() };
        return Some(format!("mechanisms are given with `--mechanism`: `--mechanism {example}`"));
    }
    let is_it = |familiar: &&Familiar| {
        familiar.commands.contains(&command) && familiar.names.contains(&option.as_str())
    };
    let familiar = FAMILIAR.iter().find(is_it)?;
    let value = value_of(option, arguments).filter(|value| is_plain(value)).unwrap_or(familiar.example);
    let is_bare = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let length = match value.parse::<Span>() {
        _ if is_bare => format!("{value}s"),
        Ok(_) => value.to_owned(),
        Err(_) => familiar.example.to_owned(),
    };
    Some(familiar.here.replace("VALUE", value).replace("LENGTH", &length))
}

/// Whether it can stand within a command as it is.
fn is_plain(value: &str) -> bool {
    value.chars().all(|letter| letter.is_alphanumeric() || "._-:/".contains(letter))
}

/// What was typed with an option: in the next word, after an equals sign, or at once.
fn value_of<'a>(option: &str, arguments: &'a [String]) -> Option<&'a str> {
    let place = arguments.iter().position(|word| word.starts_with(option))?;
    match arguments[place].strip_prefix(option)?.trim_start_matches('=') {
        "" => arguments.get(place + 1).map(String::as_str).filter(|word| !word.starts_with('-')),
        value => Some(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::help;

    #[test]
    fn what_is_to_be_typed_is_known_and_what_was_typed_is_not() {
        let program = help::program();
        for familiar in FAMILIAR {
            for command in familiar.commands {
                let existing = program.find_subcommand(command).unwrap();
                let has = |option: &str| {
                    let is_it = |arg: &clap::Arg| {
                        arg.get_long().is_some_and(|long| option == format!("--{long}"))
                            || arg.get_short().is_some_and(|short| option == format!("-{short}"))
                    };
                    existing.get_arguments().any(is_it)
                };
                // A suggestion that names its command is not about this one.
                let suggested = familiar.here.split('`').skip(1).step_by(2);
                for line in suggested.filter(|line| line.starts_with('-')) {
                    assert!(line.split(' ').next().is_some_and(has), "howlate {command} {line}");
                }
                assert!(
                    !familiar.names.iter().any(|name| has(name)),
                    "howlate {command} has {:?}",
                    familiar.names
                );
            }
        }
    }
}
