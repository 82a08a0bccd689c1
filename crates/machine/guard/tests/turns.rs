//! Settings for one turn with a real guardian process: this program, executed again.
//!
//! Without the test harness, because `main` must be able to become the guardian.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::print_stdout, reason = "the result of the tests")]

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, ExitCode, Stdio};

use howlate_guard::{GUARDIAN, Guard, SettingRequest, ThreadSettingKind, restore, thread_setting_name};
use howlate_model::{Caveat, SettingWrite, Span};

const SETTING: &str = "/proc/sys/vm/stat_interval";
/// Set in the process that changes and restores settings until it is killed.
const CHANGES_FOREVER: &str = "HOWLATE_TEST_BORROWS";
/// Number of kills.
const KILLS: &str = "HOWLATE_STORM_KILLS";
/// Set in the private mount namespace.
const IN_NAMESPACE: &str = "HOWLATE_TEST_OWN_SETTINGS";

fn main() -> ExitCode {
    if let Some(result) = GUARDIAN.serve_if_started_as() {
        return if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if std::env::var_os(IN_NAMESPACE).is_none() {
        return run_in_namespace();
    }
    if std::env::var_os(CHANGES_FOREVER).is_some() {
        change_forever();
    }
    a_turn_overrides_the_run_and_restores_its_value();
    dropped_settings_are_restored_and_reported_at_the_end();
    a_value_that_the_kernel_refuses_is_left_out_without_a_restore();
    writes_are_undone_unless_another_program_changed_the_value();
    watched_settings_are_restored_unconditionally();
    an_unchanged_setting_is_reported_when_another_program_changes_it();
    a_thread_setting_is_restored_in_threads_that_inherited_it();
    a_kill_at_any_time_restores_the_setting();
    println!("test result: ok. 8 passed; 0 failed;");
    ExitCode::SUCCESS
}

/// Executes this program in a mount namespace with a setting file and `/run` of its own.
fn run_in_namespace() -> ExitCode {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: changing settings of the machine needs root");
        return ExitCode::SUCCESS;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("run")).unwrap();
    std::fs::write(folder.path().join("setting"), "1\n").unwrap();
    let script =
        format!("cd \"$0\" && mount --bind setting {SETTING} && mount --bind run /run && exec \"$1\"");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script]);
    command.arg(folder.path()).arg(std::env::current_exe().unwrap()).env(IN_NAMESPACE, "1");
    if command.status().unwrap().success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn value() -> String {
    std::fs::read_to_string(SETTING).unwrap().trim().to_owned()
}

fn request(value: &str) -> [SettingRequest; 1] {
    [SettingRequest::parse("vm.stat_interval", value).unwrap()]
}

// run   |---- 5 ----------------------------|
// turn        |-- 7 --|        |-- 5 --|
fn a_turn_overrides_the_run_and_restores_its_value() {
    let guard = Guard::default();
    let run = guard.apply(&request("5"));
    assert_eq!((value().as_str(), &run.caveats), ("5", &vec![]));
    let turn = guard.apply(&request("7"));
    assert_eq!((value().as_str(), turn.settings[0].before.as_str()), ("7", "5"));
    assert_eq!(turn.undo(), []);
    assert_eq!(value(), "5");
    // A value that is in force already is guarded too, as another program may change it.
    let turn = guard.apply(&request("5"));
    std::fs::write(SETTING, "9").unwrap();
    assert!(matches!(&turn.undo()[..], [Caveat::SettingChanged { found, .. }] if found == "9"));
    assert_eq!(value(), "5");
    assert_eq!(run.undo(), []);
    assert_eq!(value(), "1");
    assert_eq!(guard.end(), []);
}

fn dropped_settings_are_restored_and_reported_at_the_end() {
    let guard = Guard::default();
    let turn = guard.apply(&request("7"));
    std::fs::write(SETTING, "9").unwrap();
    drop(turn);
    assert_eq!(value(), "1");
    assert!(matches!(&guard.end()[..], [Caveat::SettingChanged { .. }]));
}

fn a_value_that_the_kernel_refuses_is_left_out_without_a_restore() {
    let guard = Guard::default();
    let refused = [SettingRequest::parse("kernel.sched_rt_period_us", "no number").unwrap()];
    let before = std::fs::read_to_string("/proc/sys/kernel/sched_rt_period_us").unwrap();
    let turn = guard.apply(&refused);
    assert!(matches!(&turn.caveats[..], [Caveat::SettingLeftOut { .. }]), "{:?}", turn.caveats);
    assert_eq!(turn.undo(), []);
    assert_eq!(guard.end(), []);
    assert_eq!(std::fs::read_to_string("/proc/sys/kernel/sched_rt_period_us").unwrap(), before);
}

fn writes(now: &str, value: &str) -> [SettingWrite; 1] {
    [SettingWrite { path: SETTING.to_owned(), now: now.to_owned(), value: value.to_owned(), watched: false }]
}

fn watched(now: &str) -> [SettingWrite; 1] {
    writes(now, now).map(|write| SettingWrite { watched: true, ..write })
}

// writes      |-- 7 --|  then 9 by another program, meanwhile or before
fn writes_are_undone_unless_another_program_changed_the_value() {
    let guard = Guard::default();
    guard.begin().unwrap();
    let turn = guard.apply_writes(&writes("1", "7"));
    assert_eq!((value().as_str(), turn.changed_nothing()), ("7", false));
    assert_eq!((turn.undo(), value().as_str()), (vec![], "1"));
    let turn = guard.apply_writes(&writes("1", "7"));
    std::fs::write(SETTING, "9").unwrap();
    assert!(
        matches!(&turn.undo()[..], [Caveat::SettingChanged { set, found, .. }] if set == "7" && found == "9")
    );
    assert_eq!(value(), "9");
    let turn = guard.apply_writes(&writes("1", "7"));
    assert!(turn.changed_nothing() && value() == "9", "it has changed since it was read");
    assert!(
        matches!(&turn.caveats[..], [Caveat::SettingLeftOut { reason, .. }] if reason.to_string().contains("`9` and no longer `1`"))
    );
    drop(turn);
    // Without a guardian, this process restores the value.
    std::fs::write(SETTING, "1").unwrap();
    let turn = guard.apply_writes(&writes("1", "7"));
    kill_the_guardian();
    assert_eq!(turn.undo(), [Caveat::GuardianGone]);
    assert_eq!((value().as_str(), guard.end()), ("1", vec![]));
}

// watched     |-- 1, and 9 as a side effect --|
fn watched_settings_are_restored_unconditionally() {
    let guard = Guard::default();
    let turn = guard.apply_writes(&watched("1"));
    assert!(turn.changed_nothing() && value() == "1", "nothing was set");
    std::fs::write(SETTING, "9").unwrap();
    assert_eq!((turn.undo(), value().as_str()), (vec![], "1"));
    assert_eq!(guard.end(), []);
}

// writes      |-- 1, unchanged; 9 by another program --|
fn an_unchanged_setting_is_reported_when_another_program_changes_it() {
    let guard = Guard::default();
    let turn = guard.apply_writes(&writes("1", "1"));
    assert!(turn.changed_nothing(), "nothing was set");
    assert_eq!((turn.undo(), value().as_str()), (vec![], "1"));
    let turn = guard.apply_writes(&writes("1", "1"));
    std::fs::write(SETTING, "9").unwrap();
    let caveats = turn.undo();
    assert!(
        matches!(&caveats[..], [Caveat::SettingChanged { set, found, .. }] if set == "1" && found == "9"),
        "{caveats:?}"
    );
    assert_eq!((value().as_str(), guard.end()), ("9", vec![]));
    std::fs::write(SETTING, "1").unwrap();
}

/// Timer slack of a process, which it inherits from its parent.
fn slack(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/timerslack_ns")).unwrap().trim().to_owned()
}

fn slack_of(pid: u32, value: &str) -> [SettingWrite; 1] {
    let path = thread_setting_name(ThreadSettingKind::TimerSlack, pid, pid).unwrap();
    [SettingWrite { path, now: slack(pid), value: value.to_owned(), watched: false }]
}

// shell  |-- 7 --------------|        restored
// child        |-- 7 inherited --------| restored
fn a_thread_setting_is_restored_in_threads_that_inherited_it() {
    let script = "echo; read word; sleep 1000 & echo $!; read word; kill $!";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    let (mut input, output) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
    let mut lines = BufReader::new(output).lines().map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some(""), "it runs");
    let (guard, before) = (Guard::default(), slack(shell.id()));
    let applied = guard.apply_writes(&slack_of(shell.id(), "7"));
    assert_eq!((applied.caveats.as_slice(), slack(shell.id()).as_str()), (&[][..], "7"));
    writeln!(input).unwrap();
    let child: u32 = lines.next().unwrap().parse().unwrap();
    assert_eq!(slack(child), "7", "it inherits");
    assert_eq!(applied.undo(), []);
    assert_eq!([slack(shell.id()), slack(child)], [before.clone(), before.clone()]);
    // A slack that the program sets itself is kept, and a process that has ended needs no restore.
    let applied = guard.apply_writes(&slack_of(shell.id(), "7"));
    std::fs::write(format!("/proc/{}/timerslack_ns", shell.id()), "9").unwrap();
    assert!(
        matches!(&applied.undo()[..], [Caveat::SettingChanged { set, found, .. }] if set == "7" && found == "9")
    );
    let applied = guard.apply_writes(&slack_of(child, "7"));
    drop(input);
    shell.wait().unwrap();
    until("an end of the child", || !std::path::Path::new(&format!("/proc/{child}")).exists());
    assert_eq!((applied.undo(), guard.end()), (vec![], vec![]));
}

fn kill_the_guardian() {
    let [guardian] = children(std::process::id())[..] else { panic!("one child") };
    kill(guardian);
}

fn children(of: u32) -> Vec<u32> {
    howlate_procfs::children(&howlate_procfs::Root::live(), of)
}

fn kill(process: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    // It may have ended already.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

/// What `tune` does, without the measurements.
fn change_forever() {
    let guard = Guard::default();
    loop {
        for value in ["5", "7"] {
            drop(guard.apply_writes(&writes("1", value)).undo());
        }
    }
}

/// Kills the process that changes settings 50 times at random moments, or as often as `cargo xtask storm` requests; every fifth time its
/// guardian first, so that the next start has to restore.
fn a_kill_at_any_time_restores_the_setting() {
    let mut random = fastrand::Rng::new();
    let (mut in_force, mut left) = (0, 0);
    let kills: usize = std::env::var(KILLS).ok().and_then(|text| text.parse().ok()).unwrap_or(50);
    for number in 0..kills {
        let mut child =
            Command::new(std::env::current_exe().unwrap()).env(CHANGES_FOREVER, "1").spawn().unwrap();
        until("a setting that is changed", || value() != "1");
        pause(Span::from_micros(random.u64(0..20_000)));
        in_force += usize::from(value() != "1");
        let kill_guardian = number % 5 == 0;
        if kill_guardian {
            children(child.id()).into_iter().for_each(kill);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        until("the value from before", || kill_guardian || value() == "1");
        // The journal is locked until the restore is done.
        let mut found = Vec::new();
        until("a journal that is free", || restore().map(|caveats| found = caveats).is_ok());
        left += found.len();
        assert_eq!(value(), "1", "kill {number}");
    }
    println!("{kills} kills: {in_force} while it was borrowed, {left} left behind for the next start");
    assert!(in_force > 0 && left <= kills.div_ceil(5));
}

/// Waits until `condition` holds.
fn until(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..60_000 {
        if condition() {
            return;
        }
        pause(Span::from_millis(1));
    }
    panic!("there never was {what}");
}

fn pause(length: Span) {
    drop(howlate_linux::clock::sleep_for(length));
}
