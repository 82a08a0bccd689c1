//! Words that may be left out of a command line.

use std::ffi::OsString;

use clap::{Arg, Command, CommandFactory};

use super::Cli;

/// The words of a command line with `cyclic` put in where `tune` is followed by nothing that settings are tried on, and `program`
/// where it is followed by somebody's program; a program alone is watched, and `help --all` is a command of its own.
pub fn written_out(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    const AS_THEY_ARE: [&str; 7] = ["cyclic", "sleep", "notify", "program", "-h", "--help", "help"];
    let mut words: Vec<OsString> = words.collect();
    if words.get(1).is_some_and(|word| word == "--") {
        words.insert(1, "watch".into());
    }
    if words.get(1..).is_some_and(|typed| typed == ["help", "--all"]) {
        words.splice(1.., ["help-all".into()]);
    }
    if words.get(1).is_some_and(|word| word == "watch") {
        set_program_apart(&mut words);
    }
    let is_tune = words.get(1).is_some_and(|word| word == "tune");
    if is_tune && !words.get(2).is_some_and(|next| AS_THEY_ARE.iter().any(|one| next == one)) {
        let is_process = words.get(2).is_some_and(|next| !next.as_encoded_bytes().starts_with(b"-"));
        let is_program = is_process || words.iter().any(|word| word == "--");
        words.insert(2, if is_program { "program" } else { "cyclic" }.into());
    }
    words
}

/// Puts `--` before a program that is to be watched where an option follows it that is none of ours, or a `--` of its own: then
/// all that follows is the program's.
fn set_program_apart(words: &mut Vec<OsString>) {
    let everything = Cli::command();
    let Some(watch) = everything.find_subcommand("watch") else { return };
    let typed: Vec<&str> = words.iter().map(|word| word.to_str().unwrap_or("\u{fffd}")).collect();
    let Some(program) = program(watch, &typed) else { return };
    let mut rest = typed[program + 1..].iter();
    let is_apart = loop {
        match rest.next() {
            None => return,
            Some(&"--") => break true,
            Some(word) if is_option(word) => match option(watch, word) {
                Known::No => break true,
                Known::WithValue => drop(rest.next()),
                Known::Alone => {}
            },
            Some(_) => {}
        }
    };
    if is_apart {
        words.insert(program, "--".into());
    }
}

/// Where the first word stands that is neither an option of ours nor its value; `None` where `--` comes first, or what is no option
/// of ours.
fn program(watch: &Command, words: &[&str]) -> Option<usize> {
    let mut place = 2;
    loop {
        match *words.get(place)? {
            "--" => return None,
            word if is_option(word) => {
                place += match option(watch, word) {
                    Known::No => return None,
                    Known::WithValue => 2,
                    Known::Alone => 1,
                };
            }
            _ => return Some(place),
        }
    }
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// Whether a word is an option of ours, and whether the next one is its value.
enum Known {
    No,
    Alone,
    WithValue,
}

fn option(watch: &Command, word: &str) -> Known {
    let takes_value = |one: &Arg| one.get_action().takes_values();
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let named = |one: &&Arg| {
            one.get_long() == Some(name) || one.get_all_aliases().is_some_and(|all| all.contains(&name))
        };
        return match watch.get_arguments().find(named) {
            Some(one) if takes_value(one) && value.is_none() => Known::WithValue,
            Some(_) => Known::Alone,
            None if name == "help" => Known::Alone,
            None => Known::No,
        };
    }
    let mut letters = word.chars().skip(1);
    while let Some(letter) = letters.next() {
        match watch.get_arguments().find(|one| one.get_short() == Some(letter)) {
            Some(one) if takes_value(one) => {
                return if letters.next().is_some() { Known::Alone } else { Known::WithValue };
            }
            Some(_) => {}
            None if letter == 'h' => {}
            None => return Known::No,
        }
    }
    Known::Alone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_program_is_its_own() {
        for (typed, meant) in [
            ("howlate watch java -cp x.jar J", "howlate watch -- java -cp x.jar J"),
            (
                "howlate watch --duration 5s java -Xmx1g J -o x",
                "howlate watch --duration 5s -- java -Xmx1g J -o x",
            ),
            (
                "howlate watch -qo r.jsonl chrt --fifo 80 ./x",
                "howlate watch -qo r.jsonl -- chrt --fifo 80 ./x",
            ),
            ("howlate watch npm run x -- --flag", "howlate watch -- npm run x -- --flag"),
            ("howlate watch python3 loop.py --rate 5", "howlate watch -- python3 loop.py --rate 5"),
        ] {
            assert_eq!(words(typed), meant);
        }
        for ours in [
            "howlate watch 4711 --duration 30s",
            "howlate watch python3 loop.py --duration 30s --live",
            "howlate watch -- java -cp x",
            "howlate watch --banana java -cp x",
            "howlate watch --thread a b -q",
            "howlate watch",
        ] {
            assert_eq!(words(ours), ours);
        }
    }

    fn words(line: &str) -> String {
        let words = written_out(line.split(' ').map(Into::into));
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tune_alone_tries_settings_on_periodic_threads() {
        assert_eq!(words("howlate tune"), "howlate tune cyclic");
        assert_eq!(words("howlate tune --dry-run"), "howlate tune cyclic --dry-run");
        assert_eq!(words("howlate tune 4711 --dry-run"), "howlate tune program 4711 --dry-run");
        assert_eq!(words("howlate tune --goal p50 -- ./sleep"), "howlate tune program --goal p50 -- ./sleep");
        assert_eq!(words("howlate -- python3 loop.py"), "howlate watch -- python3 loop.py");
        assert_eq!(words("howlate help --all"), "howlate help-all");
        for line in ["howlate tune sleep --for 1ms", "howlate tune --help", "howlate doctor", "howlate"] {
            assert_eq!(words(line), line);
        }
    }
}
