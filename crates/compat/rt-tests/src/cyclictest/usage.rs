//! The text of `--help`, in cyclictest's layout.

use crate::compat::Compat;
use crate::cyclictest::table::{HOWLATE_ENTRIES, OptionEntry, entries};

/// First column of the descriptions.
const COLUMN: usize = 27;
/// Maximum line length.
const WIDTH: usize = 80;

/// The text of `--help`.
pub fn usage(compat: Compat) -> String {
    let options: String = entries(compat).map(lines).collect();
    let own: String = HOWLATE_ENTRIES.iter().map(lines).collect();
    format!(
        "cyclictest V {}\nUsage:\ncyclictest <options>\n\n{options}\nOf howlate:\n{own}",
        compat.version()
    )
}

/// An option in a manual page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionHelp {
    /// `-b USEC  --breaktrace=USEC`
    pub names: String,
    pub help: &'static str,
    /// Whether it is an option of the original.
    pub of_the_original: bool,
}

/// All options, for a manual page.
pub fn options_help(compat: Compat) -> Vec<OptionHelp> {
    let help = |entry: &OptionEntry, of_the_original| OptionHelp {
        names: names(entry).trim_start().to_owned(),
        help: entry.help,
        of_the_original,
    };
    let own = HOWLATE_ENTRIES.iter().map(|entry| help(entry, false));
    entries(compat).map(|entry| help(entry, true)).chain(own).collect()
}

fn lines(entry: &OptionEntry) -> String {
    let mut text = format!("{:1$}", names(entry), COLUMN - 1);
    let mut column = text.chars().count();
    for word in entry.help.split(' ') {
        if column + 1 + word.chars().count() > WIDTH && column > COLUMN {
            text.push_str(&format!("\n{:1$}", "", COLUMN - 1));
            column = COLUMN - 1;
        }
        text.push_str(&format!(" {word}"));
        column += 1 + word.chars().count();
    }
    text.push('\n');
    text
}

/// Names with the value, as in `-b USEC  --breaktrace=USEC`.
fn names(entry: &OptionEntry) -> String {
    use crate::getopt::Argument;
    let (short, long) = match entry.argument {
        Argument::None => (String::new(), String::new()),
        Argument::Required => (format!(" {}", entry.value), format!("={}", entry.value)),
        Argument::Optional(_) => (format!(" [{}]", entry.value), format!("[={}]", entry.value)),
    };
    let short = entry.short.map_or_else(String::new, |name| format!("-{name}{short}"));
    format!("{short:8} --{}{long}", entry.long)
}
