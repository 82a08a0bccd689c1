//! Paths in commands that people copy into a shell.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// `path` so that a shell takes it as one word and as nothing else. Bytes that are no printable ASCII are
/// written as escapes of `$'…'`, which bash, zsh, ksh and POSIX 2024 know, so that the terminal meets none.
pub(crate) fn quoted(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_./-+,:@%=".contains(byte);
    if !bytes.is_empty() && bytes.iter().all(is_plain) && bytes[0] != b'-' {
        return path.display().to_string();
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) && text.is_ascii() => {
            let dash = if text.starts_with('-') { "./" } else { "" };
            format!("{dash}'{}'", text.replace('\'', r"'\''"))
        }
        _ => escaped(bytes),
    }
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::from("$'");
    for &byte in bytes {
        match byte {
            b'\'' | b'\\' => text.extend(['\\', char::from(byte)]),
            b' '..=b'~' => text.push(char::from(byte)),
            // Three octal digits: a hexadecimal escape would swallow digits that follow.
            _ => drop(write!(text, "\\{byte:03o}")),
        }
    }
    text + "'"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStringExt;
    use std::process::Command;

    #[test]
    fn a_shell_reads_back_what_was_meant() {
        for bytes in [
            "plain/run-1.jsonl".as_bytes(),
            b"two words",
            b"$(touch gone); rm -rf *",
            b"it's",
            b"-v",
            b"line\nbreak\x1b[31m7",
            b"caf\xe9.jsonl",
            "café".as_bytes(),
        ] {
            let quoted = quoted(Path::new(OsStr::from_bytes(bytes)));
            assert!(quoted.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{quoted}");
            let script = format!("printf %s {quoted}");
            let said = Command::new("bash").args(["-c", &script]).output().unwrap().stdout;
            let said = std::ffi::OsString::from_vec(said);
            assert_eq!(said.as_bytes().strip_prefix(b"./").unwrap_or(said.as_bytes()), bytes, "{quoted}");
        }
    }
}
