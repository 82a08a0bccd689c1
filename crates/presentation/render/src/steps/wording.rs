//! Sentences on steps in the lateness of sleeps.

use howlate_analyse::Analysis;
use howlate_analyse::steps::{CauseClaim, IdleStateEntries, LengthStep, Staircase, StepCause, StepControl};
use howlate_model::Latency;

use crate::numbers::{count, length, round, signed_latency};

/// Where the steps are.
pub(super) fn headline(staircase: &Staircase) -> String {
    let (Some(first), Some(last)) = (staircase.lengths.first(), staircase.lengths.last()) else {
        return String::new();
    };
    let (first, last) = (length(*first), length(*last));
    let at: Vec<String> = staircase.steps.iter().map(place).collect();
    match &at[..] {
        [] => {
            let late = staircase.levels.first().map_or_else(Latency::default, |level| level.late);
            format!("No step: sleeps of {first} to {last} return about {late} late, whatever their length.")
        }
        [step] => format!("The lateness of sleeps has one step: {step}."),
        several => format!("The lateness of sleeps has {} steps: {}.", several.len(), several.join(", ")),
    }
}

/// `at 160 µs (+6.94 µs)`; a range where the position is uncertain.
fn place(step: &LengthStep) -> String {
    let [before, after] = step.between.map(length);
    let place = match uncertainty(step).is_empty() {
        true => format!("at {}", length(step.at)),
        false => format!("between {before} and {after}"),
    };
    format!("{place} ({})", signed_latency(step.rise.as_nanos() as f64))
}

/// The cause of a step, and the evidence.
pub(crate) fn sentence(step: &LengthStep) -> String {
    let cause = match step.claim {
        CauseClaim::Shown => what_is(&step.cause),
        CauseClaim::Consistent => format!("{}consistent with {}", leaving_idle(step), what_is(&step.cause)),
        CauseClaim::Unexplained => "not explained".to_owned(),
    };
    let mut text = format!("At {}: {cause}{}.", length(step.at), by_control(step));
    let more = [why(&step.cause), idle_state_change(&step.entered), uncertainty(step)];
    for sentence in more.iter().filter(|sentence| !sentence.is_empty()) {
        text.push_str(&format!(" {sentence}"));
    }
    text
}

/// Any control proves at least that the step is the cost of leaving idle.
fn leaving_idle(step: &LengthStep) -> &'static str {
    if step.control.is_some() { "leaving idle, " } else { "" }
}

fn what_is(cause: &StepCause) -> String {
    match cause {
        StepCause::IdleState { name, .. } => format!("idle state {name}"),
        StepCause::HaltPoll { .. } => "the end of halt polling".to_owned(),
        StepCause::LeavingIdle => "leaving idle".to_owned(),
        StepCause::TimerSlack => "timer slack".to_owned(),
        StepCause::Unknown => "an unknown cause".to_owned(),
    }
}

/// `: 0.21 µs of 6.94 µs are left with the CPU kept awake`, or that no control removed it.
fn by_control(step: &LengthStep) -> String {
    let rise = unsigned(step.rise);
    if let Some(controlled) = step.controls.iter().find(|controlled| Some(controlled.control) == step.control)
    {
        return format!("; {} of {rise} are left {}", controlled.left, control_in_words(controlled.control));
    }
    if step.controls.is_empty() { "; no control was tried" } else { "; no control made it vanish" }.to_owned()
}

fn unsigned(rise: Latency) -> Latency {
    Latency::from_nanos(rise.as_nanos().abs())
}

/// Facts on the cause, and what to do.
fn why(cause: &StepCause) -> String {
    match cause {
        StepCause::IdleState { residency, exit_latency, .. } => format!(
            "It is entered from {} on (target residency) and takes up to {} to leave; `--dma-latency 0us` keeps the CPU out.",
            length(*residency),
            length(*exit_latency)
        ),
        StepCause::HaltPoll { window, in_guest: true } => {
            format!("The guest polls for {} before it halts (guest_halt_poll_ns).", length(*window))
        }
        StepCause::HaltPoll { window, in_guest: false } => format!(
            "KVM on the host polls for {} by default before it gives the CPU away (halt_poll_ns).",
            length(*window)
        ),
        StepCause::LeavingIdle => "Nothing that is known here begins at this length.".to_owned(),
        StepCause::TimerSlack => "`prctl(PR_SET_TIMERSLACK, 1)` removes it, without privileges.".to_owned(),
        StepCause::Unknown => String::new(),
    }
}

/// The idle state whose use changes most, if by much.
fn idle_state_change(entered: &[IdleStateEntries]) -> String {
    const MUCH: f64 = 0.3;
    let change = |state: &IdleStateEntries| (state.per_sleep_above - state.per_sleep_below).abs();
    let most = entered.iter().max_by(|state, other_state| change(state).total_cmp(&change(other_state)));
    most.filter(|state| change(state) >= MUCH).map_or_else(String::new, |state| {
        format!(
            "Entries of {} per sleep: {} before the step, {} after it (cpuidle).",
            state.name,
            round(state.per_sleep_below),
            round(state.per_sleep_above)
        )
    })
}

/// The range of a step's position, if not between neighbouring lengths.
fn uncertainty(step: &LengthStep) -> String {
    let [before, after] = step.between;
    /// Neighbouring lengths of a sweep differ by at most a factor of 1.28.
    const NEIGHBOURS: f64 = 1.3;
    let apart = after.as_nanos() as f64 / before.as_nanos().max(1) as f64;
    if apart <= NEIGHBOURS {
        return String::new();
    }
    format!("It lies between {} and {}.", length(before), length(after))
}

/// Column heading of a control.
pub(super) const fn control_name(control: StepControl) -> &'static str {
    match control {
        StepControl::Awake => "CPU awake",
        StepControl::DmaLatency => "DMA 0 µs",
        StepControl::Slack => "slack 1 ns",
    }
}

/// Description of a control.
pub(super) const fn control_in_words(control: StepControl) -> &'static str {
    match control {
        StepControl::Awake => "with the CPU kept awake",
        StepControl::DmaLatency => "with /dev/cpu_dma_latency at 0",
        StepControl::Slack => "with a timer slack of 1 ns",
    }
}

/// How the sweep was measured, and which controls are missing.
pub(super) fn how(staircase: &Staircase, analysis: &Analysis) -> String {
    let condition = analysis.header.conditions.get(staircase.condition as usize);
    let call = condition.map_or_else(String::new, |condition| format!(" by {}", condition.work.mechanism()));
    let cpu = condition
        .and_then(|condition| condition.cpu)
        .map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
    let one_in = round_up(1.0 / staircase.false_alarms);
    let refused = staircase.dma_latency_refused.as_ref().map_or_else(String::new, |reason| {
        format!(" Not tried: /dev/cpu_dma_latency at 0, which needs root ({reason}).")
    });
    format!(
        "{} lengths{call}{cpu}, {} rounds in random order; noise alone shows a step in at most 1 of {one_in} runs.{refused}",
        staircase.lengths.len(),
        count(staircase.rounds as u64)
    )
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share between 0 and 1")]
fn round_up(number: f64) -> String {
    count(number.round() as u64)
}

#[cfg(test)]
mod tests {
    use howlate_analyse::Interval;
    use howlate_analyse::steps::{ControlResult, Remainder};
    use howlate_model::Span;

    use super::*;

    fn step(cause: StepCause, claim: CauseClaim, control: Option<StepControl>, left: i64) -> LengthStep {
        let latency = Latency::from_nanos;
        let (rise, interval) = (latency(6_940), Interval { low: latency(6_100), high: latency(7_700) });
        let verdict = if control.is_some() { Remainder::Gone } else { Remainder::Remains };
        let left = latency(left);
        LengthStep {
            at: Span::from_micros(160),
            from: latency(54_600),
            to: latency(61_540),
            between: [Span::from_micros(125), Span::from_micros(160)],
            rise,
            interval,
            cause,
            claim,
            control,
            controls: vec![ControlResult { control: StepControl::Awake, left, interval, verdict }],
            entered: Vec::new(),
        }
    }

    #[test]
    fn a_cause_is_stated_with_the_controls_numbers_and_otherwise_only_consistent() {
        let awake = Some(StepControl::Awake);
        let polling = || StepCause::HaltPoll { window: Span::from_micros(200), in_guest: false };
        let left = "210 ns of 6.94 µs are left with the CPU kept awake";
        let polls =
            "KVM on the host polls for 200 µs by default before it gives the CPU away (halt_poll_ns).";
        assert_eq!(
            sentence(&step(StepCause::LeavingIdle, CauseClaim::Shown, awake, 210)),
            format!("At 160 µs: leaving idle; {left}. Nothing that is known here begins at this length.")
        );
        assert_eq!(
            sentence(&step(polling(), CauseClaim::Consistent, awake, 210)),
            format!("At 160 µs: leaving idle, consistent with the end of halt polling; {left}. {polls}")
        );
        assert_eq!(
            sentence(&step(polling(), CauseClaim::Consistent, None, 4_000)),
            format!("At 160 µs: consistent with the end of halt polling; no control made it vanish. {polls}")
        );
        assert_eq!(
            sentence(&step(StepCause::Unknown, CauseClaim::Unexplained, None, 6_900)),
            "At 160 µs: not explained; no control made it vanish."
        );
    }
}
