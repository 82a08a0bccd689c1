//! Words for a shell.

/// `text` as one word of a shell, whatever is in it: commands that are shown get copied and run.
pub fn shell_word(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "%+,-./:=@_".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_needs_no_quotes_gets_none() {
        assert_eq!(shell_word("/tmp/run-1.jsonl"), "/tmp/run-1.jsonl");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("a b;rm $HOME"), "'a b;rm $HOME'");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_shell_reads_back_what_was_meant(text in "[^\\x00]{0,40}") {
            let script = format!("printf %s {}", shell_word(&text));
            let said = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            prop_assert_eq!(String::from_utf8(said.stdout).unwrap(), text);
        }
    }
}
