//! `/proc/cmdline`: what the kernel was booted with.

use crate::{Reading, Root};

/// The file, read once.
pub struct CommandLine {
    /// What was read.
    pub reading: Reading,
}

impl CommandLine {
    /// Reads what the kernel was booted with, `/proc/cmdline`.
    pub fn read(root: &Root) -> Self {
        Self { reading: root.reading("/proc/cmdline") }
    }

    /// The value of `name=value`; the last one counts, as in the kernel.
    pub fn value(&self, name: &str) -> Option<&str> {
        let words = self.reading.text()?.split_whitespace();
        words.rev().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    /// Whether a parameter is there, with a value or without.
    pub fn has(&self, name: &str) -> bool {
        let words = self.reading.text().unwrap_or_default().split_whitespace();
        words.map(|word| word.split('=').next().unwrap_or(word)).any(|word| word == name)
    }

    /// Only the parameters that matter to one finding, as evidence.
    pub fn only(&self, names: &[&str]) -> Reading {
        let wanted = |word: &&str| names.contains(&word.split('=').next().unwrap_or(word));
        let kept = |text: &str| text.split_whitespace().filter(wanted).collect::<Vec<_>>().join(" ");
        let said = |words: String| if words.is_empty() { format!("no {}", names.join(", ")) } else { words };
        let content = self.reading.content.clone().map(|text| said(kept(&text)));
        Reading { path: self.reading.path.clone(), content }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> CommandLine {
        CommandLine { reading: Reading { path: "/proc/cmdline".into(), content: Ok(text.into()) } }
    }

    #[test]
    fn the_last_value_counts() {
        let line = line("quiet preempt=none root=/dev/sda1 preempt=full");
        assert_eq!(line.value("preempt"), Some("full"));
        assert_eq!(line.value("isolcpus"), None);
        assert!(line.has("quiet") && line.has("preempt") && !line.has("pre"));
    }

    #[test]
    fn evidence_shows_only_what_matters() {
        let line = line("quiet idle=poll secret=1");
        assert_eq!(line.only(&["idle"]).text(), Some("idle=poll"));
        assert_eq!(line.only(&["isolcpus"]).text(), Some("no isolcpus"));
    }
}
