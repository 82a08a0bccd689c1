//! Reads the advice under "What to do" from howlate's text output, as a user would.

const HEADING: &str = "What to do";
/// First words of commands.
const COMMANDS: [&str; 18] = [
    "chrt",
    "docker",
    "echo",
    "exec",
    "howlate",
    "ionice",
    "jackd",
    "kill",
    "mount",
    "nice",
    "podman",
    "prlimit",
    "printf",
    "renice",
    "sudo",
    "sysctl",
    "systemctl",
    "taskset",
];

/// A piece of advice: the sentence, and the commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdviceItem {
    pub sentence: String,
    /// What can be typed, each in one line, comments included: of the lines below, and what the sentence has in backquotes.
    pub commands: Vec<String>,
}

impl AdviceItem {
    /// Whether it claims no more than that it may help.
    pub fn is_careful(&self) -> bool {
        let all = self.sentence.to_lowercase();
        // "Any priority may be set" is about permission, not doubt.
        let may =
            all.split(" may ").skip(1).any(|rest| !rest.starts_with("be ") && !rest.starts_with("not "));
        may || ["not tried", "might ", "no advice"].iter().any(|careful| all.contains(careful))
    }
}

/// The items in the text of a screen, colours and all.
pub fn items(screen: &str) -> Vec<AdviceItem> {
    let plain = without_colours(screen);
    let lines = plain.lines().skip_while(|line| line.trim() != HEADING).skip(1);
    let below = lines.take_while(|line| line.starts_with(' '));
    let mut items: Vec<AdviceItem> = Vec::new();
    for line in below {
        match (numbered(line), items.last_mut()) {
            (Some(begins), _) => items.push(AdviceItem { sentence: begins.to_owned(), commands: Vec::new() }),
            (None, Some(item)) => add(item, line.trim()),
            // An answer without a list.
            (None, None) => items.push(AdviceItem { sentence: line.trim().to_owned(), commands: Vec::new() }),
        }
    }
    for item in &mut items {
        let quoted = in_backquotes(&item.sentence);
        item.commands.extend(quoted.into_iter().filter(|text| is_typed(text)));
    }
    items
}

/// A line below: more of a command, a command, or more of the sentence.
fn add(item: &mut AdviceItem, line: &str) {
    let open = item.commands.last_mut().filter(|last| last.ends_with('\\'));
    if let Some(last) = open {
        last.pop();
        last.push_str(line);
    } else if is_typed(line) {
        item.commands.push(line.to_owned());
    } else {
        item.sentence.push(' ');
        item.sentence.push_str(line);
    }
}

/// What follows the number of an item.
fn numbered(line: &str) -> Option<&str> {
    let (number, rest) = line.trim_start().split_once(". ")?;
    let indented = line.len() - line.trim_start().len();
    (indented <= 4 && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(rest)
}

fn is_typed(text: &str) -> bool {
    let mut parts = text.split_whitespace();
    // A word of an English sentence stands alone.
    parts.next().is_some_and(|first| COMMANDS.contains(&first)) && parts.next().is_some()
}

fn in_backquotes(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Without the sequences that set colours.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: &str = "\
control runs 66.0 µs after its timer.

\x1b[1mWhat to do\x1b[0m
  1. Real-time priority keeps hog from delaying the
     program: any may be set here. Not tried here. To try it: `howlate tune --knobs fifo -- ./svc 3`.
     chrt --fifo 80 \\
       './a b' 3
     echo 1 > /proc/$$/timerslack_ns   # this shell
  2. The event loop: such a call belongs in another thread, as with `asyncio.to_thread`.

$ howlate show --details
";

    #[test]
    fn commands_and_sentences_are_taken_apart() {
        let [first, second] = items(SCREEN).try_into().unwrap();
        assert_eq!(
            first.commands,
            [
                "chrt --fifo 80 './a b' 3",
                "echo 1 > /proc/$$/timerslack_ns   # this shell",
                "howlate tune --knobs fifo -- ./svc 3",
            ]
        );
        assert!(first.sentence.starts_with("Real-time priority keeps hog from delaying the program: any"));
        assert_eq!((first.is_careful(), second.is_careful()), (true, false));
        assert_eq!(second.commands, Vec::<String>::new(), "code is not typed");
        let is_careful = |sentence: &str| items(&format!("What to do\n  1. {sentence}\n"))[0].is_careful();
        assert!(is_careful("It may help."));
        assert!(!is_careful("Any priority may be set here."), "that is a right");
    }

    #[test]
    fn a_screen_without_advice_has_none() {
        assert_eq!(items("What this means\n  1. Nothing.\n"), []);
        assert_eq!(items("What to do\n\n  1. Not below.\n"), []);
        assert_eq!(items("What to do\n  Nothing here would help.\n")[0].sentence, "Nothing here would help.");
    }
}
