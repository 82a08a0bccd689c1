//! Explanations in words.

use howlate_analyse::{Insight, Origin};

use crate::numbers::length;

/// What an explanation says, and what to do.
pub(crate) fn insight(insight: &Insight) -> String {
    match insight {
        Insight::TimerSlack { slack, least } => format!(
            "Timer slack: the kernel may add up to {} to each sleep of a normal thread, and does (least seen: {least}). \
             `--slack 1ns` measures without it; in a program: prctl(PR_SET_TIMERSLACK, 1). A real-time policy has none.",
            length(*slack)
        ),
        Insight::Tick { tick } => format!(
            "Ticks: short sleeps end on the kernel's tick every {}: high-resolution timers are missing. \
             See `howlate doctor`.",
            length(*tick)
        ),
        Insight::Step { below, above, median_below, median_above, origins } => {
            let causes: Vec<String> = origins.iter().map(origin).collect();
            let cause = if causes.is_empty() {
                "The cause is not known: a deeper idle state, or a lower frequency, is likely.".to_owned()
            } else {
                causes.join(" ")
            };
            format!(
                "A step: sleeps of {below} are {median_below} late, sleeps of {above} {median_above}. {cause}"
            )
        }
    }
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::IdleState { name, residency, exit_latency } => format!(
            "Idle state {name} becomes worth entering at {} and takes up to {} to leave; \
             `--dma-latency 0us` keeps the CPU out of it.",
            length(*residency),
            length(*exit_latency)
        ),
        Origin::HaltPoll { limit } => format!(
            "KVM on the host polls for {} (halt_poll_ns) before it gives an idle guest CPU away; \
             longer sleeps pay for getting it back.",
            length(*limit)
        ),
    }
}
