//! Waits of processes that the tests cause. No durations of the machine are asserted.

use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::common::{ForAnyone, assert_valid, json, run, skip, stderr, stdout};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

/// Whether waits can be traced here; skips the test otherwise.
fn can_see() -> bool {
    let output = run(&["top", "--tracer", "bpf", "--once", "--duration", "100ms", "--json"]);
    let message = stderr(&output);
    assert!(!message.contains("the kernel refuses to"), "{message}");
    if output.status.code() == Some(2) {
        skip(&message);
    }
    output.status.code() == Some(0)
}

/// Kills the process and its children on drop.
struct RunningProcess(Child);

impl Drop for RunningProcess {
    fn drop(&mut self) {
        let group = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        // It may have ended already.
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        drop(self.0.wait());
    }
}

impl RunningProcess {
    fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.process_group(0).spawn().unwrap())
    }

    /// A copy of the shell under another name.
    fn shell(folder: &Path, name: &str, script: &str) -> Self {
        let shell = folder.join(name);
        symlink("/bin/sh", &shell).unwrap();
        Self::start(Command::new("taskset").args(["-c", &first_cpu()]).arg(shell).args(["-c", script]))
    }

    /// This process in a table.
    fn in_table<'a>(&self, table: &'a Value) -> &'a Value {
        let of_it = |value: &&Value| value["pid"] == self.0.id();
        table["processes"].as_array().unwrap().iter().find(of_it).unwrap_or_else(|| panic!("{table}"))
    }
}

fn first_cpu() -> String {
    howlate_linux::sched::affinity().unwrap().iter().next().unwrap().to_string()
}

/// The wait of one kind; panics without it.
fn wait<'a>(process: &'a Value, kind: &str) -> &'a Value {
    let waits = process["waits"].as_array().unwrap();
    waits.iter().find(|wait| wait["kind"] == kind).unwrap_or_else(|| panic!("no {kind} in {process}"))
}

/// Whether files below `folder` are on a disk.
fn is_on_disk(folder: &Path) -> bool {
    let output = Command::new("stat").args(["-f", "-c", "%T"]).arg(folder).output().unwrap();
    let kind = stdout(&output);
    !kind.contains("tmpfs") && !kind.contains("overlay") && !kind.contains("ramfs")
}

#[test]
fn four_kinds_of_waiting_are_told_apart() {
    if !can_see() {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let disk = is_on_disk(folder.path()).then(|| {
        let written = format!("of={}", folder.path().join("written").display());
        RunningProcess::start(Command::new("dd").args(["if=/dev/zero", &written, "bs=512", "oflag=sync"]))
    });
    let sleeper = RunningProcess::start(Command::new("sleep").arg("1000"));
    let reader = RunningProcess::shell(
        folder.path(),
        "reads",
        "(while :; do echo; sleep 0.01; done) | while read line; do :; done",
    );
    let hogs =
        ["hog-a", "hog-b"].map(|name| RunningProcess::shell(folder.path(), name, "while :; do :; done"));
    let table = json(&["top", "--once", "--duration", "5s", "--json"], 0);
    assert_eq!(
        (&table["command"], &table["format"], &table["tracer"]),
        (&"top".into(), &1.into(), &"bpf".into())
    );
    match &disk {
        Some(disk) => {
            let of_disk = wait(disk.in_table(&table), "disk");
            assert_eq!((&of_disk["nature"], of_disk["count"].as_u64() > Some(0)), (&"held_up".into(), true));
            assert!(of_disk["functions"].to_string().contains("vfs_write"), "{of_disk}");
        }
        None => skip("the folder for tests is on no disk"),
    }
    let asleep = wait(sleeper.in_table(&table), "timer");
    assert_eq!((&asleep["at"], &asleep["ongoing"]), (&"sleeping".into(), &1.into()));
    assert!(asleep["share"].as_f64().unwrap() > 0.99, "it does nothing else: {asleep}");
    let pipes = table["processes"].as_array().unwrap().iter().filter(|process| process["name"] == "reads");
    assert!(
        pipes.map(|pipe| pipe["waits"].to_string()).any(|waits| waits.contains("reading a pipe")),
        "{table}"
    );
    for (hog, other) in [(0, "hog-b"), (1, "hog-a")] {
        let behind = wait(hogs[hog].in_table(&table), "cpu")["behind"].as_array().unwrap();
        assert!(
            behind.iter().any(|process| process["name"] == other && process["ns"].as_u64() > Some(0)),
            "{behind:?}"
        );
    }
    drop(reader);
}

#[test]
fn one_process_is_shown_by_its_threads_and_places() {
    if !can_see() {
        return;
    }
    let sleeper = RunningProcess::start(Command::new("sleep").arg("1000"));
    let pid = sleeper.0.id().to_string();
    let text = stdout(&run(&["top", "--once", "--duration", "300ms", "--process", &pid]));
    assert!(text.contains("timer: sleeping") && text.contains("hrtimer_nanosleep < "), "{text}");
    let only = json(&["top", "--once", "--duration", "300ms", "--json", "--process", &pid], 0);
    assert_eq!(only["processes"].as_array().unwrap().len(), 1, "{only}");
    assert_eq!(only["threads"][0]["tid"].to_string(), pid);
    let only =
        json(&["top", "--once", "--duration", "300ms", "--json", "--kind", "disk", "--process", &pid], 0);
    assert_eq!(only["processes"][0]["waits"].as_array().unwrap().len(), 0, "{only}");
}

#[test]
fn a_process_that_does_not_exist_is_said() {
    if !can_see() {
        return;
    }
    let output = run(&["top", "--once", "--duration", "100ms", "--process", "no such name"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no process is called `no such name`"), "{}", stderr(&output));
}

#[test]
fn tables_follow_each_other_and_each_is_as_the_schema_says() {
    if !can_see() {
        return;
    }
    let output = run(&["top", "--interval", "200ms", "--duration", "1s", "--json", "--by", "thread"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let tables: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(tables.len() >= 2, "{text}");
    for table in &tables {
        assert_valid(table, "top");
        let shares = table["processes"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|process| process["waits"].as_array().unwrap());
        assert!(
            shares.map(|share| share["share"].as_f64().unwrap()).all(|share| (0.0..=1.0).contains(&share)),
            "{table}"
        );
    }
}

/// A user sees only their own programs, and a hint how to see more.
#[test]
fn without_privilege_the_accounts_tell_of_ones_own_programs() {
    let anyone = ForAnyone::new();
    let refused =
        anyone.howlate(&["top", "--tracer", "bpf", "--once", "--duration", "100ms"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("as root"), "{}", stderr(&refused));
    // howlate is one of them: it sleeps between samples.
    let output =
        anyone.howlate(&["top", "--once", "--duration", "1s", "--json", "--details"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let table: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(table["tracer"], "proc");
    assert!(table["refused"].as_str().unwrap().contains("as root"), "{table}");
    let text = anyone.howlate(&["top", "--once", "--duration", "300ms"]).output().unwrap();
    assert!(stdout(&text).contains("Tracer bpf: not permitted"), "{}", stdout(&text));
}

#[test]
fn accounts_tell_what_a_program_sleeps_for() {
    let sleeper = RunningProcess::start(Command::new("sleep").arg("1000"));
    let table = json(&["top", "--tracer", "proc", "--once", "--duration", "1s", "--json"], 0);
    let asleep = wait(sleeper.in_table(&table), "timer");
    assert_eq!(
        (&asleep["at"], &asleep["ongoing"], &asleep["count"]),
        (&"sleeping".into(), &1.into(), &1.into())
    );
}

/// A terminal for a live table: its input, and its output so far.
struct TableTerminal {
    script: Child,
    shown: PathBuf,
}

impl TableTerminal {
    /// `None` without the program that makes terminals.
    fn open(folder: &Path, arguments: &str) -> Option<Self> {
        let shown = folder.join("shown");
        let command = format!("exec {} {arguments}", env!("CARGO_BIN_EXE_howlate"));
        let mut script = Command::new("script");
        script.args(["-qfec", &command, "/dev/null"]).env("TERM", "xterm").env("COLUMNS", "100");
        let file = std::fs::File::create(&shown).unwrap();
        let script = script.stdin(Stdio::piped()).stdout(file).spawn().ok()?;
        Some(Self { script, shown })
    }

    fn presses(&self, keys: &str) {
        self.script.stdin.as_ref().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    fn wait_for(&self, text: &str) {
        let has =
            || std::fs::read(&self.shown).is_ok_and(|shown| String::from_utf8_lossy(&shown).contains(text));
        crate::common::wait_until(text, has);
    }
}

#[test]
fn keys_sort_and_filter_what_is_shown_and_end_it() {
    if !can_see() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(mut terminal) = TableTerminal::open(folder.path(), "top --interval 10m") else {
        return skip("script (util-linux) is not installed");
    };
    // Before the first table; the selection is in bold.
    terminal.wait_for("h held up");
    terminal.presses("x");
    terminal.wait_for("\x1b[1mx max\x1b[0m");
    terminal.presses("/no-such-q");
    terminal.wait_for("/no-such-q_");
    terminal.presses("\r");
    terminal.wait_for("/ filter no-such-q");
    terminal.presses("q");
    assert_eq!(terminal.script.wait().unwrap().code(), Some(0));
    // The last table follows the selection.
    terminal.wait_for("no rows match `no-such-q`");
}
