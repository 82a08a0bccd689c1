//! The tracers against the kernel that runs. A tracer that cannot be had here is named, and skipped.

#![allow(missing_docs)]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on fails, and says what it skips"
)]

use std::thread;

use howlate_linux::{clock, thread as linux_thread};
use howlate_model::{MonotonicTime, Span, Traced, WokenBy};
use howlate_trace::{Choice, Tier, open};
use rustix::thread::{ClockId, clock_nanosleep_absolute};

const PERIOD: Span = Span::from_millis(2);
const SLEEPS: i64 = 50;

/// Sleeps until one time after the other; returns the thread's id and those times with the readings after them.
fn sleep_a_while() -> (u32, Vec<(MonotonicTime, MonotonicTime)>) {
    thread::spawn(|| {
        let mut expected = clock::now().plus(PERIOD);
        let mut woken = Vec::new();
        for _ in 0..SLEEPS {
            clock_nanosleep_absolute(ClockId::Monotonic, &clock::timespec_at(expected)).unwrap();
            woken.push((expected, clock::now()));
            expected = clock::now().plus(PERIOD);
        }
        (linux_thread::id(), woken)
    })
    .join()
    .unwrap()
}

#[test]
fn every_sleep_is_seen_with_its_own_times() {
    for tier in [Tier::Bpf] {
        let mut opened = open(Choice::Only(tier), &[std::process::id()]);
        let Some(tracer) = &mut opened.tracer else {
            eprintln!("skipped: {tier}: {}", opened.refused[0].1);
            continue;
        };
        tracer.start().unwrap();
        let (tid, woken) = sleep_a_while();
        tracer.stop();
        let mut seen: Vec<Traced> = Vec::new();
        let lost = tracer.read(&mut |one| seen.push(one));
        seen.retain(|one| one.tid == tid);
        assert_eq!(lost, 0);
        let found = woken.iter().filter(|(expected, ran)| seen.iter().any(|one| is_of(one, *expected, *ran)));
        // Switches to and from some processes raise no event in some virtual machines.
        assert!(found.count() >= 45, "{tier}: {seen:?}");
        // A second start sees again, a stopped one nothing.
        sleep_a_while();
        tracer.read(&mut |one| panic!("{one:?}"));
    }
}

/// Whether this is the sleep until `expected`, and its times are in order.
fn is_of(one: &Traced, expected: MonotonicTime, ran: MonotonicTime) -> bool {
    let WokenBy::Timer(expiry) = &one.woken_by else { return false };
    let Some(switched_in) = one.switched_in else { return false };
    expiry.soft == expected
        && expiry.soft <= expiry.hard
        && expiry.first_served <= expiry.served
        && expiry.served <= one.waking
        && one.waking <= one.runnable
        && one.runnable <= switched_in
        && switched_in <= ran
        && one.asleep_again.is_some_and(|again| again >= ran)
}
