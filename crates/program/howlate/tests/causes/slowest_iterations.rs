//! What the longest iterations of loops went to, across threads, against the program's own readings of the clock.

use std::path::Path;

use crate::common::{build_c, has_bpf, json};
use serde_json::Value;

const LOOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../loop");
/// Iterations of the program, of which one in ten meets a lock.
const ITERATIONS: u64 = 200;

/// A client asks a worker, who needs a lock that a keeper holds, who sleeps meanwhile. Prints how long the worker waited for the lock in
/// each iteration that met it.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include "howlate.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t take, taken;
static int requests[2], replies[2];
static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
static void *keep(void *none)
{
    struct timespec hold = {0, 5000000};
    prctl(PR_SET_NAME, "keeper");
    for (;;) {
        sem_wait(&take);
        pthread_mutex_lock(&lock);
        sem_post(&taken);
        nanosleep(&hold, NULL);
        pthread_mutex_unlock(&lock);
    }
    return none;
}
static void *work(void *none)
{
    char meets;
    prctl(PR_SET_NAME, "worker");
    while (read(requests[0], &meets, 1) == 1) {
        uint64_t from = nanoseconds();
        pthread_mutex_lock(&lock);
        if (meets)
            fprintf(stderr, "%lu\n", (unsigned long)(nanoseconds() - from));
        pthread_mutex_unlock(&lock);
        if (write(replies[1], &meets, 1) != 1)
            break;
    }
    return none;
}
int main(void)
{
    struct howlate loop = howlate_loop("client", 10000000);
    uint64_t next = nanoseconds(), turn;
    pthread_t keeper, worker;
    sem_init(&take, 0, 0);
    sem_init(&taken, 0, 0);
    if (pipe(requests) || pipe(replies))
        return 1;
    pthread_create(&keeper, NULL, keep, NULL);
    pthread_create(&worker, NULL, work, NULL);
    for (turn = 0; turn < 200; turn++) {
        char meets = turn % 10 == 5;
        struct timespec until;
        next += 10000000;
        until.tv_sec = (time_t)(next / 1000000000u);
        until.tv_nsec = (long)(next % 1000000000u);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        if (meets)
            sem_post(&take), sem_wait(&taken);
        howlate_wake(&loop);
        if (write(requests[1], &meets, 1) != 1 || read(replies[0], &meets, 1) != 1)
            return 1;
        howlate_done(&loop);
    }
    return 0;
}
"#;

/// Nanoseconds of the causes that `is_it` chooses.
fn time_of(slowest: &Value, is_it: impl Fn(&Value) -> bool) -> u64 {
    let causes = slowest["causes"].as_array().unwrap();
    causes.iter().filter(|cause| is_it(cause)).map(|cause| cause["late_ns"].as_u64().unwrap()).sum()
}

/// The keeper's sleep is what took the time, whatever each of the others waited for.
fn is_sleep_of_keeper(cause: &Value) -> bool {
    cause["through"] == "keeper" && cause["via"][0] == "worker" && cause["call"] == "clock_nanosleep"
}

#[test]
fn a_request_is_taken_apart_across_the_threads_that_serve_it() {
    if !has_bpf() {
        return;
    }
    let _alone = super::alone();
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("p.c"), folder.path().join("pipeline"));
    std::fs::write(&source, PROGRAM).unwrap();
    if build_c(&source, &program, &["-O1", "-pthread", "-I", LOOP]).is_none() {
        return;
    }
    let (waits, path) = (folder.path().join("waits"), folder.path().join("p.jsonl"));
    let script = format!("exec {} 2>{}", program.display(), waits.display());
    let options =
        ["watch", "--json", "--details", "--quiet", "--tracer", "bpf", "--out", path.to_str().unwrap()];
    let document = json(&[&options[..], &["--", "sh", "-c", &script]].concat(), 0);
    let results = document["results"].as_array().unwrap();
    let marked = |result: &&Value| result["condition"]["mechanism"] == "loop";
    let turns = &results.iter().find(marked).unwrap()["rhythm"]["turns"];
    let slowest = &turns["slowest"];
    let decomposed = slowest["decomposed"].as_u64().unwrap();
    assert!(decomposed * 10 >= ITERATIONS * 9, "the last one has no next: {slowest}");
    let total = slowest["late"]["total_ns"].as_u64().unwrap();
    assert_eq!(time_of(slowest, |_| true), total, "each nanosecond has one owner: {slowest}");
    // Beside other programs, those may have taken more.
    let (slept, waited) = (time_of(slowest, is_sleep_of_keeper), times(&waits));
    assert!(0 < slept && slept <= waited.iter().sum(), "{slept} of {waited:?} ns: {slowest}");
    assert_eq!(waited.len() as u64, ITERATIONS / 10);
    let timer = results.iter().find_map(|result| result["rhythm"]["timer_loop"]["slowest"].as_object());
    let timer = Value::Object(timer.unwrap().clone());
    assert_eq!(time_of(&timer, |_| true), timer["late"]["total_ns"].as_u64().unwrap(), "{timer}");
    says_the_same(path.to_str().unwrap(), turns);
}

/// The recording and its texts.
fn says_the_same(recording: &str, turns: &Value) {
    let shown = json(&["show", recording, "--json", "--details"], 0);
    let results = shown["results"].as_array().unwrap();
    assert!(results.iter().any(|result| result["rhythm"]["turns"]["slowest"] == turns["slowest"]), "{shown}");
    let text = crate::common::stdout(&crate::common::run(&["show", recording]));
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(line.contains("iterations of client") && line.contains("spent their time:"), "{text}");
    assert!(line.contains("by way of worker"), "{text}");
}

fn times(file: &Path) -> Vec<u64> {
    std::fs::read_to_string(file).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}
