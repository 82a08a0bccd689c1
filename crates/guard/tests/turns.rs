//! Settings for one turn, with a real guardian: this very program, started again.
//!
//! Without the usual harness, because the guardian must be able to start before any test does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::print_stdout, reason = "read by whoever runs the tests")]

use std::process::{Command, ExitCode};

use howlate_guard::{GUARDIAN, Guard, Wanted};
use howlate_model::Caveat;

const SETTING: &str = "/proc/sys/vm/stat_interval";
/// Set when the settings below are nobody else's.
const INSIDE: &str = "HOWLATE_TEST_OWN_SETTINGS";

fn main() -> ExitCode {
    if let Some(served) = GUARDIAN.serve_if_asked() {
        return if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if std::env::var_os(INSIDE).is_none() {
        return in_own_settings();
    }
    a_turn_changes_what_the_run_has_set_and_gives_it_back();
    what_is_dropped_is_put_back_and_told_at_the_end();
    what_the_kernel_does_not_take_is_left_out_and_not_complained_of();
    println!("test result: ok. 3 passed; 0 failed;");
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
