//! Event loops that do not come back to their events, recorded: in a guest, as not every machine lets a program look at functions of
//! its kernel.

use crate::common::stderr;
use crate::guest_init::first_process;
use crate::{cannot_fetch, guest, guests};

#[test]
fn an_event_loop_that_stays_away_is_recorded_unless_others_serve_its_events() {
    let Some(_turn) = guests() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = first_process(folder.path(), "guest_event_loop/init.c", &[]) else { return };
    let program = program.to_str().unwrap();
    let options =
        ["--kernel", "debian:standard", "--memory", "1G", "--boot-deadline", "20m", "--program", program];
    // As for what traces: older emulators may keep a breakpoint of the kernel's for ever otherwise.
    let output = guest(&options, &["cyclic", "--samples", "1", "--why"]).output().unwrap();
    if cannot_fetch(&output) {
        return;
    }
    let said = stderr(&output);
    assert!(said.lines().any(|line| line.trim() == "that is all"), "{said}");
    // Neither event loops nor timers.
    assert!(!said.contains("not seen here"), "{said}");
    // `loop-alone;loop-alone;event_loop;at work;its own long work 500246404`
    let stacks = said.lines().filter_map(|line| line.trim().rsplit_once(' '));
    let stacks: Vec<(&str, u64)> = stacks.filter_map(|(stack, ns)| Some((stack, ns.parse().ok()?))).collect();
    let loops: Vec<_> = stacks.iter().filter(|(stack, _)| stack.starts_with("loop-")).collect();
    assert!(loops.iter().all(|(stack, _)| stack.starts_with("loop-alone;loop-alone;event_loop;")), "{said}");
    let part = |name: &str| {
        let part = format!(";{name}");
        loops.iter().filter(|(stack, _)| stack.contains(&part)).map(|(_, ns)| ns).sum::<u64>()
    };
    // At work, and then asleep; what it had no CPU for meanwhile was neither.
    let (at_work, blocked) = (part("at work") + part("waiting"), part("blocked"));
    // Where the host is busy the guest stands still for a while, and nobody in it can say what that was of.
    let unsaid = loops.iter().map(|(_, ns)| ns).sum::<u64>() - at_work - blocked;
    assert!(blocked + unsaid >= AWAY && at_work + unsaid >= AWAY, "{loops:#?}");
    assert!(at_work + blocked + unsaid >= 2 * AWAY, "{loops:#?}");
    assert!(part("at work") > 0 && (1..2 * AWAY).contains(&blocked), "{loops:#?}");
}

/// For so many nanoseconds each was away, or longer.
const AWAY: u64 = 500_000_000;
