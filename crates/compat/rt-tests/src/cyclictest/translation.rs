//! What people who know cyclictest type for `howlate cyclic`, and what it is there.

use howlate_model::Span;

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

/// What to type instead of an option of cyclictest's; `None` for others.
pub fn of_option(typed: &str) -> Option<&'static str> {
    OPTIONS.iter().find(|(names, _)| names.contains(&typed)).map(|(_, instead)| *instead)
}

/// What is typed here for what is typed for cyclictest; `None` where a value is missing or is none.
pub fn as_cyclic(words: &[String]) -> Option<Vec<String>> {
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

    fn line(typed: &str) -> Option<String> {
        let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
        as_cyclic(&words).map(|line| line.join(" "))
    }

    #[test]
    fn every_option_has_something_to_type_instead() {
        for (names, instead) in OPTIONS {
            assert!(names.iter().all(|name| of_option(name) == Some(instead)), "{names:?}");
        }
        assert_eq!(of_option("--banana"), None);
    }

    #[test]
    fn a_value_may_be_attached_or_stand_apart() {
        for typed in ["-p 80 -i 200", "-p80 -i200", "--prio=80 --interval=200"] {
            assert_eq!(
                line(typed).as_deref(),
                Some("howlate cyclic --policy fifo:80 --period 200us"),
                "{typed}"
            );
        }
        assert_eq!((line("-p"), line("-i soon")), (None, None));
    }
}
