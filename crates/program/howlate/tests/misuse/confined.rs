//! System calls denied by a seccomp profile, and an empty root folder: everything possible is measured, missing parts are reported,
//! and nothing hangs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::{
    build_c, copy_libraries, copy_program, has_caveat, is_root, pause, skip, stderr, stdout,
};
use serde_json::Value;
use tempfile::TempDir;

/// Runs a command with a seccomp filter: NUMBER NAME,NAME COMMAND… makes the named calls fail with errno NUMBER.
const DENY: &str = r#"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define CALL(name) { #name, SYS_##name }
static const struct { const char *name; int number; } calls[] = {
    CALL(bpf), CALL(perf_event_open), CALL(sched_setattr), CALL(sched_setscheduler), CALL(sched_setaffinity),
    CALL(sched_getattr), CALL(sched_getaffinity), CALL(mlockall), CALL(clone3), CALL(memfd_create), CALL(prctl),
    CALL(timerfd_create), CALL(io_uring_setup), CALL(clock_nanosleep), CALL(getrusage), CALL(statx), CALL(getrandom),
    CALL(mount), CALL(fsmount), CALL(pidfd_open), CALL(ptrace), CALL(flock), CALL(fdatasync), CALL(socketpair),
};
int main(int argc, char **argv) {
    struct sock_filter rules[64] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
    unsigned short length = 1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 77;
    for (char *name = strtok(argv[2], ","); name; name = strtok(NULL, ",")) {
        for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
            if (strcmp(calls[i].name, name)) continue;
            rules[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1);
            rules[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | atoi(argv[1]));
        }
    }
    if (length == 1) return 76;
    rules[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = { length, rules };
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) return 77;
    execv(argv[3], argv + 3);
    return 78;
}
"#;

/// `EPERM`, the answer of profiles, and `ENOSYS`, the answer of old kernels and profiles.
const ERRORS: [&str; 2] = ["1", "38"];

const MEASURES: &str = "cyclic --threads 1 --samples 30 --json --quiet --no-save";

/// Denied calls, command line, and the caveat about it; `-`: the call is optional.
const DENIED: [(&str, &str, &str); 12] = [
    (
        "sched_setattr,sched_setscheduler",
        "cyclic --policy fifo:80 --threads 1 --samples 30 --json -q --no-save",
        "policy_refused",
    ),
    ("sched_setaffinity", "cyclic --cpus 0 --samples 30 --json --quiet --no-save", "affinity_differs"),
    ("mlockall", MEASURES, "memory_not_locked"),
    ("prctl", "cyclic --slack 7us --threads 1 --samples 30 --json --quiet --no-save", "-"),
    ("clone3", MEASURES, "-"),
    ("statx,getrandom,pidfd_open", MEASURES, "-"),
    ("getrusage", MEASURES, "-"),
    ("clock_nanosleep", MEASURES, "-"),
    (
        "timerfd_create",
        "sleep --for 1ms --call timerfd,clock_nanosleep --samples 20 --json --quiet --no-save",
        "-",
    ),
    (
        "io_uring_setup",
        "sleep --for 1ms --call io_uring,clock_nanosleep --samples 20 --json --quiet --no-save",
        "-",
    ),
    (
        "bpf,perf_event_open,mount,fsmount",
        "cyclic --why --threads 1 --samples 30 --json --quiet --no-save",
        "-",
    ),
    (
        "memfd_create,socketpair",
        "notify --mechanism pipe,futex --samples 20 --rounds 1 --json --quiet --no-save",
        "-",
    ),
];

/// Commands that end by themselves, with a denied call each, and the message about it; empty: the call is optional.
const BRIEF: [(&str, &str, &str); 7] = [
    ("clone3", "cyclic --threads 1 --samples 30 --quiet --no-save", "clone3(2)"),
    ("sched_getaffinity", "cyclic --threads 1 --samples 30 --quiet --no-save", "sched_getaffinity(2)"),
    ("sched_getattr", "cyclic --threads 1 --samples 30 --quiet --no-save", "sched_getattr(2)"),
    ("bpf,perf_event_open", "record --duration 300ms --out kept", "not permitted"),
    ("bpf,perf_event_open,ptrace", "watch --duration 300ms --quiet -- sleep 1", ""),
    ("bpf,perf_event_open,mount,fsmount", "gaps --cpus 0 --duration 300ms", ""),
    ("flock,fdatasync", "cyclic --threads 1 --samples 30 --quiet --out a.jsonl", ""),
];

/// Runs a command, which must end within the limit.
#[track_caller]
fn run_to_end(mut command: Command, what: &str) -> Output {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // In units of 10 ms. The output fits into the pipe.
    for _ in 0..6_000 {
        if child.try_wait().unwrap().is_some() {
            let output = child.wait_with_output().unwrap();
            let message = stderr(&output) + &stdout(&output);
            assert!(!message.contains("panicked"), "{what}: {message}");
            return output;
        }
        pause(10);
    }
    child.kill().unwrap();
    panic!("{what} does not end: {}", stderr(&child.wait_with_output().unwrap()));
}

/// The output is a result or an error message.
#[track_caller]
fn assert_explained(output: &Output, what: &str) {
    let message = stderr(output);
    match output.status.code() {
        Some(0 | 3) => {}
        Some(2) => assert!(message.contains("error: "), "{what}: {message}"),
        other => panic!("{what}: {other:?} {message}"),
    }
}

/// Builds the filter program; `None` without a compiler.
fn deny(folder: &Path) -> Option<PathBuf> {
    let (source, program) = (folder.join("deny.c"), folder.join("deny"));
    std::fs::write(&source, DENY).unwrap();
    build_c(&source, &program, &["-O1"]).map(|()| program)
}

fn run_with_denied_calls(program: &Path, folder: &Path, error: &str, calls: &str, arguments: &str) -> Output {
    let mut command = Command::new(program);
    command.args([error, calls, env!("CARGO_BIN_EXE_howlate")]).args(arguments.split(' '));
    command.current_dir(folder).env("XDG_DATA_HOME", folder);
    run_to_end(command, &format!("{error} for {calls}: `{arguments}`"))
}

#[test]
fn what_a_seccomp_profile_denies_is_named_and_the_rest_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = deny(folder.path()) else { return };
    for (calls, arguments, caveat) in DENIED {
        for error in ERRORS {
            let output = run_with_denied_calls(&program, folder.path(), error, calls, arguments);
            let what = format!("{error} for {calls}: `{arguments}`");
            if output.status.code() == Some(77) {
                return skip("seccomp filters cannot be set here");
            }
            assert_explained(&output, &what);
            if output.status.code() == Some(2) {
                continue;
            }
            let result: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(caveat == "-" || has_caveat(&result, caveat), "{what}: {}", result["caveats"]);
        }
    }
}

#[test]
fn what_a_seccomp_profile_makes_impossible_ends_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = deny(folder.path()) else { return };
    for (number, (calls, arguments, says)) in BRIEF.into_iter().enumerate() {
        for error in ERRORS {
            let of_its_own = folder.path().join(format!("{number}-{error}"));
            std::fs::create_dir(&of_its_own).unwrap();
            let output = run_with_denied_calls(&program, &of_its_own, error, calls, arguments);
            if output.status.code() == Some(77) {
                return skip("seccomp filters cannot be set here");
            }
            assert_explained(&output, &format!("{error} for {calls}: `{arguments}`"));
            let is_forbidden = error == ERRORS[0] && output.status.code() == Some(2);
            assert!(!is_forbidden || stderr(&output).contains(says), "{calls}: {}", stderr(&output));
        }
    }
}

/// A folder with only the program and its libraries.
fn bare_root() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy_program(&folder.path().join("howlate"));
    copy_libraries(folder.path());
    folder
}

#[test]
fn in_an_empty_root_folder_it_measures_and_says_what_is_missing() {
    if !is_root() {
        return skip("chroot takes root");
    }
    let root = bare_root();
    let within = |arguments: &str| {
        let mut command = Command::new("chroot");
        command.arg(root.path()).arg("/howlate").args(arguments.split(' '));
        run_to_end(command, &format!("`{arguments}` in an empty root folder"))
    };
    let rows = [
        "cyclic --threads 1 --samples 30 --json --quiet",
        "sleep --for 1ms --samples 20 --json --quiet",
        "notify --mechanism futex,pipe --samples 20 --rounds 1 --json --quiet",
    ];
    for arguments in rows {
        let output = within(arguments);
        // Memory may not be lockable; the allowed CPUs are known without /proc.
        assert!(matches!(output.status.code(), Some(0 | 3)), "{arguments}: {}", stderr(&output));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        // Helper processes are started from /proc/self/exe: without that there is a caveat.
        let is_measured = result["results"][0]["count"].as_u64() > Some(0);
        assert!(is_measured || has_caveat(&result, "unfinished"), "{arguments}: {result}");
    }
    for arguments in [
        "doctor",
        "watch 1",
        "top --once --duration 100ms",
        "record --duration 100ms --out /kept",
        "gaps --duration 100ms",
        "why",
        "show",
        "cyclic --threads 1 --samples 30 --load cpu --quiet",
        "report",
    ] {
        assert_explained(&within(arguments), arguments);
    }
}
