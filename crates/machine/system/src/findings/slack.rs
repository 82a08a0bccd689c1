//! How much later than asked the kernel may let an ordinary thread's timer expire.

use crate::settings::TIMER_SLACK_FILE;
use howlate_model::{Finding, FindingId, Verdict};
use howlate_procfs::{Kernel, Root};

use super::draft::finding;
use super::permissions::may_be_realtime;

/// Slack that no wake-up latency of an ordinary thread would show, in nanoseconds.
const UNNOTICED: u64 = 1_000;

pub(super) fn examine(root: &Root) -> Option<Finding> {
    let slack = root.reading(TIMER_SLACK_FILE);
    let nanos: u64 = slack.number()?;
    let is_noticed = nanos > UNNOTICED;
    let verdict = match is_noticed {
        false => Verdict::Good,
        // Who may have a real-time policy has no slack where it matters.
        true if Kernel::is_realtime(root) || may_be_realtime(root) => Verdict::Note,
        true => Verdict::Costs,
    };
    let found = format!("timers of this process may expire {} µs late", nanos / 1000);
    let draft = finding(FindingId::TimerSlack, verdict, found).seen(&slack).why(
        "The kernel delays the sleeps and timeouts of ordinary threads by up to this much, so that \
            several can end together. Real-time threads and timerfd are exempt.",
    );
    let mended = draft.when(is_noticed, |draft| {
        draft
            .typically(
                format!("{} µs on every sleep of an ordinary thread", nanos / 1000),
                "prctl(2), PR_SET_TIMERSLACK; the step of 50 µs in RPCS3 pull request 6697",
            )
            .apply("echo 1 > /proc/$$/timerslack_ns   # this shell and what it starts")
            .apply("in a program of your own, call `prctl(PR_SET_TIMERSLACK, 1)` in each thread")
            .undo(format!("echo {nanos} > /proc/$$/timerslack_ns"))
    });
    Some(mended.end())
}
