//! Shell quoting: printed commands can be copied and run.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Quotes `word` for a shell. Bytes other than printable ASCII become escapes of `$'…'`, which bash, zsh, ksh and POSIX 2024
/// support, so that no control character reaches the terminal.
pub fn shell_word(word: impl AsRef<OsStr>) -> String {
    let bytes = word.as_ref().as_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.is_empty() && bytes.iter().all(is_plain) => text.to_owned(),
        Ok(text) if bytes.iter().all(is_printable) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => escape(bytes),
    }
}

/// Quotes `path` for a shell; a leading `-` gets `./`, so that no command takes it for an option.
pub fn shell_path(path: &Path) -> String {
    let dash = if path.as_os_str().as_bytes().starts_with(b"-") { "./" } else { "" };
    dash.to_owned() + &shell_word(path)
}

fn is_plain(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"%+,-./:=@_".contains(byte)
}

fn is_printable(byte: &u8) -> bool {
    (b' '..=b'~').contains(byte)
}

fn escape(bytes: &[u8]) -> String {
    let mut text = String::from("$'");
    for byte in bytes {
        match byte {
            b'\'' | b'\\' => text.extend(['\\', char::from(*byte)]),
            byte if is_printable(byte) => text.push(char::from(*byte)),
            // Three octal digits: a hexadecimal escape would swallow digits that follow.
            byte => drop(write!(text, "\\{byte:03o}")),
        }
    }
    text + "'"
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    #[test]
    fn what_needs_no_quotes_gets_none() {
        assert_eq!(shell_word("/tmp/run-1.jsonl"), "/tmp/run-1.jsonl");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("a b;rm $HOME"), "'a b;rm $HOME'");
        assert_eq!(shell_path(Path::new("-v")), "./-v");
        assert_eq!(shell_path(Path::new("-a b")), "./'-a b'");
    }

    fn read_back(word: &str) -> Vec<u8> {
        Command::new("bash").args(["-c", &format!("printf %s {word}")]).output().unwrap().stdout
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_shell_reads_back_what_was_meant(bytes in prop::collection::vec(1_u8.., 0..40), text in "[^\\x00]{0,40}") {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                let word = shell_word(OsStr::from_bytes(bytes));
                prop_assert!(word.bytes().all(|byte| is_printable(&byte)), "{}", word);
                prop_assert_eq!(read_back(&word), bytes);
            }
        }
    }
}
