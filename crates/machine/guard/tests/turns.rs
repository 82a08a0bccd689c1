//! Settings for one turn, with a real guardian: this very program, started again.
//!
//! Without the usual harness, because the guardian must be able to start before any test does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::print_stdout, reason = "read by whoever runs the tests")]

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, ExitCode, Stdio};

use howlate_guard::{GUARDIAN, Guard, Subject, Wanted, restore, setting_of_thread};
use howlate_model::{Caveat, SettingWrite, Span};

const SETTING: &str = "/proc/sys/vm/stat_interval";
/// Set where settings are borrowed and given back until somebody ends it.
const BORROWS: &str = "HOWLATE_TEST_BORROWS";
/// How many kills there are to be.
const KILLS: &str = "HOWLATE_STORM_KILLS";
/// Set when the settings below are nobody else's.
const INSIDE: &str = "HOWLATE_TEST_OWN_SETTINGS";

fn main() -> ExitCode {
    if let Some(served) = GUARDIAN.serve_if_asked() {
        return if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if std::env::var_os(INSIDE).is_none() {
        return in_own_settings();
    }
    if std::env::var_os(BORROWS).is_some() {
        borrow_for_ever();
    }
    a_turn_changes_what_the_run_has_set_and_gives_it_back();
    what_is_dropped_is_put_back_and_told_at_the_end();
    what_the_kernel_does_not_take_is_left_out_and_not_complained_of();
    what_is_lent_goes_back_unless_somebody_else_has_changed_it();
    what_is_watched_over_goes_back_whatever_has_changed_it();
    what_was_so_already_is_left_and_named_where_somebody_else_changes_it();
    what_a_program_was_given_from_outside_is_taken_back_from_its_heirs_too();
    whenever_it_is_killed_what_it_borrowed_goes_back();
    println!("test result: ok. 8 passed; 0 failed;");
    ExitCode::SUCCESS
}

/// Starts this program again where the setting and `/run` are its own.
fn in_own_settings() -> ExitCode {
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
    command.arg(folder.path()).arg(std::env::current_exe().unwrap()).env(INSIDE, "1");
    if command.status().unwrap().success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn value() -> String {
    std::fs::read_to_string(SETTING).unwrap().trim().to_owned()
}

fn wanted(value: &str) -> [Wanted; 1] {
    [Wanted::parse("vm.stat_interval", value).unwrap()]
}

// run   |---- 5 ----------------------------|
// turn        |-- 7 --|        |-- 5 --|
fn a_turn_changes_what_the_run_has_set_and_gives_it_back() {
    let guard = Guard::default();
    let run = guard.apply(&wanted("5"));
    assert_eq!((value().as_str(), &run.caveats), ("5", &vec![]));
    let turn = guard.apply(&wanted("7"));
    assert_eq!((value().as_str(), turn.settings[0].before.as_str()), ("7", "5"));
    assert_eq!(turn.undo(), []);
    assert_eq!(value(), "5");
    // A value that is there already is guarded too: somebody may change it meanwhile.
    let turn = guard.apply(&wanted("5"));
    std::fs::write(SETTING, "9").unwrap();
    assert!(matches!(&turn.undo()[..], [Caveat::SettingChanged { found, .. }] if found == "9"));
    assert_eq!(value(), "5");
    assert_eq!(run.undo(), []);
    assert_eq!(value(), "1");
    assert_eq!(guard.end(), []);
}

fn what_is_dropped_is_put_back_and_told_at_the_end() {
    let guard = Guard::default();
    let turn = guard.apply(&wanted("7"));
    std::fs::write(SETTING, "9").unwrap();
    drop(turn);
    assert_eq!(value(), "1");
    assert!(matches!(&guard.end()[..], [Caveat::SettingChanged { .. }]));
}

fn what_the_kernel_does_not_take_is_left_out_and_not_complained_of() {
    let guard = Guard::default();
    let refused = [Wanted::parse("kernel.sched_rt_period_us", "no number").unwrap()];
    let before = std::fs::read_to_string("/proc/sys/kernel/sched_rt_period_us").unwrap();
    let turn = guard.apply(&refused);
    assert!(matches!(&turn.caveats[..], [Caveat::SettingLeftOut { .. }]), "{:?}", turn.caveats);
    assert_eq!(turn.undo(), []);
    assert_eq!(guard.end(), []);
    assert_eq!(std::fs::read_to_string("/proc/sys/kernel/sched_rt_period_us").unwrap(), before);
}

fn lent(now: &str, value: &str) -> [SettingWrite; 1] {
    [SettingWrite { path: SETTING.to_owned(), now: now.to_owned(), value: value.to_owned(), watched: false }]
}

fn watched(now: &str) -> [SettingWrite; 1] {
    lent(now, now).map(|one| SettingWrite { watched: true, ..one })
}

// lent        |-- 7 --|  then 9 by somebody else, meanwhile or before
fn what_is_lent_goes_back_unless_somebody_else_has_changed_it() {
    let guard = Guard::default();
    guard.begin().unwrap();
    let turn = guard.lend(&lent("1", "7"));
    assert_eq!((value().as_str(), turn.is_nothing()), ("7", false));
    assert_eq!((turn.undo(), value().as_str()), (vec![], "1"));
    let turn = guard.lend(&lent("1", "7"));
    std::fs::write(SETTING, "9").unwrap();
    assert!(
        matches!(&turn.undo()[..], [Caveat::SettingChanged { set, found, .. }] if set == "7" && found == "9")
    );
    assert_eq!(value(), "9");
    let turn = guard.lend(&lent("1", "7"));
    assert!(turn.is_nothing() && value() == "9", "it is no longer what it was when it was looked at");
    assert!(
        matches!(&turn.caveats[..], [Caveat::SettingLeftOut { reason, .. }] if reason.to_string().contains("`9` and no longer `1`"))
    );
    drop(turn);
    // A guardian that is killed while it is lent leaves that to us.
    std::fs::write(SETTING, "1").unwrap();
    let turn = guard.lend(&lent("1", "7"));
    kill_the_guardian();
    assert_eq!(turn.undo(), [Caveat::GuardianGone]);
    assert_eq!((value().as_str(), guard.end()), ("1", vec![]));
}

// watched     |-- 1, and 9 by what else is set --|
fn what_is_watched_over_goes_back_whatever_has_changed_it() {
    let guard = Guard::default();
    let turn = guard.lend(&watched("1"));
    assert!(turn.is_nothing() && value() == "1", "nothing was set");
    std::fs::write(SETTING, "9").unwrap();
    assert_eq!((turn.undo(), value().as_str()), (vec![], "1"));
    assert_eq!(guard.end(), []);
}

// lent        |-- 1, as it was; 9 by somebody else --|
fn what_was_so_already_is_left_and_named_where_somebody_else_changes_it() {
    let guard = Guard::default();
    let turn = guard.lend(&lent("1", "1"));
    assert!(turn.is_nothing(), "nothing was set");
    assert_eq!((turn.undo(), value().as_str()), (vec![], "1"));
    let turn = guard.lend(&lent("1", "1"));
    std::fs::write(SETTING, "9").unwrap();
    let told = turn.undo();
    assert!(
        matches!(&told[..], [Caveat::SettingChanged { set, found, .. }] if set == "1" && found == "9"),
        "{told:?}"
    );
    assert_eq!((value().as_str(), guard.end()), ("9", vec![]));
    std::fs::write(SETTING, "1").unwrap();
}

/// The timer slack of a process, which starts with that of whoever started it.
fn slack(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/timerslack_ns")).unwrap().trim().to_owned()
}

fn slack_of(pid: u32, value: &str) -> [SettingWrite; 1] {
    let path = setting_of_thread(Subject::TimerSlack, pid, pid).unwrap();
    [SettingWrite { path, now: slack(pid), value: value.to_owned(), watched: false }]
}

// shell  |-- 7 from outside --|        back
// child        |-- 7 inherited --------| back as well
fn what_a_program_was_given_from_outside_is_taken_back_from_its_heirs_too() {
    let script = "echo; read word; sleep 1000 & echo $!; read word; kill $!";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    let (mut tell, says) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
    let mut lines = BufReader::new(says).lines().map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some(""), "it runs");
    let (guard, before) = (Guard::default(), slack(shell.id()));
    let given = guard.lend(&slack_of(shell.id(), "7"));
    assert_eq!((given.caveats.as_slice(), slack(shell.id()).as_str()), (&[][..], "7"));
    writeln!(tell).unwrap();
    let child: u32 = lines.next().unwrap().parse().unwrap();
    assert_eq!(slack(child), "7", "it inherits");
    assert_eq!(given.undo(), []);
    assert_eq!([slack(shell.id()), slack(child)], [before.clone(), before.clone()]);
    // Whoever sets his own slack keeps it, and one who has ended needs nothing.
    let given = guard.lend(&slack_of(shell.id(), "7"));
    std::fs::write(format!("/proc/{}/timerslack_ns", shell.id()), "9").unwrap();
    assert!(
        matches!(&given.undo()[..], [Caveat::SettingChanged { set, found, .. }] if set == "7" && found == "9")
    );
    let given = guard.lend(&slack_of(child, "7"));
    drop(tell);
    shell.wait().unwrap();
    until("an end of the child", || !std::path::Path::new(&format!("/proc/{child}")).exists());
    assert_eq!((given.undo(), guard.end()), (vec![], vec![]));
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
    // Who is gone already was in no need of it.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

/// What `tune` does, without measuring anything between.
fn borrow_for_ever() {
    let guard = Guard::default();
    loop {
        for value in ["5", "7"] {
            drop(guard.lend(&lent("1", value)).undo());
        }
    }
}

/// 50 kills at any moment, or as many as `cargo xtask storm` asks for, of the one that borrows; of every fifth its guardian first, so that both leave it to the next start.
fn whenever_it_is_killed_what_it_borrowed_goes_back() {
    let mut random = fastrand::Rng::new();
    let (mut in_force, mut left) = (0, 0);
    let kills: usize = std::env::var(KILLS).ok().and_then(|text| text.parse().ok()).unwrap_or(50);
    for number in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap()).env(BORROWS, "1").spawn().unwrap();
        until("a setting that is borrowed", || value() != "1");
        pause(Span::from_micros(random.u64(0..20_000)));
        in_force += usize::from(value() != "1");
        let is_last = number % 5 == 0;
        if is_last {
            children(child.id()).into_iter().for_each(kill);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        until("the value from before", || is_last || value() == "1");
        // Whoever still has the journal is not done yet.
        let mut found = Vec::new();
        until("a journal that is free", || restore().map(|told| found = told).is_ok());
        left += found.len();
        assert_eq!(value(), "1", "kill {number}");
    }
    println!("{kills} kills: {in_force} while it was borrowed, {left} left behind for the next start");
    assert!(in_force > 0 && left <= kills.div_ceil(5));
}

/// Waits until something has happened.
fn until(what: &str, mut happened: impl FnMut() -> bool) {
    for _ in 0..60_000 {
        if happened() {
            return;
        }
        pause(Span::from_millis(1));
    }
    panic!("there never was {what}");
}

fn pause(length: Span) {
    drop(howlate_linux::clock::pause(length));
}
