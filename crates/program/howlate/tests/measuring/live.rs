//! The live view in a real terminal: tmux, with typed keys.

use std::process::Command;

use howlate_testing::skip;
use serde_json::Value;

use crate::common::{is_installed, pause, run, show_json, stderr, wait_until};

/// A tmux server; its programs are hung up on drop.
struct Tmux {
    socket: String,
}

/// Longer than any test types.
const RUN: &str = "cyclic --threads 1 --period 10ms --duration 2m --no-save --live";

impl Tmux {
    /// Runs a shell command that prints its status at its end, in a terminal of this size; `None` without tmux.
    fn begin(name: &str, [columns, rows]: [u16; 2], command_line: &str) -> Option<Self> {
        if !is_installed("tmux") {
            skip("tmux is not installed");
            return None;
        }
        let tmux = Self { socket: format!("howlate-test-{}-{name}", std::process::id()) };
        let [columns, rows] = [columns, rows].map(|number| number.to_string());
        let command_line = format!("{command_line}; echo status $?; exec sleep 60");
        tmux.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-s",
            "it",
            "-x",
            &columns,
            "-y",
            &rows,
            &command_line,
        ]);
        Some(tmux)
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let output = Command::new("tmux").args(["-L", &self.socket]).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys", "-t", "it"], keys].concat());
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "it"])
    }

    /// The screen with its scrollback.
    fn all(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-S", "-", "-t", "it"])
    }

    fn is_on_other_screen(&self) -> bool {
        self.tmux(&["display-message", "-p", "-t", "it", "#{alternate_on}"]).trim() == "1"
    }

    fn wait_for(&self, text: &str) {
        wait_until(text, || self.screen().contains(text));
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // Only the server of this socket.
        self.tmux(&["kill-server"]);
    }
}

fn program() -> &'static str {
    env!("CARGO_BIN_EXE_howlate")
}

#[test]
fn keys_are_answered_and_the_end_prints_the_usual_result() {
    let Some(tmux) = Tmux::begin("keys", [80, 24], &format!("{} {RUN}", program())) else { return };
    tmux.wait_for("late wake-ups as they came");
    assert!(tmux.is_on_other_screen());
    tmux.press(&["?"]);
    tmux.wait_for("end and print the result");
    tmux.press(&["?"]);
    tmux.wait_for("so far · latency in µs");
    tmux.press(&["/", "n", "o", "n", "e", "Enter"]);
    tmux.wait_for("no rows match `none`");
    tmux.press(&["Escape"]);
    wait_until("the filter is gone", || !tmux.screen().contains("no rows match"));
    tmux.press(&["f"]);
    tmux.wait_for("■ f freeze");
    tmux.press(&["q"]);
    tmux.wait_for("status 3");
    assert!(!tmux.is_on_other_screen());
    let all = tmux.all();
    assert!(all.contains("howlate cyclic") && all.contains("interrupted"), "{all}");
    assert!(!all.contains("so far"), "nothing of the other screen is left: {all}");
}

#[test]
fn the_last_screen_stays_where_that_is_wanted() {
    let Some(tmux) = Tmux::begin("stays", [80, 24], &format!("{} {RUN}", program())) else { return };
    tmux.wait_for("so far · latency in µs");
    tmux.press(&["Q"]);
    tmux.wait_for("status 3");
    let all = tmux.all();
    let (screen, result) = all.split_once("late wake-ups as they came").unwrap();
    assert!(screen.contains("so far · latency in µs") && result.contains("howlate cyclic"), "{all}");
}

#[test]
fn a_window_that_changes_its_size_all_the_time_breaks_nothing() {
    let Some(tmux) = Tmux::begin("sizes", [100, 30], &format!("{} {RUN}", program())) else { return };
    tmux.wait_for("so far · latency in µs");
    for [columns, rows] in [[20, 5], [200, 60], [1, 1], [80, 24], [61, 14], [300, 3]].repeat(5) {
        let [columns, rows] = [columns, rows].map(|number: u16| number.to_string());
        tmux.tmux(&["resize-window", "-t", "it", "-x", &columns, "-y", &rows]);
    }
    tmux.tmux(&["resize-window", "-t", "it", "-x", "40", "-y", "10"]);
    tmux.wait_for("too small");
    tmux.tmux(&["resize-window", "-t", "it", "-x", "80", "-y", "24"]);
    tmux.wait_for("so far · latency in µs");
    tmux.press(&["C-c"]);
    tmux.wait_for("status 3");
}

#[test]
fn a_stop_gives_the_terminal_back_and_going_on_takes_it_again() {
    let Some(tmux) = Tmux::begin("stop", [80, 24], "bash --norc --noprofile -i") else { return };
    tmux.press(&[&format!("{} {RUN}", program()), "Enter"]);
    tmux.wait_for("so far · latency in µs");
    tmux.press(&["C-z"]);
    tmux.wait_for("Stopped");
    assert!(!tmux.is_on_other_screen());
    tmux.press(&["stty -a | grep -o ' icanon'", "Enter"]);
    tmux.wait_for(" icanon");
    tmux.press(&["fg", "Enter"]);
    tmux.wait_for("so far · latency in µs");
    assert!(tmux.is_on_other_screen());
    tmux.press(&["q"]);
    wait_until("the shell has its terminal again", || !tmux.is_on_other_screen());
}

#[test]
fn a_terminal_that_hangs_up_leaves_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run.jsonl");
    let command_line = format!("{} {RUN} --out {}", program(), out.display());
    let Some(tmux) = Tmux::begin("hang", [80, 24], &command_line) else { return };
    tmux.wait_for("so far · latency in µs");
    pause(500);
    drop(tmux);
    let has_end = || std::fs::read_to_string(&out).is_ok_and(|text| text.contains("\"end\""));
    wait_until("the recording has its end", has_end);
    let count = show_json(&out)["results"][0]["count"].as_u64();
    assert!(count.is_some_and(|count| count > 0), "{count:?}");
}

#[test]
fn where_it_cannot_be_shown_a_line_says_why() {
    let short = "cyclic --threads 1 --period 10ms --duration 500ms --no-save --live";
    let piped = run(&short.split(' ').collect::<Vec<_>>());
    assert!(piped.status.success());
    assert_eq!(stderr(&piped), "No live view: standard error is not a terminal.\n");
    let cases = [
        ("small", [40, 10], "", "the terminal has 40 columns and 10 rows"),
        ("dumb", [80, 24], "TERM=dumb ", "TERM does not name a terminal"),
    ];
    for (name, size, variable, why) in cases {
        let Some(tmux) = Tmux::begin(name, size, &format!("{variable}{} {short}", program())) else { return };
        wait_until(why, || tmux.all().replace('\n', " ").contains("status 0"));
        let screen_text = tmux.all().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(screen_text.contains("No live view:") && screen_text.contains(why), "{screen_text}");
        assert!(screen_text.contains("howlate cyclic"), "the result is there: {screen_text}");
    }
}

#[test]
fn the_result_goes_where_standard_output_goes() {
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("result.json");
    let command_line = format!("{} {RUN} --json > {}", program(), result.display());
    let Some(tmux) = Tmux::begin("result", [80, 24], &command_line) else { return };
    tmux.wait_for("so far · latency in µs");
    tmux.press(&["q"]);
    tmux.wait_for("status 3");
    let json: Value = serde_json::from_str(&std::fs::read_to_string(&result).unwrap()).unwrap();
    assert!(json["results"].is_array(), "{json}");
}

#[test]
fn top_has_the_whole_screen_and_ends_with_the_last_table() {
    let Some(tmux) = Tmux::begin("top", [100, 30], &format!("{} top --interval 200ms", program())) else {
        return;
    };
    tmux.wait_for("idle waits are hidden");
    assert!(tmux.is_on_other_screen());
    tmux.press(&["i"]);
    tmux.wait_for("■ i idle");
    for by in ["thread", "group", "culprit", "process"] {
        tmux.press(&["b"]);
        tmux.wait_for(&format!("b by {by}"));
    }
    tmux.press(&["?"]);
    tmux.wait_for("rows of processes, threads, groups, culprits");
    tmux.press(&["?"]);
    tmux.press(&["q"]);
    tmux.wait_for("status 0");
    assert!(!tmux.is_on_other_screen());
    assert!(tmux.all().contains("Who waits for what"), "{}", tmux.all());
}

#[test]
fn top_keeps_its_plain_table_where_the_screen_is_too_small() {
    let Some(tmux) = Tmux::begin("small-top", [59, 30], &format!("{} top --interval 200ms", program()))
    else {
        return;
    };
    tmux.wait_for("q end");
    assert!(!tmux.is_on_other_screen());
    tmux.press(&["q"]);
    tmux.wait_for("status 0");
}

#[test]
fn a_process_is_watched_on_the_whole_screen_and_a_moment_is_marked() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("watched.jsonl");
    let command_line = format!("sleep 600 & {} watch $! --out {}; kill %1", program(), out.display());
    let Some(tmux) = Tmux::begin("watch", [80, 24], &format!("bash -c '{command_line}'")) else { return };
    tmux.wait_for("m mark");
    assert!(tmux.is_on_other_screen());
    tmux.press(&["m"]);
    // Handled with the next update.
    pause(1_000);
    tmux.press(&["q"]);
    wait_until("the view is over", || !tmux.is_on_other_screen());
    let marks = || std::fs::read_to_string(&out).unwrap_or_default().matches("\"mark\"").count();
    wait_until("the moment is in the recording", || marks() == 1);
    wait_until("it is in the result", || tmux.all().contains("Marked by hand: after"));
}

#[test]
fn what_a_watched_program_writes_is_shown_after_the_view() {
    // The command line is on the screen too, so that it must not contain the output itself.
    let script = "echo written by $((6 * 7)); echo and $((5 * 5)) >&2; sleep 600";
    let command_line = format!("{} watch --live --no-save -- sh -c '{script}'", program());
    let Some(tmux) = Tmux::begin("output", [80, 24], &command_line) else { return };
    tmux.wait_for("howlate watch");
    tmux.wait_for("q end");
    pause(500);
    assert!(!tmux.screen().contains("written by 42"), "{}", tmux.screen());
    tmux.press(&["q"]);
    tmux.wait_for("status ");
    let all = tmux.all();
    let (written, result) = (all.find("written by 42"), all.find("howlate watch"));
    assert!(all.contains("and 25") && written.is_some() && written < result, "{all}");
}

#[test]
fn the_whole_machine_is_recorded_on_the_whole_screen_and_a_key_writes_a_timeline() {
    if !rustix::process::geteuid().is_root() {
        return skip("needs root");
    }
    let folder = tempfile::tempdir().unwrap();
    let command_line =
        format!("{} record --live --late-above 1s --out {}", program(), folder.path().display());
    let Some(tmux) = Tmux::begin("record", [80, 24], &command_line) else { return };
    wait_until("it records, or says why not", || {
        let screen = tmux.screen();
        screen.contains("w timeline") || screen.contains("status ")
    });
    if tmux.screen().contains("status ") {
        return skip(&format!("nothing is recorded here: {}", tmux.screen().trim()));
    }
    tmux.press(&["w", "m"]);
    let files = || -> Vec<std::path::PathBuf> {
        std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path()).collect()
    };
    let has_snap = || files().iter().any(|path| path.to_string_lossy().ends_with("-snap.trace.json"));
    wait_until("the timeline is there", has_snap);
    // After a hang-up the recording is complete, with the mark and an end.
    drop(tmux);
    let text = || files().iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect::<String>();
    wait_until("the recording has its end", || text().contains("\"end\""));
    assert_eq!(text().matches("\"mark\"").count(), 1);
}

#[test]
fn pictures_are_ascii_where_the_locale_is() {
    let command_line = format!("LC_ALL=C {} {RUN}", program());
    let Some(tmux) = Tmux::begin("ascii", [80, 24], &command_line) else { return };
    tmux.wait_for("so far");
    tmux.press(&["f"]);
    tmux.wait_for("[x] f freeze");
    let screen = tmux.screen();
    assert!(!screen.contains(['█', '▂', '╳', '▌', '■']), "{screen}");
    tmux.press(&["q"]);
    tmux.wait_for("status 3");
}
