//! Whether what is published in `docs/` is that of the code.

/// Holds `now` against `docs/FILE`; with `HOWLATE_UPDATE` in the environment, writes it there.
pub(crate) fn assert_published(file: &str, now: &str) {
    let path = format!("{}/../../../docs/{file}", env!("CARGO_MANIFEST_DIR"));
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    if now != published && std::env::var_os("HOWLATE_UPDATE").is_some() {
        return std::fs::write(&path, now).unwrap();
    }
    assert!(now == published, "run HOWLATE_UPDATE=1 cargo test -p howlate-render, then read the difference");
}
