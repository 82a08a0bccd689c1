//! The tracers on this kernel, with some events hidden.

use howlate_linux::{clock, thread};
use howlate_model::{HolderKind, SleepState, Span, TracedSleep, TracerRefusal, WakeSource};
use howlate_testing::skip;

use crate::bpf::Bpf;
use crate::tracefs::Tracefs;
use crate::{Opened, Tier, Tracer};

const SLEEPS: usize = 20;
const TRIES: usize = 100;
/// How often no switch may be seen although switches were seen right before and after.
const MAX_UNLIKE: usize = 3;
/// One event of each gap that changes sleeps.
const HIDDEN: [&str; 2] = ["hrtimer_expire_entry", "softirq_entry"];

fn open(tier: Tier, hidden: &[&str]) -> Result<Box<dyn Tracer>, TracerRefusal> {
    let own_process = [std::process::id()];
    Ok(match tier {
        Tier::Bpf => Box::new(Bpf::open(&own_process, hidden)?),
        _ => Box::new(Tracefs::open(&own_process, hidden)?),
    })
}

/// Whether the kernel reports switches of this thread at all: some virtual machines temporarily report none.
fn switches_are_seen(tier: Tier) -> bool {
    trace_sleeps(open(tier, &[]).unwrap().as_mut()).iter().any(|sleep| sleep.switched_in.is_some())
}

/// The sleeps of this thread that the tracer sees.
fn trace_sleeps(tracer: &mut dyn Tracer) -> Vec<TracedSleep> {
    tracer.start().unwrap();
    let tid = thread::id();
    tracer.follow(tid, Span::from_micros(50)).unwrap();
    for _ in 0..SLEEPS {
        clock::sleep_for(Span::from_millis(1)).unwrap();
    }
    tracer.stop();
    let mut sleeps = Vec::new();
    tracer.read(&mut |sleep| sleeps.push(sleep));
    sleeps.retain(|sleep| sleep.tid == tid);
    sleeps
}

fn assert_no_cause(sleep: &TracedSleep, tier: Tier) {
    assert!(matches!(sleep.woken_by, WakeSource::NotSeen { runnable_known: true, .. }), "{tier}: {sleep:?}");
    assert_eq!(sleep.asleep, SleepState::Waiting);
    let is_named = |holder| {
        matches!(
            holder,
            HolderKind::Thread | HolderKind::RealTimeThread | HolderKind::Idle | HolderKind::Softirq
        )
    };
    assert!(sleep.occupants.iter().all(|occupant| !is_named(occupant.who.holder)), "{tier}: {sleep:?}");
}

#[test]
fn sleeps_are_seen_in_parts_without_wrong_causes() {
    for tier in [Tier::Bpf, Tier::Tracefs] {
        let mut tracer = match open(tier, &HIDDEN) {
            Ok(tracer) => tracer,
            Err(refusal) => {
                skip(&format!("{tier}: {refusal}"));
                continue;
            }
        };
        let mut unlike = 0;
        let is_switched_in = (0..TRIES).any(|_| {
            let seen_before = switches_are_seen(tier);
            let sleeps = trace_sleeps(tracer.as_mut());
            // Switches to and from some processes raise no event in some virtual machines.
            assert!(sleeps.len() >= SLEEPS / 2, "{tier}: {sleeps:?}");
            sleeps.iter().for_each(|sleep| assert_no_cause(sleep, tier));
            let is_switched_in = sleeps.iter().any(|sleep| sleep.switched_in.is_some());
            // With nothing hidden no more is seen, except for what the machine hid just then.
            unlike += usize::from(!is_switched_in && seen_before && switches_are_seen(tier));
            assert!(unlike < MAX_UNLIKE, "{tier}: {sleeps:?}");
            is_switched_in
        });
        assert!(is_switched_in, "{tier}: no switch was seen");
        let caveats = Opened { tracer: Some(tracer), refused: Vec::new() }.caveats();
        assert_eq!(caveats.len(), HIDDEN.len(), "{caveats:?}");
    }
}
