//! Builders of conditions and analyses for tests.

use howlate_analyse::Analysis;
use howlate_model::{
    AsText, Caveat, Condition, EffectiveSettings, Header, Latency, Line, MonotonicTime, Policy, Sleeper,
    SourceRecording, Span, TurnStarted, Wait, Work,
};

/// A condition: `sleep LENGTH` or `cyclic`, under this policy.
pub(crate) fn condition(work: &str, policy: &str, cpu: Option<u32>) -> Condition {
    let work = match work.strip_prefix("sleep ") {
        Some(length) => {
            Work::Sleep { mechanism: Sleeper::Wait(Wait::ClockNanosleep), target_ns: length.parse().unwrap() }
        }
        None => Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) },
    };
    Condition {
        policy: policy.parse().unwrap(),
        cpu,
        thread: cpu.unwrap_or(0),
        ..Condition::new(work, "6.1.0")
    }
}

/// Periodic work on a CPU.
pub(crate) fn cyclic(policy: &str, cpu: u32) -> Condition {
    condition("cyclic", policy, Some(cpu))
}

/// A recording without wake-ups.
pub(crate) fn analysis(conditions: Vec<Condition>) -> Analysis {
    Analysis::new(Header {
        howlate: "0.1.0".into(),
        command: "cyclic".into(),
        ..Header::for_conditions(conditions)
    })
}

/// Adds a block of `count` wake-ups, each `late` nanoseconds late.
pub(crate) fn add(analysis: &mut Analysis, condition: u32, count: u64, late: i64) {
    let mut block = howlate_model::Block { condition, ..Default::default() };
    block.latency.record_n(Latency::from_nanos(late), count);
    analysis.add(&Line::Block(Box::new(block)));
}

/// Adds a turn of 200 wake-ups, each `late` nanoseconds late.
pub(crate) fn turn(analysis: &mut Analysis, condition: u32, round: u32, late: i64) {
    let mut block = howlate_model::Block { condition, round, ..Default::default() };
    block.latency.record_n(Latency::from_nanos(late), 200);
    analysis.add(&Line::Block(Box::new(block)));
}

/// Adds a turn in which the policy was refused, so that it ran as `other`.
pub(crate) fn refuse(analysis: &mut Analysis, condition: u32) {
    let policy = analysis.header.conditions[condition as usize].policy;
    let in_force = EffectiveSettings {
        tid: 1,
        policy: Policy::OTHER,
        slack: Span::ZERO,
        cpus: "0".parse().unwrap(),
        memory_locked: true,
        dma_latency_us: None,
        slice: None,
    };
    analysis.add(&Line::Started(TurnStarted {
        condition,
        round: 0,
        at: MonotonicTime::default(),
        in_force,
        sender_in_force: None,
        runtime: None,
        warm_up: None,
        caveats: vec![Caveat::policy_refused(
            policy,
            Policy::OTHER,
            AsText::Text("not permitted".into()),
            None,
        )],
    }));
}

/// A recording of `nodes` machines under two policies; those in `late` are 30 µs later than the others.
pub(crate) fn fleet(nodes: u32, late: &[u32]) -> Analysis {
    let condition_of = |node: u32, policy: &str| Condition {
        node: Some(format!("n{node}")),
        ..condition("cyclic", policy, None)
    };
    let conditions =
        ["other", "fifo:80"].iter().flat_map(|policy| (0..nodes).map(move |node| condition_of(node, policy)));
    let mut analysis = analysis(conditions.collect());
    for node in 0..nodes {
        source(&mut analysis, format!("n{node}"));
        for (condition, round) in
            [node, nodes + node].into_iter().flat_map(|condition| (0..6).map(move |round| (condition, round)))
        {
            let latency = 50_000 + i64::from((node * 7 + round * 3) % 11) * 300;
            turn(&mut analysis, condition, round, latency + if late.contains(&node) { 30_000 } else { 0 });
        }
    }
    analysis
}

fn source(analysis: &mut Analysis, name: String) {
    analysis.add(&Line::Source(Box::new(SourceRecording {
        id: name.clone(),
        called: name,
        command: "cyclic".into(),
        ..SourceRecording::default()
    })));
}
