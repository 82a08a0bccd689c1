//! Screens in the documentation: their fixed lines are printed in the same order by the commands.

use std::path::Path;
use std::process::{Child, Command};

use crate::common::{howlate, may_use_realtime, stderr, stdout};

const LOOP: &str = "import time\nwhile True: time.sleep(0.01)";

/// A load on the CPUs until drop.
struct Busy(Vec<Child>);

impl Busy {
    fn begin() -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let hog = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Self((0..2 * cpus).map(|_| hog()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

/// Lines without measured numbers and sentences: headings and column titles, without the widths of their columns.
fn shape(screen: &str) -> Vec<String> {
    let is_fixed = |line: &&str| {
        let is_heading = !line.starts_with("   ") && !line.ends_with('.') && !line.starts_with('`');
        is_heading
            && !line.is_empty()
            && !line.replace("slowest 1 %", "").contains(|letter: char| letter.is_ascii_digit())
    };
    let single_spaced = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    screen.lines().filter(is_fixed).map(single_spaced).collect()
}

/// The first screen of `command` in a page of the documentation, without the command.
fn screen_of(page: &str, command: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let begin =
        text.find(&format!("$ sudo {command}")).unwrap_or_else(|| panic!("{page} shows no `{command}`"));
    let screen = text[begin..].split("\n```").next().unwrap();
    screen.lines().skip(1).map(|line| format!("{line}\n")).collect()
}

#[test]
fn screens_of_the_documentation_look_as_what_is_printed_does() {
    if !super::has_bpf_and_python() || !may_use_realtime() {
        return;
    }
    let _turn = crate::alone();
    let busy = Busy::begin();
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("loop.py");
    std::fs::write(&script, LOOP).unwrap();
    let python = super::python();
    let watch = ["watch", "--duration", "6s", "--quiet", "--no-save", &python, script.to_str().unwrap()];
    let output = howlate(&watch).env("COLUMNS", "100").output().unwrap();
    drop(busy);
    let printed = stdout(&output);
    for page in ["README.md", "docs/first-five-minutes.md"] {
        let shown = shape(&screen_of(page, "howlate watch --duration 20s python3 loop.py"));
        assert!(shown.len() >= 4, "{page}: {shown:?}");
        let mut lines = printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        for expected in &shown {
            assert!(
                lines.any(|line| line == *expected),
                "{page} has \"{expected}\", which is not printed there:\n{printed}{}",
                stderr(&output)
            );
        }
    }
}
