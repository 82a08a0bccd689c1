//! Programs of a few threads, each late for some cause, and the advice for them.

use howlate_model::{
    Cause, CauseBlock, Command, Condition, CpuSet, Distribution, EffectiveSettings, Header, Latency, Ledger,
    Line, MonotonicTime, Part, Segment, ThreadShare, TimerLoopBlock, TurnStarted, WakeupBreakdown,
    WatchedBlock,
};
use proptest::prelude::*;

use super::*;

mod locks;

const FIFO_90: Priority = Priority::USUAL.raised(10);

/// What made a thread late, in each of its wake-ups.
#[derive(Clone, Debug)]
struct LateCause {
    cause: Cause,
    pid: Option<u32>,
}

impl LateCause {
    fn by_thread(name: &str, pid: u32) -> Self {
        Self { cause: Cause::new(Part::Waiting, CauseKind::Thread, name.into()), pid: Some(pid) }
    }

    fn own(self) -> Self {
        Self { cause: Cause { own: true, ..self.cause }, ..self }
    }

    fn real_time(self, priority: Option<Priority>) -> Self {
        Self { cause: Cause { real_time: true, priority, ..self.cause }, ..self }
    }

    fn through(self, holder: &str) -> Self {
        Self { cause: Cause { through: holder.into(), call: "futex".into(), ..self.cause }, ..self }
    }

    fn of(kind: CauseKind, name: &str, call: &str) -> Self {
        Self { cause: Cause { call: call.into(), ..Cause::new(Part::Arming, kind, name.into()) }, pid: None }
    }
}

/// The thread of a condition, as it began.
fn started(condition: u32, tid: u32, policy: Policy) -> TurnStarted {
    let in_force = EffectiveSettings {
        tid,
        policy,
        slack: Span::from_micros(50),
        cpus: CpuSet::default(),
        memory_locked: false,
        dma_latency_us: None,
        slice: None,
    };
    let (sender_in_force, runtime, warm_up, caveats) = (None, None, None, Vec::new());
    let at = MonotonicTime::default();
    TurnStarted { condition, round: 0, at, in_force, sender_in_force, runtime, warm_up, caveats }
}

/// A program of these threads, whose ids are 100 and up.
fn program(threads: &[(&str, Policy, Vec<LateCause>)], facts: WatchedProgram) -> Analysis {
    let header = Header { command: Command::Watch, ..Header::for_conditions(Vec::new()) };
    let mut analysis = Analysis::new(header);
    let at = MonotonicTime::default();
    for ((name, policy, late), number) in threads.iter().zip(0u32..) {
        let work = Work::Watch { mechanism: Activation::Timer };
        let condition =
            Condition { name: Some((*name).to_owned()), policy: *policy, ..Condition::new(work, "6.1.0") };
        analysis.add(&Line::Condition(Box::new(condition)));
        analysis.add(&Line::Started(started(number, 100 + number, *policy)));
        let mut ledger = Ledger::default();
        let ns = Span::from_millis(1);
        for late_cause in (0..10).flat_map(|_| late) {
            let parts = vec![Segment::new(late_cause.cause.clone(), late_cause.pid, at, ns)];
            ledger.add(&WakeupBreakdown { at, latency: Latency::from_span(ns), cpu: None, parts });
        }
        let block = CauseBlock {
            condition: number,
            round: 0,
            beside: 0,
            from: at,
            until: at,
            tracer: "bpf".into(),
            ledger,
        };
        analysis.add(&Line::Why(Box::new(block)));
    }
    analysis.add(&Line::Program(Box::new(facts)));
    analysis
}

fn advice_for(threads: &[(&str, Policy, Vec<LateCause>)], facts: WatchedProgram) -> Vec<(String, Cure)> {
    let all = thread_advice(&program(threads, facts));
    all.into_iter().map(|advice| (advice.thread.name, advice.cure)).collect()
}

fn raised(name: &str, priority: Priority) -> Vec<(String, Cure)> {
    vec![(name.to_owned(), Cure::RealTime { priority, refused_in: None })]
}

#[test]
fn the_late_thread_is_raised_above_whoever_keeps_it_waiting_and_not_its_program() {
    let advise = |policy, late| advice_for(&[("control", policy, vec![late])], WatchedProgram::default());
    let fifo = |priority| Policy::Fifo { priority };
    let hog = || LateCause::by_thread("hog", 9);
    assert_eq!(advise(Policy::OTHER, hog()), raised("control", Priority::USUAL));
    assert_eq!(
        advise(Policy::OTHER, hog().own()),
        raised("control", Priority::USUAL),
        "it is a thread, not the program"
    );
    let high = Some(FIFO_90);
    assert_eq!(advise(Policy::OTHER, hog().real_time(high)), raised("control", FIFO_90.raised(1)));
    assert_eq!(advise(fifo(Priority::USUAL), hog().real_time(high)), raised("control", FIFO_90.raised(1)));
    assert_eq!(advise(fifo(FIFO_90.raised(2)), hog().real_time(high)), [], "it is above already");
    assert_eq!(advise(Policy::OTHER, hog().real_time(Priority::new(99))), [], "nobody may be above");
    assert_eq!(advise(Policy::OTHER, hog().real_time(None)), [], "nobody knows what is above");
    assert_eq!(advise(fifo(Priority::USUAL), hog()), [], "a normal one keeps it waiting in the kernel");
}

#[test]
fn who_spins_or_delays_its_siblings_is_not_raised() {
    let spinner = ThreadShare { tid: 100, name: "control".into(), share: 0.97, ran: Span::from_secs(9) };
    let facts = WatchedProgram { busiest: vec![spinner], ..WatchedProgram::default() };
    let late = || vec![LateCause::by_thread("hog", 9)];
    assert_eq!(advice_for(&[("control", Policy::OTHER, late())], facts), []);
    let by_worker = vec![LateCause::by_thread("worker", 100).own()];
    let both = [("worker", Policy::OTHER, late()), ("control", Policy::OTHER, by_worker)];
    assert_eq!(advice_for(&both, WatchedProgram::default()), raised("control", Priority::USUAL));
}

#[test]
fn where_a_group_has_no_share_that_is_told() {
    let facts = WatchedProgram { without_realtime: Some("/app".into()), ..WatchedProgram::default() };
    let found = advice_for(&[("control", Policy::OTHER, vec![LateCause::by_thread("hog", 9)])], facts);
    assert!(
        matches!(&found[..], [(_, Cure::RealTime { refused_in: Some(group), .. })] if group.group == "/app"),
        "{found:?}"
    );
}

#[test]
fn of_a_lock_the_cure_is_the_lock() {
    let late = vec![
        LateCause::by_thread("middle", 9).through("low"),
        LateCause::of(CauseKind::Lock, "low", "futex"),
    ];
    let fifo = Policy::Fifo { priority: Priority::USUAL };
    let holder = || "low".to_owned();
    let found = advice_for(&[("high", fifo, late.clone())], WatchedProgram::default());
    assert_eq!(found, [("high".to_owned(), Cure::Inheritance { holder: holder() })]);
    let python = WatchedProgram { language: Some(ProgramLanguage::Python), ..WatchedProgram::default() };
    let found = advice_for(&[("high", fifo, late)], python);
    assert_eq!(found, [("high".to_owned(), Cure::InterpreterLock { holder: holder() })]);
}

#[test]
fn each_other_cause_has_its_own_cure_or_none() {
    let advise = |late| advice_for(&[("control", Policy::OTHER, vec![late])], WatchedProgram::default());
    let cures = |late| advise(late).into_iter().map(|(_, cure)| cure).collect::<Vec<_>>();
    let call = |name: &str| LateCause::of(CauseKind::SystemCall, "", name);
    assert_eq!(cures(call("write")), [Cure::HandOver { call: "write".into() }]);
    assert_eq!(cures(call("read")), [], "it waits for data");
    assert_eq!(cures(LateCause::of(CauseKind::PageFault, "", "")), [Cure::Memory]);
    assert_eq!(cures(LateCause::of(CauseKind::TimerSlack, "", "")), [Cure::Slack(Span::from_micros(50))]);
    assert_eq!(cures(LateCause::of(CauseKind::Throttled, "/a", "")), [Cure::Quota(None)]);
    for kind in [CauseKind::LongWork, CauseKind::Hypervisor, CauseKind::Others, CauseKind::Undetermined] {
        assert_eq!(cures(LateCause::of(kind, "", "")), [], "{kind:?}");
    }
    assert_eq!(cures(LateCause::by_thread("howlate", 9)), [], "it is there to measure");
    let deadline = Policy::Deadline { runtime: Span::from_millis(1), deadline_period: Span::from_millis(10) };
    let found = advice_for(
        &[("job", deadline, vec![LateCause::of(CauseKind::DeadlineBudget, "", "")])],
        WatchedProgram::default(),
    );
    let (runtime, period) = (Span::from_millis(1), Span::from_millis(10));
    assert_eq!(found, [("job".to_owned(), Cure::DeadlineRuntime { runtime, period })]);
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// A cause: a thread of the program, by number, or a stranger's; in some way.
fn any_late() -> impl Strategy<Value = LateCause> {
    (0u32..6, any::<bool>(), 0u8..3).prop_map(|(number, real_time, way)| {
        let own = NAMES.get(number as usize);
        let cause = match own {
            Some(name) => LateCause::by_thread(name, 100 + number).own(),
            None => LateCause::by_thread("stranger", number),
        };
        let cause = if real_time { cause.real_time(Priority::new(50)) } else { cause };
        match own {
            Some(_) if way == 1 => cause.through(NAMES[(number as usize + 1) % NAMES.len()]),
            Some(name) if way == 2 => {
                LateCause { pid: Some(100 + number), ..LateCause::of(CauseKind::Lock, name, "futex") }.own()
            }
            _ => cause,
        }
    })
}

proptest! {
    /// Whatever delays whichever thread: no thread is raised that takes a good part of a sibling's time, holds what a sibling waits for,
    /// or never leaves its CPU; and no thread is lowered that holds something.
    #[test]
    fn no_advice_raises_a_culprit_or_lowers_a_holder(
        lates in proptest::collection::vec(proptest::collection::vec(any_late(), 0..4), 4),
        shares in proptest::collection::vec(0.0..1.0, 4),
    ) {
        let threads: Vec<_> = NAMES.iter().zip(&lates).map(|(name, late)| (*name, Policy::OTHER, late.clone())).collect();
        let share = |(place, share): (usize, &f64)| ThreadShare {
            tid: 100 + u32::try_from(place).unwrap(),
            name: NAMES[place].to_owned(),
            share: *share,
            ran: Span::from_secs(1),
        };
        let busiest = shares.iter().enumerate().map(share).collect();
        for (name, cure) in advice_for(&threads, WatchedProgram { busiest, ..WatchedProgram::default() }) {
            if let Cure::GiveWay { culprit, .. } = &cure {
                let has = |cause: &&LateCause| cause.cause.through == *culprit || cause.cause.kind == CauseKind::Lock && cause.cause.name == *culprit;
                prop_assert!(!lates.iter().flatten().any(|cause| has(&cause)), "{culprit} has what others wait for");
            }
            let Cure::RealTime { .. } = cure else { continue };
            let place = NAMES.iter().position(|thread| *thread == name).unwrap();
            prop_assert!(shares[place] < SPINS, "{name} spins");
            for (other, late) in lates.iter().enumerate().filter(|(other, _)| *other != place) {
                let takes = |cause: &LateCause| cause.pid == Some(100 + u32::try_from(place).unwrap()) || cause.cause.through == name;
                prop_assert!(!late.iter().any(takes), "{name} delays {}", NAMES[other]);
            }
        }
    }
}

#[test]
fn who_is_hardly_late_or_only_answers_its_siblings_is_not_raised() {
    let late = || vec![LateCause::by_thread("hog", 9)];
    let advised_threads = |policy: Policy| {
        let threads = [("server", Policy::OTHER, late()), ("client", policy, late())];
        let mut analysis = program(&threads, WatchedProgram::default());
        let mut block = WatchedBlock { condition: 0, ..WatchedBlock::default() };
        let (holder, pid, name) = (howlate_model::HolderKind::Thread, Some(101), "client".into());
        block.record_waker(&howlate_model::CpuHolder { holder, pid, name });
        analysis.add(&Line::Watched(Box::new(block)));
        thread_advice(&analysis).into_iter().map(|advice| advice.thread.name).collect::<Vec<_>>()
    };
    assert_eq!(advised_threads(Policy::OTHER), ["client"], "the server does what the client asks");
    // A client that comes first already hands on in time: what follows it is all that is late.
    assert_eq!(advised_threads(Policy::Fifo { priority: Priority::USUAL }), ["server"]);
    let hardly = advised_after(Span::from_micros(40));
    assert_eq!((hardly, advised_after(Span::from_micros(400)).len()), (vec![], 1));
}

/// Advice for a thread that a stranger kept waiting for so long each time.
fn advised_after(ns: Span) -> Vec<ThreadAdvice> {
    let mut analysis = program(&[("control", Policy::OTHER, Vec::new())], WatchedProgram::default());
    let (at, mut ledger) = (MonotonicTime::default(), Ledger::default());
    for _ in 0..100 {
        let LateCause { cause, pid } = LateCause::by_thread("hog", 9);
        let parts = vec![Segment::new(cause, pid, at, ns)];
        ledger.add(&WakeupBreakdown { at, latency: Latency::from_span(ns), cpu: None, parts });
    }
    let block =
        CauseBlock { condition: 0, round: 0, beside: 0, from: at, until: at, tracer: "bpf".into(), ledger };
    analysis.add(&Line::Why(Box::new(block)));
    thread_advice(&analysis)
}

/// Of the few wake-ups with the largest latency only two were delayed by the thread ahead of the lock's holder; the lock is waited for all the time.
#[test]
fn who_is_ahead_of_a_holder_is_met_again_where_its_lock_is() {
    let cures = |iterations: u64| {
        let mut analysis = program(
            &[("high", Policy::Fifo { priority: Priority::USUAL }, Vec::new())],
            WatchedProgram::default(),
        );
        let (at, ns, mut ledger) = (MonotonicTime::default(), Span::from_millis(1), Ledger::default());
        for _ in 0..2 {
            let cause = LateCause::by_thread("middle", 9).through("low").cause;
            let parts = vec![Segment::new(cause, Some(9), at, ns)];
            ledger.add(&WakeupBreakdown { at, latency: Latency::from_span(ns), cpu: None, parts });
        }
        let block = CauseBlock {
            condition: 0,
            round: 0,
            beside: 0,
            from: at,
            until: at,
            tracer: "bpf".into(),
            ledger,
        };
        analysis.add(&Line::Why(Box::new(block)));
        let (mut timer_loop, mut time) = (TimerLoopBlock::default(), Distribution::default());
        time.record(Latency::from_span(ns));
        for _ in 0..iterations {
            let wait = IterationWait {
                kind: CauseKind::Lock,
                call: "futex".into(),
                by: "low".into(),
                tid: Some(8),
                own: true,
                time: time.clone(),
                total: ns,
            };
            timer_loop.record_iteration(ns, vec![wait]);
        }
        let watched = WatchedBlock { condition: 0, timer_loop: Some(timer_loop), ..WatchedBlock::default() };
        analysis.add(&Line::Watched(Box::new(watched)));
        thread_advice(&analysis).into_iter().map(|advice| advice.cure).collect::<Vec<_>>()
    };
    let holder = || "low".to_owned();
    assert_eq!(cures(LEAST_TIMES), [Cure::Inheritance { holder: holder() }]);
    assert_eq!(cures(LEAST_TIMES - 1), [], "it may never come again");
}

/// Advice for a thread that `hog` delays and that a thread of this name and id wakes.
fn beside_a_hog(waker: &str, tid: u32, language: Option<ProgramLanguage>, late: LateCause) -> Vec<Cure> {
    let hog = ThreadShare { tid: 101, name: "hog".into(), share: 0.8, ran: Span::from_secs(8) };
    let facts = WatchedProgram { busiest: vec![hog], language, ..WatchedProgram::default() };
    let row = |name, late| (name, Policy::OTHER, late);
    let threads = [row("worker", vec![late]), row("hog", vec![]), row("client", vec![])];
    let mut analysis = program(&threads, facts);
    let mut block = WatchedBlock { condition: 0, ..WatchedBlock::default() };
    let sibling = howlate_model::CpuHolder {
        holder: howlate_model::HolderKind::Thread,
        pid: Some(tid),
        name: waker.into(),
    };
    (0..LEAST_TIMES).for_each(|_| block.record_waker(&sibling));
    analysis.add(&Line::Watched(Box::new(block)));
    thread_advice(&analysis).into_iter().map(|advice| advice.cure).collect()
}

#[test]
fn a_sibling_that_computes_gives_way_where_coming_first_gains_nothing() {
    let delays = || LateCause::by_thread("hog", 101).own();
    let gives_way = [Cure::GiveWay { culprit: "hog".into(), tid: Some(101) }];
    assert_eq!(beside_a_hog("client", 102, None, delays()), gives_way);
}

/// While one of them computes, the others wait for the interpreter, whichever has a CPU; a process that it started has its own.
#[test]
fn no_thread_of_python_is_raised_above_its_siblings() {
    let sibling = ThreadShare { tid: 101, name: "planner".into(), share: 0.8, ran: Span::from_secs(8) };
    let late = || vec![("control", Policy::OTHER, vec![LateCause::by_thread("planner", 101).own()])];
    let python = WatchedProgram { language: Some(ProgramLanguage::Python), ..WatchedProgram::default() };
    let of_process = WatchedProgram { busiest: vec![sibling], ..python.clone() };
    let lock = Cure::InterpreterLock { holder: "planner".into() };
    assert_eq!(advice_for(&late(), of_process), [("control".to_owned(), lock)]);
    assert_eq!(advice_for(&late(), python), raised("control", Priority::USUAL));
}

/// Slack, and a thread that had its CPU, of which one matters more; under a real-time policy it has no slack.
#[test]
fn a_policy_makes_a_word_on_slack_needless() {
    let slack = || LateCause { pid: None, ..LateCause::of(CauseKind::TimerSlack, "", "") };
    let cures = |lates: Vec<LateCause>, findings| {
        let mut analysis = program(&[("control", Policy::OTHER, lates)], WatchedProgram::default());
        analysis.header.findings = findings;
        thread_advice(&analysis).into_iter().map(|advice| advice.cure).collect::<Vec<_>>()
    };
    let raised = Cure::RealTime { priority: Priority::USUAL, refused_in: None };
    let mostly_hog = || vec![LateCause::by_thread("hog", 9), LateCause::by_thread("hog", 9), slack()];
    assert_eq!(cures(mostly_hog(), Vec::new()), std::slice::from_ref(&raised));
    let mostly_slack = vec![LateCause::by_thread("hog", 9), slack(), slack()];
    assert_eq!(cures(mostly_slack, Vec::new()).len(), 2, "the lesser change comes first");
    let refused = Finding {
        id: FindingId::RealtimePermission,
        verdict: Verdict::Blocks,
        found: String::new(),
        evidence: Vec::new(),
        why: String::new(),
        cost: None,
        remedy: None,
    };
    assert_eq!(cures(mostly_hog(), vec![refused]).len(), 2, "who may not rise can still have less slack");
}

/// Sleeping until a time mends the rest of the delay too, and slack is invisible beside what makes a sibling late by milliseconds.
#[test]
fn slack_is_no_word_beside_something_much_bigger() {
    let slack = || vec![LateCause { pid: None, ..LateCause::of(CauseKind::TimerSlack, "", "") }];
    let advises_slack = |other: Vec<LateCause>| {
        let threads = [("ticker", Policy::OTHER, slack()), ("control", Policy::OTHER, other)];
        advice_for(&threads, WatchedProgram::default())
            .into_iter()
            .any(|(_, cure)| matches!(cure, Cure::Slack(_)))
    };
    let hogged = |times: usize| (0..times).map(|_| LateCause::by_thread("hog", 9)).collect::<Vec<_>>();
    assert!(
        advises_slack(hogged(1)) && !advises_slack(hogged(2 * 10)),
        "ten times as late is not ten times more"
    );
    // Nothing helps against steal time: slack is as small beside it.
    let stolen = LateCause { pid: None, ..LateCause::of(CauseKind::Hypervisor, "", "") };
    assert!(!advises_slack(vec![stolen; 20]));
}

/// Its iterations have a period of 10 ms, of which each takes `length`, half of it in a call.
#[test]
fn a_call_that_a_loop_has_time_for_is_left_to_it() {
    let cures = |length: u64| {
        let mut analysis = program(&[("control", Policy::OTHER, Vec::new())], WatchedProgram::default());
        let (mut timer_loop, mut time, mut steps) =
            (TimerLoopBlock::default(), Distribution::default(), Distribution::default());
        time.record(Latency::from_span(Span::from_millis(length / 2)));
        for _ in 0..20 {
            let wait = IterationWait {
                kind: CauseKind::SystemCall,
                call: "fsync".into(),
                by: String::new(),
                tid: None,
                own: false,
                time: time.clone(),
                total: Span::from_millis(length / 2),
            };
            timer_loop.record_iteration(Span::from_millis(length), vec![wait]);
            steps.record(Latency::from_span(Span::from_millis(10)));
        }
        let watched =
            WatchedBlock { condition: 0, timer_loop: Some(timer_loop), steps, ..WatchedBlock::default() };
        analysis.add(&Line::Watched(Box::new(watched)));
        thread_advice(&analysis).into_iter().map(|advice| advice.cure).collect::<Vec<_>>()
    };
    assert_eq!((cures(4), cures(6)), (vec![], vec![Cure::HandOver { call: "fsync".into() }]));
}

/// The call is that of the thread that it waits for.
#[test]
fn a_call_of_another_thread_is_not_left_to_one() {
    let cures = |through: &str| {
        let late = LateCause::of(CauseKind::SystemCall, "", "fsync");
        let cause = Cause { through: through.to_owned(), ..late.cause.clone() };
        let lates = vec![LateCause { cause, ..late }; 5];
        let advice = advice_for(&[("control", Policy::OTHER, lates)], WatchedProgram::default());
        advice.into_iter().map(|(_, cure)| cure).collect::<Vec<_>>()
    };
    assert_eq!((cures(""), cures("keeper")), (vec![Cure::HandOver { call: "fsync".into() }], vec![]));
}

/// The other has the CPU and the lock: a thread with a higher priority waits for the lock instead.
#[test]
fn nobody_is_raised_above_a_thread_whose_lock_it_waits_for_all_the_time() {
    let is_raised = |iterations: u64| {
        let late = vec![LateCause::by_thread("holder", 101).own()];
        let mut analysis = program(&[("java", Policy::OTHER, late)], WatchedProgram::default());
        let (mut timer_loop, mut time) = (TimerLoopBlock::default(), Distribution::default());
        let ns = Span::from_millis(1);
        time.record(Latency::from_span(ns));
        for iteration in 0..9 {
            let wait = IterationWait {
                kind: CauseKind::Lock,
                call: "futex".into(),
                by: "holder".into(),
                tid: Some(101),
                own: true,
                time: time.clone(),
                total: ns,
            };
            timer_loop.record_iteration(ns, if iteration < iterations { vec![wait] } else { Vec::new() });
        }
        let watched = WatchedBlock { condition: 0, timer_loop: Some(timer_loop), ..WatchedBlock::default() };
        analysis.add(&Line::Watched(Box::new(watched)));
        thread_advice(&analysis).into_iter().any(|advice| matches!(advice.cure, Cure::RealTime { .. }))
    };
    assert!(is_raised(2) && !is_raised(4));
}

/// It waits for the interpreter's lock; and what little a stranger took of its CPU is not worth a policy.
#[test]
fn what_helps_against_little_is_not_said() {
    let cures = |lates: Vec<LateCause>, facts| {
        advice_for(&[("control", Policy::OTHER, lates)], facts)
            .into_iter()
            .map(|(_, cure)| cure)
            .collect::<Vec<_>>()
    };
    let (stolen, hog) = (|| LateCause::of(CauseKind::Hypervisor, "", ""), || LateCause::by_thread("hog", 9));
    assert_eq!(
        cures([vec![hog()], vec![stolen(); 3]].concat(), WatchedProgram::default()).len(),
        1,
        "a quarter"
    );
    assert_eq!(cures([vec![hog()], vec![stolen(); 5]].concat(), WatchedProgram::default()), [], "a sixth");
    let planner = ThreadShare { tid: 101, name: "planner".into(), share: 0.8, ran: Span::from_secs(8) };
    let language = Some(ProgramLanguage::Python);
    let python = WatchedProgram { busiest: vec![planner], language, ..WatchedProgram::default() };
    let slack = LateCause { pid: None, ..LateCause::of(CauseKind::TimerSlack, "", "") };
    let lock = Cure::InterpreterLock { holder: "planner".into() };
    assert_eq!(cures(vec![slack.clone(), slack, LateCause::by_thread("planner", 101).own()], python), [lock]);
}

/// Both have the same remedy, and for the one that has ended it could not be checked.
#[test]
fn a_thread_that_goes_on_is_told_of_and_not_one_that_has_ended() {
    let late = || vec![LateCause::by_thread("hog", 9)];
    let threads = [("early", Policy::OTHER, late()), ("late", Policy::OTHER, late())];
    let advised_threads = |ended: Vec<u32>| {
        let facts = WatchedProgram { ended, ..WatchedProgram::default() };
        advice_for(&threads, facts).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(
        (advised_threads(vec![]).len(), advised_threads(vec![100]), advised_threads(vec![100, 101]).len()),
        (2, vec!["late".to_owned()], 2)
    );
}

/// It got its CPU once in five seconds.
#[test]
fn who_starves_is_told_of_though_it_hardly_ever_ran() {
    let advice_count = |ns: Span| {
        let mut analysis = program(&[("servo", Policy::OTHER, Vec::new())], WatchedProgram::default());
        let (at, mut ledger) = (MonotonicTime::default(), Ledger::default());
        let LateCause { cause, pid } = LateCause::by_thread("planner", 9);
        ledger.add(&WakeupBreakdown {
            at,
            latency: Latency::from_span(ns),
            cpu: None,
            parts: vec![Segment::new(cause, pid, at, ns)],
        });
        let block = CauseBlock {
            condition: 0,
            round: 0,
            beside: 0,
            from: at,
            until: at,
            tracer: "bpf".into(),
            ledger,
        };
        analysis.add(&Line::Why(Box::new(block)));
        thread_advice(&analysis).len()
    };
    assert_eq!((advice_count(Span::from_secs(4)), advice_count(Span::from_millis(40))), (1, 0));
}

/// It renames itself, and has a row for each name.
#[test]
fn a_thread_of_two_names_is_told_once() {
    let late = || vec![LateCause::by_thread("hog", 9)];
    let threads = [("phase 1", Policy::OTHER, late()), ("phase 2", Policy::OTHER, late())];
    let mut analysis = program(&threads, WatchedProgram::default());
    analysis.add(&Line::Started(started(1, 100, Policy::OTHER)));
    assert_eq!(thread_advice(&analysis).len(), 1);
}

/// Two links of a chain wait for the same thread.
#[test]
fn who_gives_way_is_told_so_once() {
    let hog = ThreadShare { tid: 102, name: "hog".into(), share: 0.8, ran: Span::from_secs(8) };
    let late = || vec![LateCause::by_thread("hog", 102).own()];
    let row = |name, late| (name, Policy::OTHER, late);
    let threads = [row("worker", late()), row("keeper", late()), row("hog", vec![]), row("client", vec![])];
    let mut analysis = program(&threads, WatchedProgram { busiest: vec![hog], ..WatchedProgram::default() });
    let client = howlate_model::CpuHolder {
        holder: howlate_model::HolderKind::Thread,
        pid: Some(103),
        name: "client".into(),
    };
    for condition in 0..2 {
        let mut block = WatchedBlock { condition, ..WatchedBlock::default() };
        (0..LEAST_TIMES).for_each(|_| block.record_waker(&client));
        analysis.add(&Line::Watched(Box::new(block)));
    }
    let found: Vec<Cure> = thread_advice(&analysis).into_iter().map(|advice| advice.cure).collect();
    assert_eq!(found, [Cure::GiveWay { culprit: "hog".into(), tid: Some(102) }]);
}

/// It would lend a priority that it does not have; and all threads of the interpreter share one lock.
#[test]
fn an_ordinary_thread_lends_nothing_and_the_interpreters_lock_is_told_of_once() {
    let late = vec![LateCause::by_thread("middle", 9).through("low")];
    let found = advice_for(&[("high", Policy::OTHER, late)], WatchedProgram::default());
    assert_eq!(
        found,
        [("high".to_owned(), Cure::ShorterLock { holder: "low".into(), meanwhile: Meanwhile::OffCpu })]
    );
    let python = WatchedProgram { language: Some(ProgramLanguage::Python), ..WatchedProgram::default() };
    let lock =
        || vec![LateCause { pid: Some(101), ..LateCause::of(CauseKind::Lock, "planner", "futex").own() }];
    let threads = [("control", Policy::OTHER, lock()), ("logger", Policy::OTHER, lock())];
    assert_eq!(advice_for(&threads, python).len(), 1);
}

/// A holder that gives way holds for longer, and all that wait for it are later than before.
#[test]
fn nobody_gives_way_who_has_what_others_wait_for() {
    let delays = || LateCause::by_thread("hog", 101).own();
    assert_eq!(beside_a_hog("hog", 101, None, delays()), [], "it makes what the other one waits for");
    let python = Some(ProgramLanguage::Python);
    let lock = [Cure::InterpreterLock { holder: "hog".into() }];
    assert_eq!(beside_a_hog("client", 102, python, delays()), lock, "it has the interpreter's lock");
    let lock_wait = LateCause { pid: Some(101), ..LateCause::of(CauseKind::Lock, "hog", "futex").own() };
    let lock = [Cure::ShorterLock { holder: "hog".into(), meanwhile: Meanwhile::Works }];
    assert_eq!(beside_a_hog("client", 102, None, lock_wait), lock);
}

#[test]
fn nothing_is_advised_for_the_threads_of_go() {
    let facts = WatchedProgram { language: Some(ProgramLanguage::Go), ..WatchedProgram::default() };
    assert_eq!(
        advice_for(&[("tick", Policy::OTHER, vec![LateCause::by_thread("hog", 9)])], facts.clone()),
        []
    );
    let quota =
        advice_for(&[("tick", Policy::OTHER, vec![LateCause::of(CauseKind::Throttled, "/a", "")])], facts);
    assert_eq!(quota, [("tick".to_owned(), Cure::Quota(None))]);
}
