//! Event loops that are away from their events too long, recorded in a guest: not every machine permits tracing of kernel functions.

use crate::guest_init::console;
use crate::guests_alone;

#[test]
fn an_event_loop_that_stays_away_is_recorded_unless_others_serve_its_events() {
    let Some(_permit) = guests_alone() else { return };
    let Some(message) = console("debian:standard", "guest_event_loop/init.c", &[]) else { return };
    assert!(message.lines().any(|line| line.trim() == "that is all"), "{message}");
    // Neither event loops nor timers.
    assert!(!message.contains("not seen here"), "{message}");
    // `loop-alone;loop-alone;event_loop;at work;its own long work 500246404`
    let stacks = message.lines().filter_map(|line| line.trim().rsplit_once(' '));
    let stacks: Vec<(&str, u64)> = stacks.filter_map(|(stack, ns)| Some((stack, ns.parse().ok()?))).collect();
    let loops: Vec<_> = stacks.iter().filter(|(stack, _)| stack.starts_with("loop-")).collect();
    assert!(
        loops.iter().all(|(stack, _)| stack.starts_with("loop-alone;loop-alone;event_loop;")),
        "{message}"
    );
    let part = |name: &str| {
        let part = format!(";{name}");
        loops.iter().filter(|(stack, _)| stack.contains(&part)).map(|(_, ns)| ns).sum::<u64>()
    };
    // First working, then sleeping; time on the run queue counts as neither.
    let (at_work, blocked) = (part("at work") + part("waiting"), part("blocked"));
    // A busy host stops the guest for a while, which is unexplained inside.
    let unsaid = loops.iter().map(|(_, ns)| ns).sum::<u64>() - at_work - blocked;
    assert!(blocked + unsaid >= AWAY && at_work + unsaid >= AWAY, "{loops:#?}");
    assert!(at_work + blocked + unsaid >= 2 * AWAY, "{loops:#?}");
    assert!(part("at work") > 0 && (1..2 * AWAY).contains(&blocked), "{loops:#?}");
}

/// Time in ns that each was away at least.
const AWAY: u64 = 500_000_000;
