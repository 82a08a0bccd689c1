//! Tasks of measuring threads, and the turns they form.

use serde::{Deserialize, Serialize};

use crate::{Condition, Load, Policy, Span, WaitClock, Work};

/// One thread's work in a turn, and the settings it requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Index of the condition in the recording's header.
    pub condition: u32,
    /// Which of the condition's turns this is, from 0.
    pub round: u32,
    /// What the thread does.
    pub work: Work,
    /// The policy to ask for.
    pub policy: Policy,
    /// The clock to wait on, and to read.
    pub clock: WaitClock,
    /// Whether planned times are moved by a random part of half a period.
    pub dithered: bool,
    /// The timer slack to ask for; `None`: as inherited.
    pub slack: Option<Span>,
    /// The slice to ask the fair scheduler for; `None`: the kernel's.
    pub slice: Option<Span>,
    /// The CPU to bind to; `None`: leave it to the scheduler.
    pub cpu: Option<u32>,
    /// How many wake-ups to measure; `None`: until the turn's duration is over.
    pub samples: Option<u64>,
    /// Wake-ups that come first and are not counted.
    pub warm_up: u64,
    /// How long after the common start the first wake-up is planned.
    pub phase: Span,
    /// Whether to keep every wake-up in order.
    pub keep_series: bool,
}

impl Task {
    /// The first turn of condition `number`, until the turn's duration is over, without warm-up.
    pub fn from_condition(number: usize, condition: &Condition) -> Self {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let (policy, clock, slack, cpu) =
            (condition.policy, condition.clock, condition.slack_ns, condition.cpu);
        let dithered = condition.dithered;
        let slice = condition.tuned.as_ref().and_then(|tuned| tuned.slice);
        Self { condition: number, policy, clock, dithered, slack, slice, cpu, ..Self::new(condition.work) }
    }

    /// A task for the first condition, with default settings.
    pub const fn new(work: Work) -> Self {
        Self {
            condition: 0,
            round: 0,
            work,
            policy: Policy::OTHER,
            clock: WaitClock::Monotonic,
            dithered: false,
            slack: None,
            slice: None,
            cpu: None,
            samples: None,
            warm_up: 0,
            phase: Span::ZERO,
            keep_series: false,
        }
    }
}

/// Tasks that run side by side for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// One per thread.
    pub tasks: Vec<Task>,
    /// The background load meanwhile.
    pub load: Load,
    /// Requested duration; `None`: until every thread has its samples.
    pub duration: Option<Span>,
    /// Cuts threads that are not done after this time and reports them as unfinished.
    pub cut_after: Option<Span>,
    /// Expected duration if nothing is late.
    pub estimate: Span,
}

impl Turn {
    /// Maximum duration, requested or by the cut-off; `None`: until every thread has its samples.
    pub fn lasts(&self) -> Option<Span> {
        [self.duration, self.cut_after].into_iter().flatten().min()
    }
}
