//! Pages of docs/ that are made from what the program knows.

mod options;
mod settings;

/// Holds `now` against `docs/FILE`; with `HOWLATE_UPDATE` in the environment, writes it there.
fn assert_published(file: &str, now: &str) {
    let path = format!("{}/../../../docs/{file}", env!("CARGO_MANIFEST_DIR"));
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    if now != published && std::env::var_os("HOWLATE_UPDATE").is_some() {
        return std::fs::write(&path, now).unwrap();
    }
    assert!(
        now == published,
        "run HOWLATE_UPDATE=1 cargo test -p howlate-cli --lib pages, then read the difference"
    );
}

#[test]
fn the_page_of_options_is_what_the_program_says() {
    assert_published("options.md", &options::page());
}

#[test]
fn the_page_of_settings_is_what_the_program_tries() {
    assert_published("settings.md", &settings::page());
}
