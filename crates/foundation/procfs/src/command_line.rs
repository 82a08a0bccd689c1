//! `/proc/cmdline`: the kernel's boot parameters.

use crate::{Reading, Root};

/// The kernel command line.
pub struct CommandLine {
    pub reading: Reading,
}

impl CommandLine {
    pub fn read(root: &Root) -> Self {
        Self { reading: root.reading("/proc/cmdline") }
    }

    /// The kernel's own parameters: those before `--`; the rest is for init. White space within quotes does not separate.
    ///
    /// Source: `lib/cmdline.c`, `next_arg`; `kernel/params.c`, `parse_args`.
    fn parameters(&self) -> impl DoubleEndedIterator<Item = &str> {
        let text = self.reading.text().unwrap_or_default();
        let mut is_quoted = false;
        let is_separator = move |letter: char| {
            is_quoted ^= letter == '"';
            letter.is_whitespace() && !is_quoted
        };
        let parameters = text.split(is_separator).filter(|word| !word.is_empty());
        parameters.take_while(|word| *word != "--").collect::<Vec<_>>().into_iter()
    }

    /// The value of `name=value`; the last one counts, as in the kernel.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.parameters()
            .rev()
            .find_map(|word| unquoted(word).strip_prefix(name)?.strip_prefix('=').map(unquoted))
    }

    /// Whether a parameter is present, with or without a value.
    pub fn has(&self, name: &str) -> bool {
        self.parameters().any(|word| parameter_name(word) == name)
    }

    /// All parameters, as a text for strangers: with its value only where the name, or the module before the dot, is among `shown`.
    pub fn redacted(&self, shown: &[&str]) -> String {
        let redact = |word: &str| {
            let name = parameter_name(word);
            let module = name.split('.').next().unwrap_or(name);
            let has_value = unquoted(word).contains('=');
            if has_value && !shown.contains(&module) { format!("{name}=…") } else { word.to_owned() }
        };
        self.parameters().map(redact).collect::<Vec<_>>().join(" ")
    }

    /// Only the named parameters, as evidence.
    pub fn only(&self, names: &[&str]) -> Reading {
        let present: Vec<&str> =
            self.parameters().filter(|word| names.contains(&parameter_name(word))).collect();
        let text = if present.is_empty() { format!("no {}", names.join(", ")) } else { present.join(" ") };
        let content = self.reading.content.clone().map(|_| text);
        Reading { path: self.reading.path.clone(), content }
    }
}

/// Strips the quotes around it.
fn unquoted(word: &str) -> &str {
    word.strip_prefix('"').map_or(word, |word| word.strip_suffix('"').unwrap_or(word))
}

/// The name before `=`.
fn parameter_name(word: &str) -> &str {
    let word = unquoted(word);
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
    fn quotes_hold_a_parameter_together_and_two_dashes_end_the_parameters() {
        let line =
            line("dyndbg=\"file a +p isolcpus=2\" \"nohz_full=1 \" preempt=full -- preempt=none single");
        assert_eq!((line.value("preempt"), line.value("isolcpus")), (Some("full"), None));
        assert_eq!(line.value("dyndbg"), Some("file a +p isolcpus=2"));
        assert_eq!(line.value("nohz_full"), Some("1 "));
        assert!(line.has("dyndbg") && !line.has("single"));
    }

    #[test]
    fn values_that_may_be_secret_are_redacted() {
        let line = line(
            r#"root=UUID=1 isolcpus=2-3 rcutree.kthread_prio=50 quiet dyndbg="file a +p" "key=b c" -- --token d"#,
        );
        let redacted = line.redacted(&["isolcpus", "rcutree"]);
        assert_eq!(redacted, "root=… isolcpus=2-3 rcutree.kthread_prio=50 quiet dyndbg=… key=…");
    }

    #[test]
    fn evidence_shows_only_the_named_parameters() {
        let line = line("quiet idle=poll secret=1");
        assert_eq!(line.only(&["idle"]).text(), Some("idle=poll"));
        assert_eq!(line.only(&["isolcpus"]).text(), Some("no isolcpus"));
    }
}
