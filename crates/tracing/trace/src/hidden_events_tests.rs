//! The tracers on this kernel, with events hidden from them as if it had none.

use howlate_linux::{clock, thread};
use howlate_model::{HolderKind, SleepState, Span, TracedSleep, TracerRefusal, WakeSource};
use howlate_testing::skip;

use crate::bpf::Bpf;
use crate::tracefs::Tracefs;
use crate::{Opened, Tier, Tracer};

const SLEEPS: usize = 20;
const TRIES: usize = 100;
/// So many times no switch is seen that was told of right before and after.
const UNLIKE: usize = 3;
/// One of each gap that changes what is told of a sleep.
const HIDDEN: [&str; 2] = ["hrtimer_expire_entry", "softirq_entry"];

fn open(tier: Tier, hidden: &[&str]) -> Result<Box<dyn Tracer>, TracerRefusal> {
    let mine = [std::process::id()];
    Ok(match tier {
        Tier::Bpf => Box::new(Bpf::open(&mine, hidden)?),
        _ => Box::new(Tracefs::open(&mine, hidden)?),
    })
}

/// Whether the kernel tells of switches to this thread at all, just now: in some virtual machines it tells of none for a while.
fn switches_are_told(tier: Tier) -> bool {
    seen(open(tier, &[]).unwrap().as_mut()).iter().any(|one| one.switched_in.is_some())
}

/// What it sees of this thread, which sleeps.
fn seen(tracer: &mut dyn Tracer) -> Vec<TracedSleep> {
    tracer.start().unwrap();
    let tid = thread::id();
    tracer.follow(tid, Span::from_micros(50)).unwrap();
    for _ in 0..SLEEPS {
        clock::sleep_for(Span::from_millis(1)).unwrap();
    }
    tracer.stop();
    let mut seen = Vec::new();
    tracer.read(&mut |one| seen.push(one));
    seen.retain(|one| one.tid == tid);
    seen
}

fn assert_nobody_is_blamed(one: &TracedSleep, tier: Tier) {
    assert!(matches!(one.woken_by, WakeSource::NotSeen { runnable_known: true, .. }), "{tier}: {one:?}");
    assert_eq!(one.asleep, SleepState::Waiting);
    let blamed = |holder| {
        matches!(
            holder,
            HolderKind::Thread | HolderKind::RealTimeThread | HolderKind::Idle | HolderKind::Softirq
        )
    };
    assert!(one.occupants.iter().all(|one| !blamed(one.who.holder)), "{tier}: {one:?}");
}

#[test]
fn sleeps_are_seen_in_parts_and_nobody_is_blamed_for_the_others() {
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
            let told_before = switches_are_told(tier);
            let seen = seen(tracer.as_mut());
            // Switches to and from some processes raise no event in some virtual machines.
            assert!(seen.len() >= SLEEPS / 2, "{tier}: {seen:?}");
            seen.iter().for_each(|one| assert_nobody_is_blamed(one, tier));
            let is_switched_in = seen.iter().any(|one| one.switched_in.is_some());
            // Where nothing is hidden, nobody sees more, but for what the machine hid just then.
            unlike += usize::from(!is_switched_in && told_before && switches_are_told(tier));
            assert!(unlike < UNLIKE, "{tier}: {seen:?}");
            is_switched_in
        });
        assert!(is_switched_in, "{tier}: no switch was seen");
        let caveats = Opened { tracer: Some(tracer), refused: Vec::new() }.caveats();
        assert_eq!(caveats.len(), HIDDEN.len(), "{caveats:?}");
    }
}
