//! Programs of very many threads: what they cost whoever watches them is bounded.

use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use super::compiled;
use crate::alone;
use crate::common::{howlate, pause, send};

/// Conditions of a watched program at most: 128 threads told apart and 32 names of others, each woken in three ways.
const CONDITIONS: usize = (128 + 32) * 3;
/// Far above what it takes (128 MiB beside 10 000 threads), and far below what each thread for itself would.
const RSS_KB: u64 = 320 * 1_024;

/// Two thousand threads stay; four thousand others, each of a name of its own, begin and end. With any word behind, all goes on
/// until it is killed, and it says when the first have begun.
const CROWD: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
static void naps(long ms) {
    struct timespec a_while = { ms / 1000, ms % 1000 * 1000000 };
    nanosleep(&a_while, NULL);
}
static void *stays(void *nothing) {
    prctl(PR_SET_NAME, "stays");
    for (;;) naps(300);
    return nothing;
}
static void *goes(void *number) {
    char name[16];
    snprintf(name, sizeof name, "goes-%ld", (long)number);
    prctl(PR_SET_NAME, name);
    naps(5);
    return NULL;
}
static void begins(void *(*what)(void *), long number) {
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    pthread_create(&thread, &small, what, (void *)number);
}
int main(int count, char **words) {
    if (count > 1) prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (long number = 0; number < 2000; number++) begins(stays, number);
    for (long number = 0; number < 4000 || count > 1; number++) {
        begins(goes, number);
        if (number % 4 == 0) naps(2);
        if (number == 400) { puts("begun"); fflush(stdout); }
    }
    naps(500);
    return 0;
}
"#;

fn results(document: &Value) -> &Vec<Value> {
    document["results"].as_array().unwrap()
}

/// Threads of all conditions of this name that a timer woke.
fn threads_of(document: &Value, name: &str) -> u64 {
    let are = |one: &&Value| one["condition"]["name"] == name && one["condition"]["mechanism"] == "timer";
    results(document).iter().filter(are).map(|one| one["rhythm"]["threads"].as_u64().unwrap()).sum()
}

/// The most memory that a process had so far, in kB; `None` when it has ended.
fn most_memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Watches it to its end; the result, and the most memory that was seen.
fn watched(program: &Path, out: &Path) -> (Value, u64) {
    let mut command = howlate(&["watch", "--json", "--quiet", "--out"]);
    command.arg(out).arg("--").arg(program);
    let result = out.with_extension("json");
    let child = command.stdout(std::fs::File::create(&result).unwrap()).spawn();
    let (mut child, mut most) = (child.unwrap(), 0);
    while child.try_wait().unwrap().is_none() {
        most = most.max(most_memory(child.id()).unwrap_or(0));
        pause(20);
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    (serde_json::from_slice(&std::fs::read(result).unwrap()).unwrap(), most)
}

#[test]
fn a_thread_per_request_costs_no_more_than_its_kind() {
    if !crate::common::has_bpf() {
        return;
    }
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), CROWD) else { return };
    let out = folder.path().join("w.jsonl");
    let (document, most) = watched(&program, &out);
    assert!(results(&document).len() <= CONDITIONS, "{}", results(&document).len());
    assert!(most <= RSS_KB, "{most} kB");
    assert!(std::fs::metadata(&out).unwrap().len() < 16 << 20);
    // Some may have been lost on a busy machine.
    let (requests, others) =
        (threads_of(&document, "goes-# (others)"), threads_of(&document, "stays (others)"));
    assert!((1_000..=4_000).contains(&requests), "{requests}");
    assert!((1_000..=2_000).contains(&others), "{others}");
    let caveats = document["caveats"].as_array().unwrap();
    let joined = caveats.iter().find(|one| one["caveat"] == "threads_joined");
    let joined = joined.unwrap_or_else(|| panic!("{caveats:?}"))["count"].as_u64().unwrap();
    assert!(joined >= requests + others, "{joined}");
}

#[test]
fn metrics_of_a_crowd_are_bounded_and_say_how_many_threads_they_are_of() {
    if !crate::common::has_bpf() {
        return;
    }
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), CROWD) else { return };
    let mut crowd = std::process::Command::new(program).arg("on").stdout(Stdio::piped()).spawn().unwrap();
    crate::common::line_of(&mut crowd);
    let pid = crowd.id().to_string();
    let mut command = howlate(&["serve", "--listen", "127.0.0.1:0", "--watch", &pid]);
    let mut server = command.stdout(Stdio::piped()).spawn().unwrap();
    let address = crate::common::line_of(&mut server);
    let address = address.trim().strip_prefix("page     http://").unwrap().trim_end_matches('/').to_owned();
    crate::common::wait_until("wake-ups of the others", || {
        crate::common::get(&address, "/metrics").contains("name=\"stays (others)\"")
    });
    let metrics = crate::common::get(&address, "/metrics");
    let series = metrics.lines().filter(|line| !line.starts_with('#')).count();
    assert!(series <= CONDITIONS * 33, "{series}");
    assert!(most_memory(server.id()).unwrap() <= RSS_KB);
    crate::common::wait_until("a page with the others", || {
        crate::common::get(&address, "/").contains("(others)")
    });
    send(server.id(), Signal::TERM);
    assert_eq!(server.wait().unwrap().code(), Some(0));
    crowd.kill().unwrap();
    crowd.wait().unwrap();
}
