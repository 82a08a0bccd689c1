//! Generated pages of docs/.

mod options;

use howlate_model::SettingScope;

/// Compares `now` with `docs/FILE`; with `HOWLATE_UPDATE` in the environment, writes it.
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
    assert_published("settings.md", &settings_page());
}

/// Head of docs/settings.md.
const SETTINGS_ABOUT: &str = "# Settings of `tune`

Reference, made from the program: what [`howlate tune`](tune.md) can try, and what each setting costs others.
`howlate tune --knobs all --dry-run` shows the value of each on your machine, and what would be written where;
some, such as `smt`, are listed and never tried.
";

/// docs/settings.md: all settings of `howlate tune`.
fn settings_page() -> String {
    let sections = [
        (SettingScope::Thread, "Of a thread", "Tried by default; most need no privileges."),
        (
            SettingScope::Machine,
            "Of the machine",
            "Tried with `--knobs all`, `machine` or a name, as root, each for its own turns only.",
        ),
        (
            SettingScope::Boot,
            "At boot",
            "Never tried: howlate names them, with what to add to the kernel command line.",
        ),
    ];
    let sections = sections
        .map(|(scope, heading, note)| format!("\n## {heading}\n\n{note}\n\n{}", settings_table(scope)));
    SETTINGS_ABOUT.to_owned() + &sections.concat()
}

fn settings_table(scope: SettingScope) -> String {
    let knobs = howlate_system::settings::all().filter(|knob| knob.scope == scope);
    let rows = knobs.map(|knob| format!("| `{}` | {} | {} |\n", knob.name, knob.what, knob.cost));
    format!("| setting | what it does | what it costs |\n|---|---|---|\n{}", rows.collect::<String>())
}
