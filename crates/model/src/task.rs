//! What measuring threads are to do.

use serde::{Deserialize, Serialize};

use crate::{Load, Policy, Span, Work};

/// One turn of one condition: a thread's work and the settings it asks for.
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
    /// The timer slack to ask for; `None`: as inherited.
    pub slack: Option<Span>,
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

/// Tasks that run side by side for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// One per thread.
    pub tasks: Vec<Task>,
    /// The background load meanwhile.
    pub load: Load,
    /// Ends after this time, as asked; `None`: when every thread has its samples.
    pub duration: Option<Span>,
    /// Cuts threads that are not done after this time and reports them as unfinished.
    pub cut_after: Option<Span>,
    /// How long it will take if nothing is late.
    pub estimate: Span,
}
