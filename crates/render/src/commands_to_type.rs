//! What is to be typed, in lines that can still be copied.

use crate::prose::{lines, text_width};

/// Programs that remedies start with; `#` says where to type what follows.
const PROGRAMS: [&str; 10] =
    ["#", "chrt", "docker", "echo", "exec", "howlate", "nice", "podman", "renice", "sudo"];

/// Whether a step can be typed as it is.
pub(crate) fn is_command(step: &str) -> bool {
    PROGRAMS.contains(&step.split_whitespace().next().unwrap_or_default())
}

/// A step in lines of at most `width`, as far as it has blanks: a sentence like any other text, a command so that a
/// shell takes its lines for one.
pub(crate) fn step_lines(step: &str, width: usize) -> Vec<String> {
    if text_width(step) <= width {
        return vec![step.to_owned()];
    }
    if !is_command(step) || step.starts_with('#') {
        return lines(step, width);
    }
    let (command, comment) = step.split_once("   # ").unwrap_or((step, ""));
    let about = if comment.is_empty() { Vec::new() } else { lines(comment, width.saturating_sub(2)) };
    let about = about.into_iter().map(|line| format!("# {line}"));
    let command = continued(command, width);
    // What is to be done afterwards is read afterwards.
    if comment.starts_with("then ") {
        command.into_iter().chain(about).collect()
    } else {
        about.chain(command).collect()
    }
}

/// A command over several lines, each but the last with a backslash at its end; never within quotes.
fn continued(command: &str, width: usize) -> Vec<String> {
    let mut broken: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in words(command) {
        let indent = if broken.is_empty() { 0 } else { 2 };
        if !line.is_empty() && indent + text_width(&line) + 1 + text_width(word) + 2 > width {
            broken.push(format!("{:indent$}{line} \\", ""));
            line.clear();
        }
        let blank = if line.is_empty() { "" } else { " " };
        line.push_str(blank);
        line.push_str(word);
    }
    let indent = if broken.is_empty() { 0 } else { 2 };
    broken.push(format!("{:indent$}{line}", ""));
    broken
}

/// What blanks outside quotes separate.
fn words(command: &str) -> Vec<&str> {
    let (mut words, mut quote, mut begin) = (Vec::new(), None, 0);
    for (place, letter) in command.char_indices() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, ' ') => {
                words.push(&command[begin..place]);
                begin = place + 1;
            }
            _ => {}
        }
    }
    words.push(&command[begin..]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_broken_can_be_copied() {
        let step = "echo 'a b c' | sudo tee /sys/kernel/file   # until the next start";
        assert_eq!(step_lines(step, 80), [step]);
        assert_eq!(
            step_lines(step, 24),
            ["# until the next start", "echo 'a b c' | sudo \\", "  tee /sys/kernel/file"]
        );
        assert_eq!(
            step_lines("add this to the kernel's command line", 20),
            ["add this to the", "kernel's command", "line"]
        );
    }

    #[test]
    fn what_is_to_be_done_afterwards_stands_below() {
        let step = "echo 'a b c' | sudo tee /etc/security/limits.d/file   # then log out and in";
        let broken = step_lines(step, 60);
        assert_eq!(broken.last().map(String::as_str), Some("# then log out and in"), "{broken:?}");
    }

    #[test]
    fn quotes_stay_whole() {
        assert_eq!(
            step_lines("echo 'one two three' four", 14),
            ["echo \\", "  'one two three' \\", "  four"]
        );
    }
}
