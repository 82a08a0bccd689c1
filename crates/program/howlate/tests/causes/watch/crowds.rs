//! Programs with very many threads: the cost of watching them is bounded.

use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use super::compile;
use crate::alone;
use crate::common::{howlate, pause, send};

/// Most conditions of a watched program: 128 threads and 32 thread names, each with three kinds of wake-up.
const CONDITIONS: usize = (128 + 32) * 3;
/// Far above the actual 128 MiB with 10 000 threads, and far below the memory without a bound.
const RSS_KB: u64 = 320 * 1_024;

/// 2000 threads stay; 4000 more with different names start and end. With an argument it runs until it is killed, a quarter as busy, and
/// reports when the first threads have started.
const CROWD: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
static long rest = 300;
static void naps(long ms) {
    struct timespec a_while = { ms / 1000, ms % 1000 * 1000000 };
    nanosleep(&a_while, NULL);
}
static void *stays(void *nothing) {
    prctl(PR_SET_NAME, "stays");
    for (;;) naps(rest);
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
int main(int argc, char **argv) {
    if (argc > 1) prctl(PR_SET_PDEATHSIG, SIGKILL), rest = 1200;
    for (long number = 0; number < 2000; number++) begins(stays, number);
    for (long number = 0; number < 4000 || argc > 1; number++) {
        begins(goes, number);
        if (number % 4 == 0 || argc > 1) naps(2);
        if (number == 400) { puts("begun"); fflush(stdout); }
    }
    naps(500);
    return 0;
}
"#;

fn results(document: &Value) -> &Vec<Value> {
    document["results"].as_array().unwrap()
}

/// Number of threads with this name that a timer woke.
fn threads_of(document: &Value, name: &str) -> u64 {
    let are =
        |value: &&Value| value["condition"]["name"] == name && value["condition"]["mechanism"] == "timer";
    results(document).iter().filter(are).map(|result| result["rhythm"]["threads"].as_u64().unwrap()).sum()
}

/// Peak memory of a process in kB; `None` after its end.
fn most_memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Watches the program until its end; returns the result and the peak memory of howlate.
fn watch(program: &Path, out: &Path) -> (Value, u64) {
    let mut command = howlate(&["watch", "--json", "--details", "--quiet", "--out"]);
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
    let Some(program) = compile(folder.path(), CROWD) else { return };
    let out = folder.path().join("w.jsonl");
    let (document, most) = watch(&program, &out);
    assert!(results(&document).len() <= CONDITIONS, "{}", results(&document).len());
    assert!(most <= RSS_KB, "{most} kB");
    assert!(std::fs::metadata(&out).unwrap().len() < 16 << 20);
    // A busy machine may lose some.
    let (requests, short_lived) =
        (threads_of(&document, "goes-# (others)"), threads_of(&document, "stays (others)"));
    assert!((1_000..=4_000).contains(&requests), "{requests}");
    assert!((1_000..=2_000).contains(&short_lived), "{short_lived}");
    let caveats = document["caveats"].as_array().unwrap();
    let joined = caveats.iter().find(|caveat| caveat["caveat"] == "threads_joined");
    let joined = joined.unwrap_or_else(|| panic!("{caveats:?}"))["count"].as_u64().unwrap();
    assert!(joined >= requests + short_lived, "{joined}");
}

#[test]
fn metrics_of_a_crowd_are_bounded_and_say_how_many_threads_they_are_of() {
    if !crate::common::has_bpf() {
        return;
    }
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compile(folder.path(), CROWD) else { return };
    let mut crowd = std::process::Command::new(program).arg("on").stdout(Stdio::piped()).spawn().unwrap();
    crate::common::read_line_of(&mut crowd);
    let pid = crowd.id().to_string();
    let mut command = howlate(&["serve", "--listen", "127.0.0.1:0", "--watch", &pid]);
    let mut server = command.stdout(Stdio::piped()).spawn().unwrap();
    let address = crate::common::read_line_of(&mut server);
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
