//! A result has one and a half screens at most, and ends with its meaning.

use crate::common::{howlate, stdout};

/// Most lines of a result without `--details`.
const MAX_LINES: usize = 40;

#[test]
fn every_result_is_a_screen_and_a_half() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1");
    for name in ["cyclic", "guest", "languages", "notify", "policies", "sleep", "stall", "why"] {
        for columns in ["80", "100"] {
            let arguments = ["show", &format!("{name}.jsonl")];
            let shown = howlate(&arguments).current_dir(folder).env("COLUMNS", columns).output().unwrap();
            let text = stdout(&shown);
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines.len() <= MAX_LINES, "{name}, {columns} columns, {} lines:\n{text}", lines.len());
            let meaning = lines.iter().position(|line| *line == "What this means");
            let is_last = meaning.is_none_or(|place| lines.len() - place <= 24);
            assert!(is_last, "{name}, {columns} columns:\n{text}");
        }
    }
}
