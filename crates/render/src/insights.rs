//! Explanations in words.

use howlate_analyse::{Insight, Origin};

/// What an explanation says, and what to do.
pub(crate) fn insight(insight: &Insight) -> String {
    match insight {
        Insight::TimerSlack { slack, least } => format!(
            "Timer slack: the kernel may add up to {slack} to each sleep of a normal thread, and does (least seen: {least}). \
             `--slack 1ns` measures without it; in a program: prctl(PR_SET_TIMERSLACK, 1). A real-time policy has none."
        ),
        Insight::Tick { tick } => format!(
            "Ticks: short sleeps end on the kernel's tick every {tick}: high-resolution timers are missing. \
             See `howlate doctor`."
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
            "Idle state {name} becomes worth entering at {residency} and takes up to {exit_latency} to leave; \
             `--dma-latency 0us` keeps the CPU out of it."
        ),
        Origin::HaltPoll { limit } => format!(
            "KVM on the host polls for {limit} (halt_poll_ns) before it gives an idle guest CPU away; \
             longer sleeps pay for getting it back."
        ),
    }
}
