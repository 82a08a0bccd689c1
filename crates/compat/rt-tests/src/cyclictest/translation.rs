//! Translates cyclictest options to options of `howlate cyclic`, for hints.

use howlate_model::Span;

/// Names of a cyclictest option, and the hint.
const HINTS: [(&[&str], &str); 11] = [
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

/// The hint for a cyclictest option; `None` for other options.
pub fn option_hint(option: &str) -> Option<&'static str> {
    HINTS.iter().find(|(names, _)| names.contains(&option)).map(|(_, hint)| *hint)
}

/// The `howlate cyclic` command line for cyclictest options; `None` if a value is missing or invalid.
pub fn as_cyclic(arguments: &[String]) -> Option<Vec<String>> {
    let mut line = vec!["howlate".to_owned(), "cyclic".to_owned()];
    let mut arguments = arguments.iter().peekable();
    while let Some(argument) = arguments.next() {
        let (name, attached) = split_value(argument);
        let mut value = || attached.map(str::to_owned).or_else(|| arguments.next().cloned());
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
                match count.or_else(|| arguments.next_if(|next| !next.starts_with('-')).cloned()) {
                    Some(count) => ["--threads".to_owned(), count],
                    None => continue,
                }
            }
            "-S" | "--smp" | "-m" | "--mlockall" => continue,
            _ => {
                line.push(argument.clone());
                continue;
            }
        };
        line.extend(option);
    }
    Some(line)
}

/// Splits an option from its attached value: `-p80`, `--priority=80`.
fn split_value(argument: &str) -> (&str, Option<&str>) {
    match argument.split_once('=') {
        Some((name, value)) if name.starts_with("--") => (name, Some(value)),
        _ if argument.starts_with('-')
            && !argument.starts_with("--")
            && argument.is_char_boundary(2)
            && argument.len() > 2 =>
        {
            let (name, value) = argument.split_at(2);
            (name, Some(value))
        }
        _ => (argument, None),
    }
}

/// A length in microseconds, as cyclictest has it.
fn micros(value: &str) -> Option<String> {
    Some(Span::from_micros(value.parse().ok()?).to_string())
}

/// A duration, which in cyclictest is in seconds if it has no unit.
fn seconds(value: String) -> String {
    if value.bytes().all(|byte| byte.is_ascii_digit()) { format!("{value}s") } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translate(line: &str) -> Option<String> {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        as_cyclic(&arguments).map(|line| line.join(" "))
    }

    #[test]
    fn every_option_has_a_hint() {
        for (names, hint) in HINTS {
            assert!(names.iter().all(|name| option_hint(name) == Some(hint)), "{names:?}");
        }
        assert_eq!(option_hint("--banana"), None);
    }

    #[test]
    fn values_may_be_attached_or_separate() {
        for line in ["-p 80 -i 200", "-p80 -i200", "--prio=80 --interval=200"] {
            assert_eq!(
                translate(line).as_deref(),
                Some("howlate cyclic --policy fifo:80 --period 200us"),
                "{line}"
            );
        }
        assert_eq!((translate("-p"), translate("-i soon")), (None, None));
    }
}
