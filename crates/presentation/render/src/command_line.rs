//! Command lines of recordings, for repeating a run.

use howlate_analyse::Analysis;
use howlate_model::shell_word;

use crate::untrusted_text::legible;

/// Output options with a value; they belong to the recorded run only.
pub(crate) const OUTPUT: [&str; 3] = ["--out", "-o", "--samples-out"];
/// Commands that shuffle their turns.
const WITH_SEED: [&str; 5] = ["cyclic", "sleep", "notify", "run", "tune"];

/// The command that repeats the same turns in the same order, quoted for a shell.
pub fn to_repeat(analysis: &Analysis) -> String {
    let arguments = repeat(&analysis.header.arguments, analysis.header.seed);
    let quoted = arguments.iter().map(shell_word);
    std::iter::once("howlate".to_owned()).chain(quoted).collect::<Vec<_>>().join(" ")
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

/// The target of `howlate watch`: a process, or a program with its arguments.
pub fn watched(arguments: &[String]) -> String {
    let operands = without(arguments, &OF_WATCH, &[]);
    let is_program = operands.iter().any(|operand| operand == "--");
    let mut operands = operands.into_iter().skip(1);
    let target: Vec<String> = match is_program {
        true => operands.skip_while(|operand| operand != "--").skip(1).collect(),
        false => operands.by_ref().filter(|operand| !operand.starts_with('-')).collect(),
    };
    legible(&target.iter().map(shell_word).collect::<Vec<_>>().join(" ")).into_owned()
}

/// Whether the target of `howlate watch` is a program to start: after `--`, by its path, or with arguments.
pub(crate) fn is_started(arguments: &[String]) -> bool {
    if arguments.iter().any(|argument| argument == "--") {
        return true;
    }
    let operands = without(arguments, &OF_WATCH, &[]);
    let operands: Vec<&String> =
        operands.iter().skip(1).filter(|operand| !operand.starts_with('-')).collect();
    matches!(operands.as_slice(), [_, _, ..]) || operands.first().is_some_and(|operand| operand.contains('/'))
}

/// The running process that `howlate watch` followed, by id or name, as `howlate tune program` takes it.
pub(crate) fn running_program(arguments: &[String]) -> Option<String> {
    if arguments.iter().any(|argument| argument == "--") {
        return None;
    }
    let operands = without(arguments, &OF_WATCH, &[]);
    let mut operands = operands.iter().skip(1).filter(|operand| !operand.starts_with('-'));
    match (operands.next(), operands.next()) {
        // A path is a program that was started.
        (Some(only), None) if !only.contains('/') => Some(shell_word(only)),
        _ => None,
    }
}

fn repeat(arguments: &[String], seed: u64) -> Vec<String> {
    let arguments = without(arguments, &OUTPUT, &[]);
    if !arguments.first().is_some_and(|command| WITH_SEED.contains(&command.as_str())) {
        return arguments;
    }
    let mut arguments = without(&arguments, &["--seed"], &["--resume"]);
    let options_end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    arguments.splice(options_end..options_end, ["--seed".to_owned(), seed.to_string()]);
    arguments
}

/// The arguments without these options. What follows `--` is kept.
pub(crate) fn without(arguments: &[String], with_value: &[&str], bare: &[&str]) -> Vec<String> {
    let mut remaining = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            remaining.push(argument.clone());
            remaining.extend(arguments.by_ref().cloned());
        } else if with_value.contains(&argument.as_str()) {
            arguments.next();
        } else if !bare.contains(&argument.as_str())
            && !with_value.iter().any(|name| has_value(argument, name))
        {
            remaining.push(argument.clone());
        }
    }
    remaining
}

/// Whether an argument is an option with its value: `--out=FILE`, `-oFILE`.
fn has_value(argument: &str, name: &str) -> bool {
    let is_short = !name.starts_with("--");
    argument.strip_prefix(name).is_some_and(|rest| rest.starts_with('=') || (is_short && !rest.is_empty()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_that_was_watched_by_its_id_is_known() {
        let process = |line: &str| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            super::running_program(&arguments)
        };
        assert_eq!(process("watch --duration 5 4711 --thread 3 -q"), Some("4711".to_owned()));
        assert_eq!(process("watch --duration=5s ros2_control_no").as_deref(), Some("ros2_control_no"));
        assert_eq!(process("watch ./loop"), None, "a file is started");
        assert_eq!(process("watch 4711 100"), None, "that is an argument of its own");
        assert_eq!(process("watch -- 100"), None);
    }

    #[test]
    fn what_is_watched_stands_without_options() {
        let what = |line: &str| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            super::watched(&arguments)
        };
        assert_eq!(what("watch --duration 5 4711 --live"), "4711");
        assert_eq!(what("watch --live -- ./my-program --its-option"), "./my-program --its-option");
        assert_eq!(what("watch python3 loop.py"), "python3 loop.py");
    }

    #[test]
    fn what_was_saved_is_left_out_and_the_order_of_turns_is_in() {
        let repeated = |line: &str| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            super::repeat(&arguments, 7).join(" ")
        };
        let line = "cyclic --out x.jsonl --policy fifo:80 -o y -oz --samples-out=w --seed=9 -q";
        assert_eq!(repeated(line), "cyclic --policy fifo:80 -q --seed 7");
        assert_eq!(repeated("tune --resume --out x -- cc -o y"), "tune --seed 7 -- cc -o y");
        assert_eq!(repeated("watch -o x -- cc -o y"), "watch -- cc -o y");
        assert_eq!(repeated("guest --kernel k --out x -- cyclic"), "guest --kernel k -- cyclic");
    }
}
