//! The text of `--help`, in cyclictest's layout.

use crate::compat::Compat;
use crate::cyclictest::table::{Entry, OWN, entries};

/// Where descriptions begin.
const COLUMN: usize = 27;
/// Where lines end.
const WIDTH: usize = 80;

/// All options of this dialect.
pub fn usage(compat: Compat) -> String {
    let options: String = entries(compat).map(lines).collect();
    let own: String = OWN.iter().map(lines).collect();
    format!(
        "cyclictest V {}\nUsage:\ncyclictest <options>\n\n{options}\nOf howlate:\n{own}",
        compat.version()
    )
}

/// One option, as a manual page lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionHelp {
    /// `-b USEC  --breaktrace=USEC`
    pub names: String,
    /// What it does.
    pub help: &'static str,
    /// Whether the original has it.
    pub of_the_original: bool,
}

/// Every option of this dialect.
pub fn options_help(compat: Compat) -> Vec<OptionHelp> {
    let help = |entry: &Entry, of_the_original| OptionHelp {
        names: names(entry).trim_start().to_owned(),
        help: entry.help,
        of_the_original,
    };
    let own = OWN.iter().map(|entry| help(entry, false));
    entries(compat).map(|entry| help(entry, true)).chain(own).collect()
}

fn lines(entry: &Entry) -> String {
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

/// As in `-b USEC  --breaktrace=USEC`.
fn names(entry: &Entry) -> String {
    use crate::getopt::Takes;
    let (short, long) = match entry.takes {
        Takes::Nothing => (String::new(), String::new()),
        Takes::Value => (format!(" {}", entry.value), format!("={}", entry.value)),
        Takes::MaybeValue(_) => (format!(" [{}]", entry.value), format!("[={}]", entry.value)),
    };
    let short = entry.short.map_or_else(String::new, |name| format!("-{name}{short}"));
    format!("{short:8} --{}{long}", entry.long)
}
