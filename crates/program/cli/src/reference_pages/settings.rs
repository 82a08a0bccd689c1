//! docs/settings.md: every setting that `howlate tune` knows.

use howlate_model::SettingScope;

const ABOUT: &str = "# Settings of `tune`

Reference, made from the program: what [`howlate tune`](tune.md) can try, and what each setting costs others.
`howlate tune --knobs all --dry-run` shows the value of each on your machine, and what would be written where;
some, such as `smt`, are listed and never tried.
";

pub(super) fn page() -> String {
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
    let sections =
        sections.map(|(scope, heading, note)| format!("\n## {heading}\n\n{note}\n\n{}", table(scope)));
    ABOUT.to_owned() + &sections.concat()
}

fn table(scope: SettingScope) -> String {
    let knobs = howlate_knobs::all().filter(|knob| knob.scope == scope);
    let rows = knobs.map(|knob| format!("| `{}` | {} | {} |\n", knob.name, knob.what, knob.cost));
    format!("| setting | what it does | what it costs |\n|---|---|---|\n{}", rows.collect::<String>())
}
