//! The cause of a step: what a control shows, and what begins at its length on this machine.

use howlate_model::{Span, System};
use schemars::JsonSchema;
use serde::Serialize;

use super::controls::{ControlResult, Remainder};
use super::sweep::StepControl;

/// Why sleeps return later from some length on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StepCause {
    /// From its target residency on, the kernel enters an idle state.
    IdleState {
        /// As cpuidle calls it.
        name: String,
        /// Its target residency.
        #[serde(rename = "residency_ns")]
        residency: Span,
        /// How long leaving it may take.
        #[serde(rename = "exit_latency_ns")]
        exit_latency: Span,
    },
    /// The hypervisor, or the guest for it, polls for so long before the CPU is given away.
    HaltPoll {
        /// How long.
        #[serde(rename = "window_ns")]
        window: Span,
        /// Whether it is the guest that polls; else the host by KVM's default, which a guest cannot read.
        in_guest: bool,
    },
    /// Leaving idle takes longer, and nothing is known that begins at this length.
    LeavingIdle,
    /// The timer slack.
    TimerSlack,
    /// Neither control nor place says.
    Unknown,
}

/// What a cause rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Claim")]
pub enum CauseClaim {
    /// A control made the step vanish, and the cause begins at its length.
    Shown,
    /// It begins at the length of the step; no control tells it from others that do.
    Consistent,
    /// Not explained.
    Unexplained,
}

/// The evidence on a step.
pub(crate) struct StepEvidence<'a> {
    /// The lengths between which the step lies: the longest that is certainly before it, the shortest that is certainly after.
    pub(crate) between: [Span; 2],
    /// The timer slack, for which a CPU may stay idle longer than the sleep.
    pub(crate) slack: Span,
    pub(crate) controls: &'a [ControlResult],
    pub(crate) cpu: Option<u32>,
    pub(crate) system: &'a System,
}

impl StepEvidence<'_> {
    fn verdict(&self, control: StepControl) -> Option<Remainder> {
        self.controls.iter().find(|result| result.control == control).map(|result| result.verdict)
    }

    fn vanishes_under(&self, control: StepControl) -> bool {
        self.verdict(control) == Some(Remainder::Gone)
    }

    /// Whether idling for `length` begins with sleeps of the step.
    fn is_here(&self, length: Span) -> bool {
        /// In a wider range, what begins there says nothing of the step.
        const WIDEST: u64 = 3;
        let [before, after] = self.between.map(|sleep| sleep.plus(self.slack));
        let is_known = after <= before.times(WIDEST);
        is_known && before < length.plus(Span::from_nanos(1)) && length <= after
    }

    fn idle_state(&self) -> Option<StepCause> {
        let cpus = &self.system.cpus;
        let cpu = cpus.iter().find(|cpu| Some(cpu.number) == self.cpu).or_else(|| cpus.first())?;
        let state = cpu.idle_states.iter().rev().find(|state| {
            !state.disabled
                && self.is_here(Span::from_micros(state.residency_us))
                && state.exit_latency_us > 0
        })?;
        Some(StepCause::IdleState {
            name: state.name.clone(),
            residency: Span::from_micros(state.residency_us),
            exit_latency: Span::from_micros(state.exit_latency_us),
        })
    }

    fn halt_poll(&self) -> Option<StepCause> {
        let guest_window = self.system.guest_halt_poll_ns.filter(|window| !window.is_zero());
        let windows = [(guest_window, true), (host_halt_poll(self.system), false)];
        windows.into_iter().find_map(|(window, in_guest)| {
            let window = window.filter(|window| self.is_here(*window))?;
            Some(StepCause::HaltPoll { window, in_guest })
        })
    }
}

/// How long KVM on the host polls by default for a guest of this architecture.
///
/// Source: `KVM_HALT_POLL_NS_DEFAULT` in arch/{x86,arm64}/include/asm/kvm_host.h.
pub(crate) fn host_halt_poll(system: &System) -> Option<Span> {
    let is_kvm = system.hypervisor.as_deref() == Some("kvm");
    match system.architecture.as_str() {
        "x86_64" if is_kvm => Some(Span::from_micros(200)),
        "aarch64" if is_kvm => Some(Span::from_micros(500)),
        _ => None,
    }
}

/// The cause, how certain it is, and the control that made the step vanish.
pub(crate) fn explain(evidence: &StepEvidence<'_>) -> (StepCause, CauseClaim, Option<StepControl>) {
    use StepControl::{Awake, DmaLatency, Slack};
    if evidence.vanishes_under(Slack) {
        return (StepCause::TimerSlack, CauseClaim::Shown, Some(Slack));
    }
    let (state, polling) = (evidence.idle_state(), evidence.halt_poll());
    let idle = [DmaLatency, Awake].into_iter().find(|control| evidence.vanishes_under(*control));
    match (idle, state, polling) {
        // The limit keeps the CPU out of this state, and of similar ones.
        (Some(DmaLatency), Some(state), _) => (state, CauseClaim::Shown, idle),
        (Some(_), Some(found), _) | (Some(_), None, Some(found)) => (found, CauseClaim::Consistent, idle),
        (Some(_), None, None) => (StepCause::LeavingIdle, CauseClaim::Shown, idle),
        (None, state, polling) => without_control(evidence, state.or(polling)),
    }
}

/// The cause if no control made the step vanish: what begins there, unless a control has ruled it out.
fn without_control(
    evidence: &StepEvidence<'_>,
    found: Option<StepCause>,
) -> (StepCause, CauseClaim, Option<StepControl>) {
    let is_ruled_out = evidence.verdict(StepControl::Awake) == Some(Remainder::Remains);
    match found.filter(|_| !is_ruled_out) {
        Some(cause) => (cause, CauseClaim::Consistent, None),
        None => (StepCause::Unknown, CauseClaim::Unexplained, None),
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::{Cpu, IdleState, Latency};

    use super::*;
    use crate::Interval;

    fn result_of(control: StepControl, verdict: Remainder) -> ControlResult {
        let zero = Latency::from_nanos(0);
        ControlResult { control, left: zero, interval: Interval { low: zero, high: zero }, verdict }
    }

    /// A guest of KVM, or a server with a deep idle state from 600 µs on.
    fn machine(is_guest: bool) -> System {
        let deep = IdleState { name: "C6".into(), exit_latency_us: 133, residency_us: 600, disabled: false };
        let cpu = Cpu { number: 1, idle_states: vec![deep], ..Cpu::default() };
        System {
            architecture: "x86_64".into(),
            hypervisor: is_guest.then(|| "kvm".to_owned()),
            cpus: if is_guest { vec![] } else { vec![cpu] },
            ..System::default()
        }
    }

    #[track_caller]
    fn check(
        is_guest: bool,
        micros: [u64; 2],
        controls: &[(StepControl, Remainder)],
        expected: (&str, CauseClaim, Option<StepControl>),
    ) {
        let controls: Vec<_> =
            controls.iter().map(|(control, verdict)| result_of(*control, *verdict)).collect();
        let (cause, claim, control) = explain(&StepEvidence {
            between: micros.map(Span::from_micros),
            slack: Span::from_micros(50),
            controls: &controls,
            cpu: Some(1),
            system: &machine(is_guest),
        });
        let kind = serde_json::to_value(&cause).unwrap()["kind"].as_str().unwrap().to_owned();
        assert_eq!((kind.as_str(), claim, control), expected);
    }

    #[test]
    fn a_cause_is_shown_only_where_a_control_made_the_step_vanish() {
        use Remainder::{Gone, Remains, Unclear};
        use StepControl::{Awake, DmaLatency, Slack};
        let deep = [500, 630];
        check(
            false,
            deep,
            &[(DmaLatency, Gone), (Awake, Gone)],
            ("idle_state", CauseClaim::Shown, Some(DmaLatency)),
        );
        check(false, deep, &[(Awake, Gone)], ("idle_state", CauseClaim::Consistent, Some(Awake)));
        check(false, deep, &[(Awake, Unclear)], ("idle_state", CauseClaim::Consistent, None));
        check(false, deep, &[(Awake, Remains)], ("unknown", CauseClaim::Unexplained, None));
        check(
            false,
            [1_000, 1_250],
            &[(DmaLatency, Gone)],
            ("leaving_idle", CauseClaim::Shown, Some(DmaLatency)),
        );
        check(false, deep, &[(Slack, Gone), (Awake, Gone)], ("timer_slack", CauseClaim::Shown, Some(Slack)));
        check(false, [20, 25], &[], ("unknown", CauseClaim::Unexplained, None));
    }

    #[test]
    fn the_slack_counts_as_time_asleep() {
        use StepControl::Awake;
        let gone = [(Awake, Remainder::Gone)];
        // 200 µs of polling are over in sleeps of 150 µs, which may last 50 µs longer.
        check(true, [125, 160], &gone, ("halt_poll", CauseClaim::Consistent, Some(Awake)));
        check(true, [16, 1_600], &gone, ("leaving_idle", CauseClaim::Shown, Some(Awake)));
        check(true, [200, 250], &gone, ("leaving_idle", CauseClaim::Shown, Some(Awake)));
    }
}
