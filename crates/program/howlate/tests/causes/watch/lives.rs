//! Threads and processes that start and end while they are watched.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::compile;
use crate::common::{json, run, skip, stderr};

/// Fifty threads and fifty processes with different names, ten at a time, sleep five times each and end. With an argument, eight
/// processes sleep until the program ends.
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
int main(int argc, char **argv) {
    pthread_t threads[10];
    if (argc > 1) {
        for (long number = 0; number < 8; number++) child(number, -1);
        puts("begun");
        fflush(stdout);
        pause();
    }
    for (long number = 0; number < 50; number += 10) {
        for (long i = 0; i < 10; i++) pthread_create(&threads[i], NULL, thread, (void *)(number + i));
        for (long i = 0; i < 10; i++) pthread_join(threads[i], NULL);
    }
    for (long number = 0; number < 50; number += 10) {
        for (long i = 0; i < 10; i++) child(number + i, 5);
        while (wait(NULL) > 0) {}
    }
    return 0;
}
"#;

/// Wake-ups by timer, for each thread of such a name.
fn wakeup_counts(document: &Value, kind: &str) -> Vec<u64> {
    let results = document["results"].as_array().unwrap().iter();
    let of_kind = results.filter(|result| {
        result["condition"]["mechanism"] == "timer"
            && result["condition"]["name"].as_str().unwrap().starts_with(kind)
    });
    of_kind.map(|result| result["count"].as_u64().unwrap()).collect()
}

#[test]
fn short_lived_threads_and_children_are_seen_from_their_first_sleep_by_name() {
    if !crate::common::has_bpf() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compile(folder.path(), SHORT_LIVED) else { return };
    let program = program.to_str().unwrap();
    // Some virtual machines raise no events for switches on one CPU for milliseconds.
    let are_seen = |document: &Value, kind| {
        let woken = wakeup_counts(document, kind);
        woken.len() >= 45 && woken.iter().sum::<u64>() >= 200
    };
    let followed = json(&["watch", "--json", "--quiet", "--follow", "--", program], 0);
    assert!(!followed.to_string().contains("(ended)"), "{followed}");
    assert!(are_seen(&followed, "thread-") && are_seen(&followed, "child-"), "{followed}");
    let alone = json(&["watch", "--json", "--quiet", "--", program], 0);
    assert!(are_seen(&alone, "thread-"), "{alone}");
    assert!(wakeup_counts(&alone, "child-").is_empty(), "nobody asked for them: {alone}");
}

#[test]
fn a_tracer_that_does_not_see_threads_come_says_so() {
    let options = ["watch", "--json", "--quiet", "--follow", "--duration", "1s", "--tracer", "tracefs"];
    let output = run(&[&options[..], &["--", "sh", "-c", "sleep 2; true"]].concat());
    if output.status.code() == Some(2) {
        return skip(&stderr(&output));
    }
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let caveats = document["caveats"].as_array().unwrap();
    let found_late = caveats.iter().find(|caveat| caveat["caveat"] == "threads_found_late");
    assert_eq!(found_late.unwrap_or_else(|| panic!("{document}"))["count"], 1);
}

#[test]
fn children_that_were_there_before_are_all_followed() {
    if !crate::common::has_bpf() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compile(folder.path(), SHORT_LIVED) else { return };
    let mut parent = Command::new(program).arg("children").stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(parent.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let pid = parent.id().to_string();
    let document = json(&["watch", "--json", "--quiet", "--follow", "--duration", "500ms", &pid], 0);
    parent.kill().unwrap();
    parent.wait().unwrap();
    assert_eq!(wakeup_counts(&document, "child-").len(), 8, "{document}");
}

/// Its name is that of its file; it sleeps repeatedly.
const CALLED: &str = r#"
#include <sys/prctl.h>
#include <time.h>
int main(int argc, char **argv) {
    struct timespec a_while = { 0, 2000000 };
    prctl(PR_SET_NAME, argv[0]);
    for (;;) nanosleep(&a_while, NULL);
}
"#;

#[test]
fn another_process_that_gets_its_id_is_not_watched() {
    if !crate::common::is_root() || !crate::common::is_installed("python3") {
        return skip("choosing the id of a process needs root and python3");
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compile(folder.path(), CALLED) else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/causes/watch/same_id.py");
    let mut python = Command::new("python3");
    let mut python =
        python.arg(script).arg(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut tell, mut message) =
        (python.stdin.take().unwrap(), BufReader::new(python.stdout.take().unwrap()));
    let mut pid = String::new();
    message.read_line(&mut pid).unwrap();
    let pid = pid.trim().to_owned();
    let out = folder.path().join("a.jsonl");
    let arguments = ["watch", "--quiet", "--out", out.to_str().unwrap(), &pid];
    let mut watch = crate::common::howlate(&arguments).stdout(Stdio::null()).spawn().unwrap();
    let holds = || std::fs::read_to_string(&out).is_ok_and(|content| content.contains("\"victim\""));
    crate::common::wait_until("a thread of the first", holds);
    std::io::Write::write_all(&mut tell, b"\n").unwrap();
    let mut again = String::new();
    message.read_line(&mut again).unwrap();
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
