//! Hints for command lines that were refused.

use std::ffi::OsStr;
use std::path::Path;

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use howlate_model::shell_word;

use super::{cyclictest_options, familiar_options, similar_programs};

/// A hint for the refused line `arguments`. If there is one, clap's own misleading suggestions are removed from `refused`.
pub fn hint(refused: &mut Error, arguments: &[String]) -> Option<String> {
    let hint = cyclictest_options::hint(refused, arguments).or_else(|| command_hint(refused, arguments));
    // clap suggests `-- -c`, which would be a program, a process or a file of that name.
    refused.remove(ContextKind::Suggested);
    let hint = hint?;
    // Similar names mislead: `latency-test` is not hwlatdetect.
    refused.remove(ContextKind::SuggestedSubcommand);
    if refused.remove(ContextKind::SuggestedArg).is_some() {
        // It has the same suggestion.
        refused.remove(ContextKind::Usage);
    }
    Some(hint)
}

fn command_hint(refused: &Error, arguments: &[String]) -> Option<String> {
    let command = arguments.get(1)?.as_str();
    match (refused.kind(), command) {
        (ErrorKind::InvalidSubcommand, _) if similar_programs::hint(&arguments[1..]).is_some() => {
            similar_programs::hint(&arguments[1..])
        }
        (ErrorKind::InvalidSubcommand, _) if refused.get(ContextKind::SuggestedSubcommand).is_none() => {
            Some(format!("to watch a program: `howlate watch {}`", shell_line(&arguments[1..])))
        }
        (ErrorKind::UnknownArgument, "why" | "show" | "report" | "compare")
            if arguments.get(2).is_some_and(is_program) =>
        {
            Some(format!("to watch a program: `howlate watch -- {}`", shell_line(&arguments[2..])))
        }
        (ErrorKind::UnknownArgument, _) => familiar_options::hint(refused, command, arguments),
        (ErrorKind::ArgumentConflict, "sleep") if arguments.iter().any(|word| word == "--steps") => Some(
            "`--steps` chooses lengths and loads itself: write it alone, with `--call`, `--policy`, `--cpus`, `--samples` or `--rounds`"
                .to_owned(),
        ),
        (ErrorKind::ValueValidation, _) if is_value(refused, "scheduler") => Some(
            "a recording has one scheduler: measure once under each, then `howlate compare before.jsonl after.jsonl`"
                .to_owned(),
        ),
        (ErrorKind::MissingRequiredArgument, "compare") => Some(
            "such as `howlate compare before.jsonl after.jsonl`; the conditions of one recording: \
             `howlate compare run.jsonl --by policy`"
                .to_owned(),
        ),
        (ErrorKind::MissingRequiredArgument, "watch") if lacks_process(refused) => Some(
            "a running process, by id or name: `howlate watch 4711`; a program to start: `howlate watch -- ./my-program`"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Whether this value was refused.
fn is_value(refused: &Error, value: &str) -> bool {
    matches!(refused.get(ContextKind::InvalidValue), Some(ContextValue::String(found)) if found == value)
}

/// Whether it is the process that is missing, and not an option that another one needs.
fn lacks_process(refused: &Error) -> bool {
    match refused.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => missing.iter().any(|name| name.contains("PID")),
        _ => true,
    }
}

/// Whether an argument looks like the path of a program rather than of a recording.
fn is_program(word: &String) -> bool {
    let ending = Path::new(word).extension().and_then(OsStr::to_str);
    match ending {
        None => word.contains('/'),
        Some(ending) => ["py", "sh", "js", "mjs", "rb", "pl", "jar", "lua"].contains(&ending),
    }
}

fn shell_line(arguments: &[String]) -> String {
    arguments.iter().map(shell_word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::help;

    fn hint_for(line: &str) -> Option<String> {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let mut refused = help::program().try_get_matches_from(&arguments).err().unwrap();
        hint(&mut refused, &arguments)
    }

    #[test]
    fn what_was_meant_is_said_whole() {
        for (line, expected) in [
            ("howlate rtla timerlat top", "`howlate cyclic --policy fifo:95 --why`"),
            ("howlate why ./ctl --rate 8", "`howlate watch -- ./ctl --rate 8`"),
            ("howlate latency-test", "`howlate cyclic --policy fifo:80"),
            ("howlate python3 loop.py", "`howlate watch python3 loop.py`"),
            (
                "howlate cyclic --deadline 300us",
                "`--fail-above 'max>300us'`, or `howlate report --deadline 300us`",
            ),
            ("howlate watch -p 4711", "`howlate watch 4711`"),
            ("howlate watch --pid=4711", "`howlate watch 4711`"),
            ("howlate top -p nginx", "`howlate top nginx`"),
            ("howlate top -d 5", "`--interval 5s`"),
            ("howlate top -n 1", "`howlate top --once`"),
            ("howlate sleep 1ms -d 500ms", "`--duration 500ms`"),
            ("howlate cyclic --iterations 1000", "`--samples 1000`"),
            ("howlate sleep 1ms --runs", "`--rounds 10`"),
            ("howlate show -f csv", "`--format csv`"),
            ("howlate serve --port 8080", "`--listen 127.0.0.1:8080`"),
            ("howlate report --html", "`-o page.html`"),
            ("howlate notify pipe futex --rounds 3", "`--mechanism pipe,futex`"),
            ("howlate notify banana", "`--mechanism pipe,futex`"),
            ("howlate sleep 1ms -d soon", "`--duration 10s`"),
            ("howlate watch -p $(reboot)", "`howlate watch 4711`"),
            ("howlate compare", "`howlate compare before.jsonl after.jsonl`"),
            ("howlate watch", "`howlate watch 4711`"),
            ("howlate compare a.jsonl --by scheduler", "`howlate compare before.jsonl after.jsonl`"),
        ] {
            let hint = hint_for(line);
            assert!(hint.as_ref().is_some_and(|hint| hint.contains(expected)), "{line}: {hint:?}");
        }
        for line in ["howlate watch --banana", "howlate cyclik", "howlate sleep --banana"] {
            assert_eq!(hint_for(line), None, "{line}");
        }
    }

    #[test]
    fn a_neighbours_name_is_not_taken_for_a_command_that_looks_alike() {
        let arguments = ["howlate", "latency-test"].map(str::to_owned);
        let mut refused = help::program().try_get_matches_from(&arguments).err().unwrap();
        hint(&mut refused, &arguments);
        assert!(!refused.render().to_string().contains("hwlatdetect"), "{}", refused.render());
    }

    #[test]
    fn nobody_is_told_to_watch_an_option() {
        for line in
            ["howlate watch -c", "howlate watch --banana", "howlate tune program -c", "howlate top --banana"]
        {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let mut refused = help::program().try_get_matches_from(&arguments).err().unwrap();
            hint(&mut refused, &arguments);
            assert!(!refused.render().to_string().contains("-- -"), "{line}: {}", refused.render());
        }
    }
}
