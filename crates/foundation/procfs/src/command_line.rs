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

    /// The kernel's own parameters: what stands before `--`, which is for the first process. A blank between quotes parts no words.
    ///
    /// Source: `lib/cmdline.c`, `next_arg`; `kernel/params.c`, `parse_args`.
    fn words(&self) -> impl DoubleEndedIterator<Item = &str> {
        let text = self.reading.text().unwrap_or_default();
        let mut is_quoted = false;
        let parts = move |letter: char| {
            is_quoted ^= letter == '"';
            letter.is_whitespace() && !is_quoted
        };
        let all = text.split(parts).filter(|word| !word.is_empty());
        all.take_while(|word| *word != "--").collect::<Vec<_>>().into_iter()
    }

    /// The value of `name=value`; the last one counts, as in the kernel.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.words().rev().find_map(|word| bare(word).strip_prefix(name)?.strip_prefix('=').map(bare))
    }

    /// Whether a parameter is there, with a value or without.
    pub fn has(&self, name: &str) -> bool {
        self.words().any(|word| parameter(word) == name)
    }

    /// Only the parameters that matter to one finding, as evidence.
    pub fn only(&self, names: &[&str]) -> Reading {
        let kept: Vec<&str> = self.words().filter(|word| names.contains(&parameter(word))).collect();
        let said = if kept.is_empty() { format!("no {}", names.join(", ")) } else { kept.join(" ") };
        let content = self.reading.content.clone().map(|_| said);
        Reading { path: self.reading.path.clone(), content }
    }
}

/// Without the quotes around it.
fn bare(word: &str) -> &str {
    word.strip_prefix('"').map_or(word, |word| word.strip_suffix('"').unwrap_or(word))
}

/// The name before `=`.
fn parameter(word: &str) -> &str {
    let word = bare(word);
    word.split('=').next().unwrap_or(word)
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
    fn what_is_quoted_is_one_word_and_what_comes_after_two_dashes_is_for_init() {
        let line =
            line("dyndbg=\"file a +p isolcpus=2\" \"nohz_full=1 \" preempt=full -- preempt=none single");
        assert_eq!((line.value("preempt"), line.value("isolcpus")), (Some("full"), None));
        assert_eq!(line.value("dyndbg"), Some("file a +p isolcpus=2"));
        assert_eq!(line.value("nohz_full"), Some("1 "));
        assert!(line.has("dyndbg") && !line.has("single"));
    }

    #[test]
    fn evidence_shows_only_what_matters() {
        let line = line("quiet idle=poll secret=1");
        assert_eq!(line.only(&["idle"]).text(), Some("idle=poll"));
        assert_eq!(line.only(&["isolcpus"]).text(), Some("no isolcpus"));
    }
}
