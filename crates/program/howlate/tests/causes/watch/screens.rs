//! Screens that the documentation shows: their fixed lines are printed, in that order, where the same is done here.

use std::path::Path;
use std::process::{Child, Command};

use crate::common::{howlate, may_use_realtime, stderr, stdout};

/// What is measured in both.
const LOOP: &str = "import time\nwhile True: time.sleep(0.01)";

/// Keeps CPUs busy until it is dropped.
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

/// Lines that have no number of a measurement and no sentence: headings, and heads of tables. Their columns are as wide as they need.
fn shape(screen: &str) -> Vec<String> {
    let is_fixed = |line: &&str| {
        let is_heading = !line.starts_with("   ") && !line.ends_with('.') && !line.starts_with('`');
        is_heading
            && !line.is_empty()
            && !line.replace("slowest 1 %", "").contains(|one: char| one.is_ascii_digit())
    };
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    screen.lines().filter(is_fixed).map(words).collect()
}

/// The first screen of a page that `command` prints, without the command.
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
        for wanted in &shown {
            assert!(
                lines.any(|line| line == *wanted),
                "{page} has \"{wanted}\", which is not printed there:\n{printed}{}",
                stderr(&output)
            );
        }
    }
}
