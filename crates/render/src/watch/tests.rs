//! How much of a watched program fits a screen.

use howlate_analyse::Analysis;
use howlate_analyse::watch::ThreadSummary;
use howlate_model::{Activation, Block, Condition, Header, Line, MonotonicTime, Span, Wakeup, Work};

use crate::{Detail, report};

/// So many threads with timers, each later than the one before it.
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

fn shown(analysis: &Analysis, detail: Detail) -> String {
    anstream::adapter::strip_str(&report(analysis, detail, 80)).to_string()
}

#[test]
fn a_program_of_many_threads_fits_a_screen_and_the_latest_are_on_it() {
    let analysis = program(30);
    let text = shown(&analysis, Detail::Brief);
    assert!(text.lines().count() <= 40, "{text}");
    assert!(text.contains("worker-29") && !text.contains("worker-3 "), "{text}");
    assert!(text.contains("20 more were less late: `howlate show --details`."), "{text}");
    let all = shown(&analysis, Detail::Full);
    assert!(all.contains("worker-29") && all.contains("worker-3 "), "{all}");
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
