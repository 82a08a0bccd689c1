//! What the screen holds, on few CPUs and on many.

use howlate_model::{
    Block, Cause, CauseBlock, CauseKind, Condition, Finding, FindingId, Header, Latency, Ledger, Line, Load,
    MonotonicTime, Part, Policy, Priority, Remedy, Segment, Span, Verdict, Wait, Wakeup, WakeupBreakdown,
};

use super::*;

const CYCLIC: Work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
const FIFO: Policy = Policy::Fifo { priority: Priority::USUAL };

/// A loop of 1 ms on each CPU, with ordinary and real-time policy, idle and beside a load: 1 000 wake-ups in 10 turns each, of
/// which `hog` delayed 2 %, and as many traced ones.
fn recording(cpus: u32) -> Analysis {
    recording_of(cpus, &[Load::IDLE, Load::cpu()])
}

fn recording_of(cpus: u32, loads: &[Load]) -> Analysis {
    let mut conditions = Vec::new();
    for policy in [Policy::OTHER, FIFO] {
        for load in loads {
            conditions.extend((0..cpus).map(|cpu| Condition {
                policy,
                load: load.clone(),
                cpu: Some(cpu),
                thread: cpu,
                ..Condition::new(CYCLIC, "6.1.0")
            }));
        }
    }
    let late: Vec<i64> =
        conditions.iter().map(|condition| if condition.policy == FIFO { 9_000 } else { 70_000 }).collect();
    let mut analysis = Analysis::new(Header {
        howlate: "0.1.0".into(),
        command: "cyclic".into(),
        findings: vec![permission()],
        ..Header::for_conditions(conditions)
    });
    for (condition, late) in (0..).zip(late) {
        (0..10).for_each(|round| analysis.add(&turn(condition, round, late)));
        analysis.add(&traced(condition, late * 100));
    }
    analysis
}

fn permission() -> Finding {
    let remedy = Some(Remedy {
        apply: vec!["chrt --fifo 80 PROGRAM …".into()],
        undo: Vec::new(),
        ..Remedy::default()
    });
    let (found, why) = ("any real-time priority may be set here".into(), String::new());
    let (id, verdict, evidence) = (FindingId::RealtimePermission, Verdict::Good, Vec::new());
    Finding { id, verdict, found, evidence, why, cost: None, remedy }
}

fn turn(condition: u32, round: u32, late: i64) -> Line {
    let mut block = Block { condition, round, ..Block::default() };
    let at = MonotonicTime::from_nanos;
    for number in 0..100 {
        let late = if number < 2 { late * 100 } else { late + i64::from(round) };
        block.record(Wakeup { expected: at(0), ran: at(late) }, None);
    }
    Line::Block(Box::new(block))
}

fn traced(condition: u32, late: i64) -> Line {
    let mut ledger = Ledger::default();
    for number in 0..100 {
        let name = format!("hog-{}", number % 4);
        let (from, ns) = (MonotonicTime::default(), Span::from_nanos(late.unsigned_abs()));
        let cause = Cause::new(Part::Waiting, CauseKind::Thread, name);
        let parts = vec![Segment::new(cause, Some(7), from, ns)];
        ledger.add(&WakeupBreakdown { at: from, latency: Latency::from_nanos(late), cpu: None, parts });
    }
    let (from, until, tracer) = (MonotonicTime::default(), MonotonicTime::default(), "bpf".to_owned());
    Line::Why(Box::new(CauseBlock { condition, round: 10, beside: 0, from, until, tracer, ledger }))
}

fn shown(analysis: &Analysis) -> Vec<String> {
    let text = crate::report(analysis, crate::Detail::Brief, 80);
    anstream::adapter::strip_str(&text).to_string().lines().map(str::to_owned).collect()
}

#[test]
fn a_run_is_one_screen_and_its_end_is_the_answer() {
    let lines = shown(&recording(2));
    let text = lines.join("\n");
    assert!(lines.len() <= 40, "{} lines:\n{text}", lines.len());
    assert!(lines.iter().all(|line| crate::prose::text_width(line) <= 80), "{text}");
    let end = lines[lines.len().saturating_sub(24)..].join("\n");
    for expected in
        ["900 µs", "7.00 ms", "times less", "hog-* (4 names) 100 %", "chrt --fifo 80", "Measured here: p99"]
    {
        assert!(end.contains(expected), "`{expected}` is not in:\n{end}");
    }
}

#[test]
fn cpus_take_no_lines() {
    assert_eq!(shown(&recording(64)).len(), shown(&recording(2)).len());
}

#[test]
fn on_request_they_have_a_row_and_causes_each() {
    let text = crate::report(&recording(3), Detail::PerCpu, 80);
    let text = anstream::adapter::strip_str(&text).to_string();
    let rows = text.lines().filter(|line| line.trim_start().starts_with("fifo:80")).count();
    // Two loads on three CPUs, each with its numbers and its causes.
    assert_eq!(rows, 12, "{text}");
    assert!(text.contains("CPU 2"), "{text}");
    assert!(!shown(&recording(3)).join("\n").contains("hog-* (4 names) 100 %\n  other · CPU"));
}

#[test]
fn a_part_that_was_traced_unasked_is_called_one() {
    let is_in_part = |wakeups_per_turn: u32| {
        let mut analysis = Analysis::new(recording(1).header);
        (0..wakeups_per_turn).for_each(|round| analysis.add(&turn(0, round, 70_000)));
        analysis.add(&traced(0, 7_000_000));
        shown(&analysis).join(" ").contains("in a tenth of the run")
    };
    assert!(is_in_part(10) && !is_in_part(2));
}

#[test]
fn eight_conditions_and_many_doubts_are_one_screen_as_well() {
    for cpus in [2, 64] {
        eight_conditions_with_doubts(cpus);
    }
}

fn eight_conditions_with_doubts(cpus: u32) {
    let loads = ["idle", "cpu", "pipe", "timers"].map(|load| load.parse().unwrap());
    let mut analysis = recording_of(cpus, &loads);
    analysis.header.system.processor = "A processor with a name".into();
    for number in 1..9 {
        let path = format!("part-{number}.jsonl");
        analysis.add(&Line::Caveat(howlate_model::Caveat::NoEnd { path }));
    }
    let lines = shown(&analysis);
    let text = lines.join("\n");
    assert!(lines.len() <= 40, "{} lines:\n{text}", lines.len());
    assert!(text.contains("more notes") && text.contains("What to do"), "{text}");
    assert!(lines.iter().all(|line| crate::prose::text_width(line) <= 80), "{text}");
    let end = lines[lines.len() - 24..].join("\n");
    for expected in ["at best", "at worst", "times less", "Causes of", "timers  hog-*", "chrt --fifo 80"] {
        assert!(end.contains(expected), "`{expected}` is not in:\n{end}");
    }
}

#[test]
fn a_single_loop_is_told_in_a_sentence() {
    let mut analysis = Analysis::new(Header {
        command: "cyclic".into(),
        ..Header::for_conditions(vec![Condition::new(CYCLIC, "6.1.0")])
    });
    (0..10).for_each(|round| analysis.add(&turn(0, round, 9_000)));
    let text = shown(&analysis).join("\n");
    assert!(text.contains("99 % of iterations start within 900 µs"), "{text}");
    assert!(!text.contains("What to do") && !text.contains("Causes"), "nothing was traced: {text}");
}

#[test]
fn only_an_ordinary_thread_is_offered_priority() {
    let advised = |policy| {
        let recording = recording(1);
        let only = recording.only(|condition| condition.policy == policy);
        CauseReport::find(&only, None, Detail::Brief).remedies(MOST_REMEDIES, 80)
    };
    let ordinary = anstream::adapter::strip_str(&advised(Policy::OTHER)).to_string().replace("\n     ", " ");
    assert!(
        ordinary.contains("Not tried here. To try it: `howlate tune --knobs fifo,nice,slice`."),
        "{ordinary}"
    );
    assert_eq!(advised(FIFO), "", "it has priority already");
}

#[test]
fn what_counts_as_late_is_what_was_asked_for() {
    let title = |above: Option<Span>, threshold: Option<Span>| {
        let mut header = recording(1).header;
        header.late_above = threshold;
        let mut analysis = Analysis::new(header);
        analysis.add(&traced(0, 7_000_000));
        CauseReport::find(&analysis, above, Detail::Brief).causes(80)
    };
    let millis = |number| Some(Span::from_millis(number));
    assert!(title(None, None).contains("slowest 1 %"));
    assert!(
        title(None, millis(1)).contains("at least 1.00 ms late, counted from 918 µs"),
        "{}",
        title(None, millis(1))
    );
    assert!(
        title(millis(2), millis(1)).contains("at least 2.00 ms late, counted from 1.84 ms"),
        "{}",
        title(millis(2), millis(1))
    );
    assert!(title(millis(60), None).contains("None of 100 traced wake-ups was at least 60 ms late."));
}

#[test]
fn what_names_need_is_said_where_there_are_none() {
    let causes = |tracer: &str| {
        let mut analysis = Analysis::new(recording(1).header);
        let Line::Why(mut block) = traced(0, 7_000_000) else { panic!() };
        tracer.clone_into(&mut block.tracer);
        analysis.add(&Line::Why(block));
        CauseReport::find(&analysis, None, Detail::Brief).causes(80).contains("names need root")
    };
    assert!(causes("switches") && !causes("bpf"));
}

#[test]
fn other_work_keeps_its_tables() {
    let sleep = Work::Sleep {
        mechanism: howlate_model::Sleeper::Wait(Wait::Nanosleep),
        target_ns: Span::from_millis(1),
    };
    let analysis = Analysis::new(Header::for_conditions(vec![Condition::new(sleep, "6.1.0")]));
    assert!(!is_on_one_screen(&analysis));
}

#[test]
fn a_stall_that_was_not_traced_is_not_explained_by_those_that_were() {
    let mentions_untraced_stall = |latest_traced: i64| {
        let mut analysis = Analysis::new(recording(1).header);
        (0..2).for_each(|round| analysis.add(&turn(0, round, 70_000)));
        analysis.add(&traced(0, latest_traced));
        let text = shown(&analysis).join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        text.contains("The slowest wake-up (7.00 ms") && text.contains("was in a turn without tracing")
    };
    assert!(mentions_untraced_stall(70_000) && !mentions_untraced_stall(7_000_000));
}
