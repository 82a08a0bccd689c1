//! What letters the terminal shows.

/// Whether the locale allows more than ASCII: no variable names another character set.
pub fn may_show_unicode() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    locale.is_none_or(|locale| is_utf8(&locale))
}

/// Whether a locale's name asks for UTF-8: `en_GB.UTF-8`, `C.utf8`.
fn is_utf8(locale: &str) -> bool {
    locale.to_lowercase().replace('-', "").contains("utf8")
}
