//! Command lines that a recording remembers, as they are typed again.

use howlate_analyse::Analysis;
use howlate_model::shell_word;

use crate::untrusted_text::legible;

/// Options of output with a value: what a run is saved as belongs to that run.
pub(crate) const OUTPUT: [&str; 3] = ["--out", "-o", "--samples-out"];
/// Commands that draw the order of their turns.
const WITH_SEED: [&str; 5] = ["cyclic", "sleep", "notify", "run", "tune"];

/// The command that takes the same turns in the same order again, quoted so that a shell reads it the same.
pub fn to_repeat(analysis: &Analysis) -> String {
    let words = again(&analysis.header.arguments, analysis.header.seed);
    std::iter::once("howlate".to_owned()).chain(words.iter().map(shell_word)).collect::<Vec<_>>().join(" ")
}

/// Options of `howlate watch` with a value.
const OF_WATCH: [&str; 14] = [
    "--at-most",
    "--duration",
    "--thread",
    "--late-above",
    "--keep",
    "--until",
    "--loop-above",
    "--fail-above",
    "--tracer",
    "--out",
    "-o",
    "--node",
    "--label",
    "--format",
];

/// What `howlate watch` was given: a process, or a program with its arguments.
pub fn watched(arguments: &[String]) -> String {
    let words = without(arguments, &OF_WATCH, &[]);
    let is_program = words.iter().any(|word| word == "--");
    let mut words = words.into_iter().skip(1);
    let words: Vec<String> = match is_program {
        true => words.skip_while(|word| word != "--").skip(1).collect(),
        false => words.by_ref().filter(|word| !word.starts_with('-')).collect(),
    };
    legible(&words.iter().map(shell_word).collect::<Vec<_>>().join(" ")).into_owned()
}

/// Whether what `howlate watch` was given is a program to start: after `--`, by its path, or with arguments.
pub(crate) fn is_started(arguments: &[String]) -> bool {
    if arguments.iter().any(|word| word == "--") {
        return true;
    }
    let words = without(arguments, &OF_WATCH, &[]);
    let words: Vec<&String> = words.iter().skip(1).filter(|word| !word.starts_with('-')).collect();
    matches!(words.as_slice(), [_, _, ..]) || words.first().is_some_and(|word| word.contains('/'))
}

/// The running process that `howlate watch` was given, by its id or its name, as `howlate tune program` takes it.
pub(crate) fn running_program(arguments: &[String]) -> Option<String> {
    if arguments.iter().any(|word| word == "--") {
        return None;
    }
    let words = without(arguments, &OF_WATCH, &[]);
    let mut words = words.iter().skip(1).filter(|word| !word.starts_with('-'));
    match (words.next(), words.next()) {
        // What has a slash is a file, which was started.
        (Some(only), None) if !only.contains('/') => Some(shell_word(only)),
        _ => None,
    }
}

fn again(arguments: &[String], seed: u64) -> Vec<String> {
    let words = without(arguments, &OUTPUT, &[]);
    if !words.first().is_some_and(|command| WITH_SEED.contains(&command.as_str())) {
        return words;
    }
    let mut words = without(&words, &["--seed"], &["--resume"]);
    let options_end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words.splice(options_end..options_end, ["--seed".to_owned(), seed.to_string()]);
    words
}

/// `words` without options: those with a value, and those without. What stands behind `--` is left as it is.
pub(crate) fn without(words: &[String], with_value: &[&str], bare: &[&str]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            kept.push(word.clone());
            kept.extend(words.by_ref().cloned());
        } else if with_value.contains(&word.as_str()) {
            words.next();
        } else if !bare.contains(&word.as_str()) && !with_value.iter().any(|name| has_value(word, name)) {
            kept.push(word.clone());
        }
    }
    kept
}

/// Whether a word is an option with its value: `--out=FILE`, `-oFILE`.
fn has_value(word: &str, name: &str) -> bool {
    let is_short = !name.starts_with("--");
    word.strip_prefix(name).is_some_and(|rest| rest.starts_with('=') || (is_short && !rest.is_empty()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_that_was_watched_by_its_id_is_known() {
        let process = |typed: &str| {
            let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
            super::running_program(&words)
        };
        assert_eq!(process("watch --duration 5 4711 --thread 3 -q"), Some("4711".to_owned()));
        assert_eq!(process("watch --duration=5s ros2_control_no").as_deref(), Some("ros2_control_no"));
        assert_eq!(process("watch ./loop"), None, "a file is started");
        assert_eq!(process("watch 4711 100"), None, "that is an argument of its own");
        assert_eq!(process("watch -- 100"), None);
    }

    #[test]
    fn what_is_watched_stands_without_options() {
        let what = |typed: &str| {
            let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
            super::watched(&words)
        };
        assert_eq!(what("watch --duration 5 4711 --live"), "4711");
        assert_eq!(what("watch --live -- ./my-program --its-option"), "./my-program --its-option");
        assert_eq!(what("watch python3 loop.py"), "python3 loop.py");
    }

    #[test]
    fn what_was_saved_is_left_out_and_the_order_of_turns_is_in() {
        let again = |typed: &str| {
            let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
            super::again(&words, 7).join(" ")
        };
        let typed = "cyclic --out x.jsonl --policy fifo:80 -o y -oz --samples-out=w --seed=9 -q";
        assert_eq!(again(typed), "cyclic --policy fifo:80 -q --seed 7");
        assert_eq!(again("tune --resume --out x -- cc -o y"), "tune --seed 7 -- cc -o y");
        assert_eq!(again("watch -o x -- cc -o y"), "watch -- cc -o y");
        assert_eq!(again("guest --kernel k --out x -- cyclic"), "guest --kernel k -- cyclic");
    }
}
