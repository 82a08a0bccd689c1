//! How much of a watched program fits on a screen, and which thread it is about.

use howlate_analyse::Analysis;
use howlate_analyse::cause::Why;
use howlate_analyse::watch::ThreadSummary;
use howlate_model::{
    Activation, Block, Cause, CauseBlock, CauseKind, Condition, CpuSet, EffectiveSettings, Header, Iteration,
    Latency, Ledger, Line, LoopWait, MonotonicTime, Part, Policy, Segment, Span, TurnStarted, Wakeup,
    WakeupBreakdown, WatchedBlock, Work,
};

use crate::{Detail, report};

/// The thread that had the CPU in every late wake-up.
const CULPRIT: &str = "rustc";

/// A recording with these rows.
#[derive(Default)]
struct ProgramFixture {
    rows: Vec<ThreadFixture>,
}

/// A thread and one kind of its wake-ups.
struct ThreadFixture {
    name: &'static str,
    number: u32,
    tid: u32,
    mechanism: Activation,
    policy: Policy,
    late_us: u64,
    times: u64,
    rhythm: WatchedBlock,
}

impl ThreadFixture {
    fn new(name: &'static str, number: u32, tid: u32, mechanism: Activation, late_us: u64) -> Self {
        let rhythm = WatchedBlock { threads: 1, ..WatchedBlock::default() };
        Self { name, number, tid, mechanism, policy: Policy::OTHER, late_us, times: 1_000, rhythm }
    }

    fn times(self, times: u64) -> Self {
        Self { times, ..self }
    }

    /// Woken periodically; with `missed`, by a periodic timer.
    fn every(mut self, period: Span, missed: Option<u64>) -> Self {
        self.rhythm.steps.record_n(Latency::from_span(period), self.times);
        self.rhythm.missed = missed;
        self
    }

    fn realtime(self, policy: &str) -> Self {
        Self { policy: policy.parse().unwrap(), ..self }
    }

    /// With an event loop that sleeps in a call for 80 ms in one of ten iterations, shared by so many threads.
    fn with_event_loop(mut self, shared_by: u64) -> Self {
        let ms = Span::from_millis;
        let mut thread = ThreadSummary::new(0, MonotonicTime::default());
        for number in 0..100u64 {
            let blocked = if number % 10 == 9 { ms(80) } else { Span::ZERO };
            let iteration = Iteration {
                tid: self.tid,
                wait: LoopWait::Epoll,
                file: Some(3),
                from: MonotonicTime::default(),
                until: MonotonicTime::default().plus(ms(1).plus(blocked)),
                blocked,
                ready: Span::ZERO,
                quota: Span::ZERO,
                longest_sleep: Some((blocked, Some("pread64".to_owned()))),
                stack: Vec::new(),
            };
            thread.record_loop_iteration(&iteration, ms(10), None, shared_by);
        }
        let lines = thread.reasons(MonotonicTime::default(), "bpf");
        let [Line::Watched(block)] = lines.as_slice() else { panic!("{lines:?}") };
        self.rhythm.event_loop.clone_from(&block.event_loop);
        self
    }

    fn lines(&self, condition: u32) -> Vec<Line> {
        let at = MonotonicTime::from_nanos;
        let mut block = Block { condition, ..Block::default() };
        let mut ledger = Ledger::default();
        let ns = Span::from_micros(self.late_us);
        let latency = Latency::from_span(ns);
        for _ in 0..self.times {
            block.record(Wakeup { expected: at(0), ran: at(latency.as_nanos()) }, None);
            let cause = Cause::new(Part::Waiting, CauseKind::Thread, CULPRIT.to_owned());
            let parts = vec![Segment::new(cause, Some(7), at(0), ns)];
            ledger.add(&WakeupBreakdown { at: at(0), latency, cpu: None, parts });
        }
        let in_force = EffectiveSettings {
            tid: self.tid,
            policy: self.policy,
            slack: Span::ZERO,
            cpus: CpuSet::default(),
            memory_locked: false,
            dma_latency_us: None,
            slice: None,
        };
        let (sender_in_force, runtime, warm_up, caveats) = (None, None, None, Vec::new());
        let started = TurnStarted {
            condition,
            round: 0,
            at: at(0),
            in_force,
            sender_in_force,
            runtime,
            warm_up,
            caveats,
        };
        let (from, until, tracer) = (at(0), at(0), "bpf".to_owned());
        let why = CauseBlock { condition, round: 0, beside: 0, from, until, tracer, ledger };
        let rhythm = WatchedBlock { condition, ..self.rhythm.clone() };
        vec![
            Line::Started(started),
            Line::Block(Box::new(block)),
            Line::Why(Box::new(why)),
            Line::Watched(Box::new(rhythm)),
        ]
    }

    fn condition(&self) -> Condition {
        let work = Work::Watch { mechanism: self.mechanism };
        let (name, thread, policy) = (Some(self.name.to_owned()), self.number, self.policy);
        Condition { thread, name, policy, ..Condition::new(work, "6.1.0") }
    }
}

impl ProgramFixture {
    fn of(rows: Vec<ThreadFixture>) -> Self {
        Self { rows }
    }

    fn analysis(&self) -> Analysis {
        let conditions = self.rows.iter().map(ThreadFixture::condition).collect();
        let mut analysis =
            Analysis::new(Header { command: "watch".into(), ..Header::for_conditions(conditions) });
        for (number, row) in (0..).zip(&self.rows) {
            row.lines(number).iter().for_each(|line| analysis.add(line));
        }
        analysis
    }

    fn shown(&self, detail: Detail, width: usize) -> String {
        shown(&self.analysis(), detail, width)
    }
}

/// Threads of a Node program: V8's are later than the main one, which blocks.
fn node() -> ProgramFixture {
    let mut rows = vec![ThreadFixture::new("node", 0, 100, Activation::Timer, 80).with_event_loop(1)];
    rows.extend(
        (1..=4).map(|number| ThreadFixture::new("node", number, 100 + number, Activation::Event, 2_000)),
    );
    rows.push(ThreadFixture::new("bash", 0, 100, Activation::Event, 9_000).times(3));
    ProgramFixture::of(rows)
}

/// Threads with timers, each later than the one before.
fn program(threads: u32) -> Analysis {
    let work = Work::Watch { mechanism: Activation::Timer };
    let condition = |thread| Condition {
        thread,
        name: Some(format!("worker-{thread}")),
        ..Condition::new(work, "6.1.0")
    };
    let header = Header::for_conditions((0..threads).map(condition).collect());
    let mut analysis = Analysis::new(Header { command: "watch".into(), ..header });
    for number in 0..threads {
        let at = MonotonicTime::from_nanos;
        let mut block = Block { condition: number, ..Block::default() };
        let late = at(10_000 + i64::from(number) * 1_000);
        (0..200).for_each(|_| block.record(Wakeup { expected: at(0), ran: late }, None));
        analysis.add(&Line::Block(Box::new(block)));
    }
    analysis
}

fn shown(analysis: &Analysis, detail: Detail, width: usize) -> String {
    anstream::adapter::strip_str(&report(analysis, detail, width)).to_string()
}

/// Checks that the last lines of a screen have the answer.
#[track_caller]
fn check_answer(text: &str, answer: &[&str]) {
    assert!(text.lines().count() <= 40, "{}: {text}", text.lines().count());
    let lines: Vec<&str> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(24)..].join(" ");
    let text_of_last = last.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in answer {
        assert!(text_of_last.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn a_program_of_many_threads_fits_a_screen_and_the_latest_are_on_it() {
    let analysis = program(30);
    let text = shown(&analysis, Detail::Brief, 80);
    assert!(text.lines().count() <= 40, "{text}");
    assert!(text.contains("worker-29") && !text.contains("worker-3 "), "{text}");
    assert!(text.contains("Not shown: 20 that were less late."), "{text}");
    let all = shown(&analysis, Detail::Full, 80);
    assert!(all.contains("worker-29") && all.contains("worker-3 "), "{all}");
}

#[test]
fn the_event_loop_is_told_before_the_helpers_of_its_runtime() {
    let text = node().shown(Detail::Brief, 80);
    check_answer(
        &text,
        &[
            "node's event loop took more than 10.0 ms in 10 of 100 iterations.",
            "In 10 of the 10 it was blocked in `pread64`, typically for 80.",
            "1. node's event loop is blocked in `pread64` (10 of 10 long iterations, typically 80.",
        ],
    );
    assert!(text.contains("Event loops:") && text.contains("node [100]"), "{text}");
    let folded = "Not shown: 4 threads of Node (V8's and libuv's), the launcher (bash).";
    let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unwrapped.contains(folded), "{text}");
    assert!(!text.contains("node 1"), "{text}");
}

/// Long computations belong in a worker, so there is no such advice for one.
#[test]
fn a_worker_of_node_is_not_told_to_use_one() {
    let screen_of = |name, number| {
        let row = ThreadFixture::new(name, number, 105, Activation::Timer, 90).with_event_loop(1);
        let main = ThreadFixture::new("MainThread", 0, 100, Activation::Timer, 80);
        ProgramFixture::of(vec![main, row]).shown(Detail::Brief, 80)
    };
    for text in [screen_of("node", 0), screen_of("node", 1)] {
        assert!(text.contains("event loop took more than") && !text.contains("worker_threads"), "{text}");
    }
    assert!(screen_of("service", 1).contains("belongs in another thread"));
}

#[test]
fn a_worker_that_somebody_wrote_for_node_is_no_helper() {
    let mut program = node();
    program.rows.push(ThreadFixture::new("node", 5, 105, Activation::Timer, 90).with_event_loop(1));
    let text = program.shown(Detail::Brief, 80);
    assert!(text.contains("node 5 [105]"), "{text}");
}

#[test]
fn the_users_own_thread_is_told_and_not_the_garbage_collector() {
    let own = ThreadFixture::new("pool-1-thread-1", 0, 31, Activation::Timer, 400);
    let collector = ThreadFixture::new("GC Thread#0", 0, 32, Activation::Event, 9_000);
    let text = ProgramFixture::of(vec![collector, own]).shown(Detail::Brief, 80);
    check_answer(&text, &["pool-1-thread-1 runs"]);
    assert!(!text.contains("GC Thread#0") && text.contains("Java virtual machine"), "{text}");
    let alone = ProgramFixture::of(vec![ThreadFixture::new("GC Thread#0", 0, 32, Activation::Event, 9_000)]);
    assert!(alone.shown(Detail::Brief, 80).contains("GC Thread#0"), "it is all there is");
}

#[test]
fn without_advice_it_is_said_why() {
    let shown = |times: u64| {
        let control = ThreadFixture::new("control", 0, 41, Activation::Timer, 900).times(times);
        ProgramFixture::of(vec![control.realtime("fifo:80")]).shown(Detail::Brief, 80)
    };
    let (often, twice) = (shown(1_000), shown(2));
    assert!(often.contains("No advice: howlate knows no remedy for rustc here."), "{often}");
    assert!(twice.contains("No advice: too few late wake-ups were due to rustc."), "{twice}");
}

#[test]
fn a_thread_with_a_deadline_is_told_before_one_that_is_later() {
    let audio =
        ThreadFixture::new("audio", 0, 41, Activation::Event, 30).every(Span::from_micros(2_667), None);
    let ui =
        ThreadFixture::new("ui-redraw", 0, 42, Activation::Timer, 9_000).every(Span::from_millis(16), None);
    let text = ProgramFixture::of(vec![ui, audio.realtime("fifo:65")]).shown(Detail::Brief, 80);
    let (first, second) = (text.find("audio runs").unwrap(), text.find("ui-redraw runs").unwrap());
    assert!(first < second, "{text}");
    let row = |name: &str| text.lines().position(|line| line.contains(name)).unwrap();
    assert!(row("audio [41]") < row("ui-redraw [42]"), "{text}");
}

#[test]
fn turns_that_began_after_the_next_was_due_are_told_where_none_was_missed() {
    let control =
        ThreadFixture::new("control", 0, 51, Activation::Timer, 7_570).every(Span::from_millis(1), Some(0));
    let text = ProgramFixture::of(vec![control]).shown(Detail::Brief, 80);
    check_answer(&text, &["1 000 of 1 000 began after the next was due."]);
    assert!(text.contains("overdue"), "{text}");
    let in_time =
        ThreadFixture::new("control", 0, 51, Activation::Timer, 70).every(Span::from_millis(1), Some(0));
    let text = ProgramFixture::of(vec![in_time]).shown(Detail::Brief, 80);
    assert!(!text.contains("overdue") && !text.contains("was due"), "{text}");
}

#[test]
fn threads_that_share_their_events_raise_no_alarm() {
    let go = |number: u32| {
        ThreadFixture::new("tick", number, 60 + number, Activation::Timer, 90).with_event_loop(3)
    };
    let program = ProgramFixture::of(vec![go(0), go(1), go(2)]);
    let text = program.shown(Detail::Brief, 80);
    assert!(!text.contains("event loop took more than") && !text.contains("above 10.0 ms"), "{text}");
    assert!(!text.contains("What to do"), "{text}");
    check_answer(&text, &["none of them is an event loop of its own"]);
    let all = program.shown(Detail::Full, 120);
    let row = all.lines().find(|line| line.contains("epoll")).unwrap();
    assert!(row.ends_with('–'), "how many were long says nothing: {row}");
}

#[test]
fn a_thread_has_one_answer() {
    let timer = ThreadFixture::new("control", 0, 71, Activation::Timer, 500);
    let event = ThreadFixture::new("control", 0, 71, Activation::Event, 90);
    let text = ProgramFixture::of(vec![event, timer]).shown(Detail::Brief, 80);
    let causes: Vec<&str> = text.lines().filter(|line| line.contains("rustc 100 %")).collect();
    assert_eq!(causes, ["  control [71] after its timer  rustc 100 %"], "{text}");
}

#[test]
fn a_crowd_of_everything_keeps_the_answer_on_the_screen() {
    for width in [60, 80, 200] {
        let mut program = node();
        for number in 0..20 {
            let late = 3_000_000 + u64::from(number) * 1_000;
            program.rows.push(ThreadFixture::new(
                "a-long-name-of-15",
                number,
                200 + number,
                Activation::Event,
                late,
            ));
            program
                .rows
                .push(ThreadFixture::new("seldom", number, 300 + number, Activation::Timer, late).times(20));
        }
        let text = program.shown(Detail::Brief, width);
        check_answer(&text, &["node's event loop took more than", "What to do", "1. node's event loop"]);
        assert!(text.contains("Threads of a program · ms"), "{text}");
        assert!(!text.contains("too few wake-ups"), "no row has too few: {text}");
    }
}

#[test]
fn what_an_account_tells_is_written_as_every_length() {
    let mut thread = ThreadSummary::new(0, MonotonicTime::default());
    thread.waited = Some(Span::from_nanos(71_454));
    let beside = crate::watched_beside(Span::from_secs(2), &[("python3", &thread)]);
    for line in [crate::watched_live("python3", &thread), beside] {
        assert!(line.contains("waited 71.5 µs for a CPU"), "{line}");
    }
}

#[test]
fn an_event_loop_that_others_share_is_not_away_while_it_is_watched() {
    let mut thread = ThreadSummary::new(0, MonotonicTime::default());
    (thread.count, thread.iterations) = (9, (5, 5, Span::from_millis(661)));
    assert!(crate::watched_live("tick", &thread).contains("event loop away for up to 661 ms"));
    thread.shares_events = true;
    assert!(!crate::watched_live("tick", &thread).contains("event loop"));
}

/// The table names the cause that the sentence below it names.
#[test]
fn the_main_cause_is_all_threads_of_a_pool() {
    let mut ledger = Ledger::default();
    for (name, nanos) in [("cgu.04", 300), ("hog", 400), ("cgu.11", 250)] {
        let (from, ns) = (MonotonicTime::default(), Span::from_nanos(nanos));
        let cause = Cause::new(Part::Waiting, CauseKind::Thread, name.to_owned());
        let parts = vec![Segment::new(cause, Some(7), from, ns)];
        ledger.add(&WakeupBreakdown { at: from, latency: Latency::from_span(ns), cpu: None, parts });
    }
    let why = Why::from_ledger(&ledger, "bpf", Some(Span::ZERO), None);
    assert_eq!(super::main_cause_of(&why).as_deref(), Some("cgu.* (58 %)"));
}
