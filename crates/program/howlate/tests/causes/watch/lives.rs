//! Threads and processes that come and go while they are watched.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::compiled;
use crate::common::{json, run, skip, stderr};

/// Fifty threads and fifty processes, each of a name of its own, that sleep five times and end, ten at once; or, if anything
/// is asked for, eight processes that sleep until it ends.
const SHORT_LIVED: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void is_called(const char *kind, long number) {
    char name[16];
    snprintf(name, sizeof name, "%s-%ld", kind, number);
    prctl(PR_SET_NAME, name);
}
static void sleeps(int times) {
    while (times-- != 0) {
        struct timespec a_while = { 0, 2000000 };
        nanosleep(&a_while, NULL);
    }
}
static void *thread(void *number) {
    is_called("thread", (long)number);
    sleeps(5);
    return NULL;
}
static void child(long number, int times) {
    if (fork() != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    is_called("child", number);
    sleeps(times);
    _exit(0);
}
int main(int count, char **words) {
    pthread_t threads[10];
    if (count > 1) {
        for (long number = 0; number < 8; number++) child(number, -1);
        puts("begun");
        fflush(stdout);
        pause();
    }
    for (long number = 0; number < 50; number += 10) {
        for (long one = 0; one < 10; one++) pthread_create(&threads[one], NULL, thread, (void *)(number + one));
        for (long one = 0; one < 10; one++) pthread_join(threads[one], NULL);
    }
    for (long number = 0; number < 50; number += 10) {
        for (long one = 0; one < 10; one++) child(number + one, 5);
        while (wait(NULL) > 0) {}
    }
    return 0;
}
"#;

/// The wake-ups by their own timers of each thread of such a name.
fn woken(document: &Value, kind: &str) -> Vec<u64> {
    let results = document["results"].as_array().unwrap().iter();
    let of_kind = results.filter(|one| {
        one["condition"]["mechanism"] == "timer"
            && one["condition"]["name"].as_str().unwrap().starts_with(kind)
    });
    of_kind.map(|one| one["count"].as_u64().unwrap()).collect()
}

#[test]
fn short_lived_threads_and_children_are_seen_from_their_first_sleep_by_name() {
    if !crate::common::has_bpf() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), SHORT_LIVED) else { return };
    let program = program.to_str().unwrap();
    // Switches to and from some processes raise no event in some virtual machines, on one CPU for some milliseconds.
    let are_seen = |document: &Value, kind| {
        let woken = woken(document, kind);
        woken.len() >= 45 && woken.iter().sum::<u64>() >= 200
    };
    let followed = json(&["watch", "--json", "--quiet", "--follow", "--", program], 0);
    assert!(!followed.to_string().contains("(ended)"), "{followed}");
    assert!(are_seen(&followed, "thread-") && are_seen(&followed, "child-"), "{followed}");
    let alone = json(&["watch", "--json", "--quiet", "--", program], 0);
    assert!(are_seen(&alone, "thread-"), "{alone}");
    assert!(woken(&alone, "child-").is_empty(), "nobody asked for them: {alone}");
}

#[test]
fn a_tracer_that_does_not_see_threads_come_says_so() {
    let asked = ["watch", "--json", "--quiet", "--follow", "--duration", "1s", "--tracer", "tracefs"];
    let output = run(&[&asked[..], &["--", "sh", "-c", "sleep 2; true"]].concat());
    if output.status.code() == Some(2) {
        return skip(&stderr(&output));
    }
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let caveats = document["caveats"].as_array().unwrap();
    let found_late = caveats.iter().find(|one| one["caveat"] == "threads_found_late");
    assert_eq!(found_late.unwrap_or_else(|| panic!("{document}"))["count"], 1);
}

#[test]
fn children_that_were_there_before_are_all_followed() {
    if !crate::common::has_bpf() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), SHORT_LIVED) else { return };
    let mut parent = Command::new(program).arg("children").stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(parent.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let pid = parent.id().to_string();
    let document = json(&["watch", "--json", "--quiet", "--follow", "--duration", "500ms", &pid], 0);
    parent.kill().unwrap();
    parent.wait().unwrap();
    assert_eq!(woken(&document, "child-").len(), 8, "{document}");
}

/// Is called as it was started, and sleeps again and again.
const CALLED: &str = r#"
#include <sys/prctl.h>
#include <time.h>
int main(int count, char **words) {
    struct timespec a_while = { 0, 2000000 };
    prctl(PR_SET_NAME, words[0]);
    for (;;) nanosleep(&a_while, NULL);
}
"#;

#[test]
fn another_process_that_gets_its_id_is_not_watched() {
    if !crate::common::is_root() || !crate::common::is_installed("python3") {
        return skip("choosing the id of a process needs root and python3");
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), CALLED) else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/causes/watch/same_id.py");
    let mut python = Command::new("python3");
    let mut python =
        python.arg(script).arg(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut tell, mut said) = (python.stdin.take().unwrap(), BufReader::new(python.stdout.take().unwrap()));
    let mut pid = String::new();
    said.read_line(&mut pid).unwrap();
    let pid = pid.trim().to_owned();
    let out = folder.path().join("a.jsonl");
    let words = ["watch", "--quiet", "--out", out.to_str().unwrap(), &pid];
    let mut watch = crate::common::howlate(&words).stdout(Stdio::null()).spawn().unwrap();
    let holds = || std::fs::read_to_string(&out).is_ok_and(|content| content.contains("\"victim\""));
    crate::common::wait_until("a thread of the first", holds);
    std::io::Write::write_all(&mut tell, b"\n").unwrap();
    let mut again = String::new();
    said.read_line(&mut again).unwrap();
    let mut status = None;
    if again.trim() == pid {
        crate::common::wait_until("an end of watching", || {
            status = watch.try_wait().unwrap();
            status.is_some()
        });
    }
    for mut child in [python, watch] {
        drop(child.kill());
        child.wait().unwrap();
    }
    let Some(status) = status else { return skip(&format!("no process can be given the id {pid}: {again}")) };
    assert_eq!(status.code(), Some(0));
    let recorded = std::fs::read_to_string(&out).unwrap();
    assert!(!recorded.contains("\"another\""), "{recorded}");
}
