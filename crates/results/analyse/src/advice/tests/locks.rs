//! What is advised for waits for a lock, by what its holder does meanwhile.

use howlate_model::IterationWait;

use super::*;

/// Advice for a thread that waits for a lock of `holder` for 1 ms of each iteration, in which that does these things for so many µs.
fn advised(
    policy: Policy,
    language: Option<ProgramLanguage>,
    activity: &[(Cause, u64)],
) -> Vec<ThreadAdvice> {
    advised_after(LEAST_ITERATIONS, policy, language, activity)
}

fn advised_after(
    iterations: u64,
    policy: Policy,
    language: Option<ProgramLanguage>,
    activity: &[(Cause, u64)],
) -> Vec<ThreadAdvice> {
    let facts = WatchedProgram { language, ..WatchedProgram::default() };
    let mut analysis = program(&[("control", policy, Vec::new())], facts);
    let (at, mut timer_loop) = (MonotonicTime::default(), TimerLoopBlock::default());
    let length = Span::from_millis(1);
    for _ in 0..iterations {
        let mut time = Distribution::default();
        time.record(Latency::from_span(length));
        let wait = IterationWait {
            kind: CauseKind::Lock,
            call: "futex".into(),
            by: "holder".into(),
            tid: Some(8),
            own: true,
            time,
            total: length,
        };
        timer_loop.record_iteration(length, vec![wait]);
        let part = |(cause, micros): &(Cause, u64)| {
            Segment::new(cause.clone(), None, at, Span::from_micros(*micros))
        };
        let parts = activity.iter().map(part).collect();
        timer_loop.ledger.add(&WakeupBreakdown { at, latency: Latency::from_span(length), cpu: None, parts });
    }
    let watched = WatchedBlock { condition: 0, timer_loop: Some(timer_loop), ..WatchedBlock::default() };
    analysis.add(&Line::Watched(Box::new(watched)));
    thread_advice(&analysis)
}

fn cures(policy: Policy, language: Option<ProgramLanguage>, activity: &[(Cause, u64)]) -> Vec<Cure> {
    advised(policy, language, activity).into_iter().map(|advice| advice.cure).collect()
}

fn works() -> Cause {
    LateCause::of(CauseKind::Lock, "holder", "futex").own().cause
}

fn sleeps() -> Cause {
    Cause { through: "holder".into(), ..LateCause::of(CauseKind::SystemCall, "", "clock_nanosleep").cause }
}

fn off_cpu(culprit: &str) -> Cause {
    LateCause::by_thread(culprit, 9).through("holder").cause
}

fn shorter(meanwhile: Meanwhile) -> Vec<Cure> {
    vec![Cure::ShorterLock { holder: "holder".into(), meanwhile }]
}

/// So many are a loop.
const LEAST_ITERATIONS: u64 = 20;
const FIFO: Policy = Policy::Fifo { priority: Priority::USUAL };

#[test]
fn less_work_helps_where_the_holder_works() {
    assert_eq!(cures(Policy::OTHER, None, &[(works(), 900), (sleeps(), 100)]), shorter(Meanwhile::Works));
    assert_eq!(cures(Policy::OTHER, None, &[]), shorter(Meanwhile::Works), "nothing else is known");
}

#[test]
fn a_thread_that_sleeps_now_and_then_is_there_to_wait_for_others() {
    let advice = |iterations| advised_after(iterations, Policy::OTHER, None, &[(works(), 900)]).len();
    assert_eq!((advice(LEAST_ITERATIONS - 1), advice(LEAST_ITERATIONS)), (0, 1));
}

#[test]
fn who_sleeps_with_a_lock_is_to_give_it_up_before() {
    let slept = shorter(Meanwhile::BlockedIn("clock_nanosleep".into()));
    let activity = [(works(), 20), (sleeps(), 980)];
    for language in [None, Some(ProgramLanguage::Python)] {
        assert_eq!(
            cures(Policy::OTHER, language, &activity),
            slept,
            "it does not have the interpreter's lock"
        );
    }
    let lock = [Cure::InterpreterLock { holder: "holder".into() }];
    assert_eq!(cures(Policy::OTHER, Some(ProgramLanguage::Python), &[(works(), 980), (sleeps(), 20)]), lock);
}

#[test]
fn a_holder_off_its_cpu_is_lent_a_priority_or_named() {
    let activity = [(works(), 100), (off_cpu("hog"), 600), (off_cpu("other"), 300)];
    assert_eq!(cures(Policy::OTHER, None, &activity), shorter(Meanwhile::OffCpu));
    assert_eq!(cures(FIFO, None, &activity), [Cure::Inheritance { holder: "holder".into() }]);
    assert_eq!(
        cures(FIFO, Some(ProgramLanguage::Python), &activity),
        [],
        "no program can set its lock's protocol"
    );
    let against = &advised(FIFO, None, &activity)[0].against;
    let names: Vec<_> = against.iter().map(|cause| cause.name.as_deref()).collect();
    assert_eq!(names, [Some("hog"), Some("other")]);
}

/// It waited for a lock itself, of a thread that has advice of its own.
#[test]
fn nothing_is_said_where_no_remedy_fits() {
    let next = Cause { via: vec!["holder".into()], through: "last".into(), ..works() };
    assert_eq!(cures(Policy::OTHER, None, &[(works(), 100), (next, 900)]), []);
}
