//! Words that may be left out of a command line.

use std::ffi::OsString;

/// The words of a command line with `cyclic` put in where `tune` is followed by nothing that settings are tried on, and `program`
/// where it is followed by somebody's program; a program alone is watched, and `help --all` is a command of its own.
pub fn written_out(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    const AS_THEY_ARE: [&str; 7] = ["cyclic", "sleep", "notify", "program", "-h", "--help", "help"];
    let mut words: Vec<OsString> = words.collect();
    if words.get(1).is_some_and(|word| word == "--") {
        words.insert(1, "watch".into());
    }
    if words.get(1..).is_some_and(|typed| typed == ["help", "--all"]) {
        words.splice(1.., ["help-all".into()]);
    }
    let is_tune = words.get(1).is_some_and(|word| word == "tune");
    if is_tune && !words.get(2).is_some_and(|next| AS_THEY_ARE.iter().any(|one| next == one)) {
        let is_process = words.get(2).is_some_and(|next| !next.as_encoded_bytes().starts_with(b"-"));
        let is_program = is_process || words.iter().any(|word| word == "--");
        words.insert(2, if is_program { "program" } else { "cyclic" }.into());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> String {
        let words = written_out(line.split(' ').map(Into::into));
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tune_alone_tries_settings_on_periodic_threads() {
        assert_eq!(words("howlate tune"), "howlate tune cyclic");
        assert_eq!(words("howlate tune --dry-run"), "howlate tune cyclic --dry-run");
        assert_eq!(words("howlate tune 4711 --dry-run"), "howlate tune program 4711 --dry-run");
        assert_eq!(words("howlate tune --goal p50 -- ./sleep"), "howlate tune program --goal p50 -- ./sleep");
        assert_eq!(words("howlate -- python3 loop.py"), "howlate watch -- python3 loop.py");
        assert_eq!(words("howlate help --all"), "howlate help-all");
        for line in ["howlate tune sleep --for 1ms", "howlate tune --help", "howlate doctor", "howlate"] {
            assert_eq!(words(line), line);
        }
    }
}
