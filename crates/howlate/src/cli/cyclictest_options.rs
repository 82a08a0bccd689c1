//! Options of cyclictest that people type for `cyclic`, and what they are called here.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Error, Parser};
use howlate_model::{Span, shell_word};

use super::Cli;

/// cyclictest's names of an option, and what to type instead.
const OPTIONS: [(&[&str], &str); 11] = [
    (&["-p", "--priority", "--prio"], "`-p 80` is `--policy fifo:80`"),
    (&["-i", "--interval"], "`-i 1000` is `--period 1000us`"),
    (&["-t"], "`-t 4` is `--threads 4`; one for each CPU is what is measured anyway"),
    (&["-l", "--loops"], "`-l 100000` is `--samples 100000`"),
    (&["-D"], "`-D 1m` is `--duration 1m`"),
    (&["-a", "--affinity"], "`-a 2-3` is `--cpus 2-3`"),
    (&["-S", "--smp"], "one thread for each CPU, bound to it, is what is measured anyway"),
    (&["-m", "--mlockall"], "leave it out: memory is locked where that is permitted"),
    (&["-b", "--breaktrace"], "`-b 100` is `--stop-above 100us`"),
    (&["-d"], "`-d 500` is `--distance 500us`"),
    (&["-H", "--histogram", "--histfile"], "the whole histogram is kept: `howlate show --plot`"),
];

/// The hint for an option of cyclictest's that `cyclic` refused: the whole line as it is typed here, where all of it has a
/// counterpart; `None` for others.
pub(crate) fn hint(refused: &Error, words: &[String]) -> Option<String> {
    if words.get(1).is_none_or(|command| command != "cyclic") || refused.kind() != ErrorKind::UnknownArgument
    {
        return None;
    }
    let Some(ContextValue::String(typed)) = refused.get(ContextKind::InvalidArg) else { return None };
    let (_, instead) = OPTIONS.iter().find(|(names, _)| names.contains(&typed.as_str()))?;
    let whole = translated(&words[2..]).filter(|line| Cli::try_parse_from(line).is_ok());
    let line = whole.map(|line| format!("`{}`", line.iter().map(shell_word).collect::<Vec<_>>().join(" ")));
    let instead = line.as_deref().unwrap_or(instead);
    Some(format!("{instead}; or type `howlate cyclictest …` with all of cyclictest's options"))
}

/// What is typed here for what is typed for cyclictest; `None` where a value is missing or is none.
fn translated(words: &[String]) -> Option<Vec<String>> {
    let mut line = vec!["howlate".to_owned(), "cyclic".to_owned()];
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let (name, attached) = parts(word);
        let mut value = || attached.map(str::to_owned).or_else(|| words.next().cloned());
        let option = match name {
            "-p" | "--priority" | "--prio" => ["--policy".to_owned(), format!("fifo:{}", value()?)],
            "-i" | "--interval" => ["--period".to_owned(), micros(&value()?)?],
            "-l" | "--loops" => ["--samples".to_owned(), value()?],
            "-D" => ["--duration".to_owned(), seconds(value()?)],
            "-a" | "--affinity" => ["--cpus".to_owned(), value()?],
            "-b" | "--breaktrace" => ["--stop-above".to_owned(), micros(&value()?)?],
            "-d" => ["--distance".to_owned(), micros(&value()?)?],
            "-t" | "--threads" => {
                let count = attached.map(str::to_owned);
                match count.or_else(|| words.next_if(|next| !next.starts_with('-')).cloned()) {
                    Some(count) => ["--threads".to_owned(), count],
                    None => continue,
                }
            }
            "-S" | "--smp" | "-m" | "--mlockall" => continue,
            _ => {
                line.push(word.clone());
                continue;
            }
        };
        line.extend(option);
    }
    Some(line)
}

/// An option and a value that is attached to it: `-p80`, `--priority=80`.
fn parts(word: &str) -> (&str, Option<&str>) {
    match word.split_once('=') {
        Some((name, value)) if name.starts_with("--") => (name, Some(value)),
        _ if word.starts_with('-')
            && !word.starts_with("--")
            && word.is_char_boundary(2)
            && word.len() > 2 =>
        {
            let (name, value) = word.split_at(2);
            (name, Some(value))
        }
        _ => (word, None),
    }
}

/// cyclictest's lengths are microseconds.
fn micros(value: &str) -> Option<String> {
    Some(Span::from_micros(value.parse().ok()?).to_string())
}

/// cyclictest's durations are seconds where they have no unit.
fn seconds(value: String) -> String {
    if value.bytes().all(|byte| byte.is_ascii_digit()) { format!("{value}s") } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint_for(line: &str) -> Option<String> {
        let refused = Cli::try_parse_from(line.split(' ')).err().unwrap();
        hint(&refused, &line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn every_option_of_cyclictests_leads_to_ours() {
        for (names, instead) in OPTIONS {
            for name in names {
                let hint = hint_for(&format!("howlate cyclic {name} 80 --banana"));
                assert!(hint.is_some_and(|hint| hint.starts_with(instead)), "{name}");
            }
        }
        assert_eq!(hint_for("howlate cyclic --banana"), None);
        assert_eq!(hint_for("howlate sleep -p"), None, "that is no cyclictest");
    }

    #[test]
    fn a_whole_line_of_cyclictests_becomes_one_of_ours() {
        for (typed, meant) in [
            ("-p 80 -i 1000 -t 2 -D 5", "--policy fifo:80 --period 1ms --threads 2 --duration 5s"),
            ("-p80 -S -m -D 1m -a 0-1", "--policy fifo:80 --duration 1m --cpus 0-1"),
            ("--priority=80 -t -l 1000", "--policy fifo:80 --samples 1000"),
        ] {
            let hint = hint_for(&format!("howlate cyclic {typed}")).unwrap();
            assert!(hint.starts_with(&format!("`howlate cyclic {meant}`;")), "{hint}");
        }
        let hint = hint_for("howlate cyclic -p eighty").unwrap();
        assert!(hint.starts_with("`-p 80` is"), "{hint}");
    }
}
