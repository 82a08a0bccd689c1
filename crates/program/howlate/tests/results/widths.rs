//! Output fits narrow and wide terminals: no line breaks within a cell, a number or a command.

use crate::common::{howlate, stderr, stdout};

const WIDTHS: [usize; 4] = [60, 80, 120, 200];

/// Commands that show each kind of recording.
const SHOWN: [&str; 18] = [
    "show cyclic.jsonl",
    "show --details cyclic.jsonl",
    "show stall.jsonl",
    "show sleep.jsonl",
    "show languages.jsonl",
    "show notify.jsonl",
    "show guest.jsonl",
    "show watch.jsonl",
    "show policies.jsonl",
    "show killed.jsonl",
    "why why.jsonl",
    "why --details why.jsonl",
    "show --plot cyclic.jsonl",
    "show --plot languages.jsonl",
    "compare idle-before.jsonl idle-after.jsonl",
    "compare policies.jsonl --by policy",
    "doctor --root ../../systems/container",
    "doctor --root ../../systems/laptop --details",
];

const CAPTURED: [&str; 10] = [
    "show cyclic.jsonl",
    "show sleep.jsonl",
    "show notify.jsonl",
    "show guest.jsonl",
    "show watch.jsonl",
    "compare policies.jsonl --by policy",
    "show --details cyclic.jsonl",
    "why why.jsonl",
    "why --details why.jsonl",
    "show --plot cyclic.jsonl",
];

/// Output of a command with `COLUMNS=width`.
fn show(command: &str, width: usize) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1");
    let arguments: Vec<&str> = command.split(' ').collect();
    let output = howlate(&arguments).env("COLUMNS", width.to_string()).current_dir(folder).output().unwrap();
    let text = stdout(&output);
    assert!(!text.is_empty(), "{command}: {}", stderr(&output));
    text
}

/// Lines wider than the terminal. The path of a file is one word, and may be too long beside its label.
fn too_wide(text: &str, width: usize) -> Vec<&str> {
    const LABEL: usize = 17;
    let longest = |line: &str| line.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
    let is_too_wide = |line: &&str| line.chars().count() > width && longest(line) + LABEL <= width;
    text.lines().filter(is_too_wide).collect()
}

#[test]
fn every_line_fits() {
    for (command, width) in SHOWN.iter().flat_map(|command| WIDTHS.map(|width| (command, width))) {
        let text = show(command, width);
        assert_eq!(too_wide(&text, width), Vec::<&str>::new(), "{command} in {width} columns:\n{text}");
    }
}

#[test]
fn tables_use_the_width_that_there_is() {
    for width in WIDTHS {
        let captures = CAPTURED.map(|command| format!("$ howlate {command}\n{}", show(command, width)));
        insta::assert_snapshot!(format!("{width}"), captures.join("\n"));
    }
}
