//! What a helper process is told, and what it tells.

use howlate_model::{InjectedCause, MonotonicTime, Span, Wakeup};
use serde::{Deserialize, Serialize};

use super::class::Class;

/// What a helper process is in the making of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    /// The one that sleeps, and is late.
    Measured,
    /// One of those that make it late, by number.
    Maker(u32),
}

/// What a helper process is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Which cause is made.
    pub(crate) class: Class,
    /// Which part it takes.
    pub(crate) part: Part,
    /// The CPU on which it happens.
    pub(crate) cpu: u32,
    /// How long the cause lasts.
    pub(crate) lasts: Span,
    /// For makers: the measured process.
    pub(crate) measured: Option<u32>,
    /// For makers of `throttled`: the folder of the group whose quota it uses up.
    pub(crate) group: Option<String>,
}

/// What a helper process says before it begins.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Ready {
    Ready,
    /// It cannot be done here.
    Cannot(String),
}

/// What a helper process has to tell in the end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct InjectorReport {
    /// Of the measured thread: every wake-up, in order.
    pub(crate) wakeups: Vec<(MonotonicTime, MonotonicTime)>,
    /// What it made, and when.
    pub(crate) known: Option<InjectedCause>,
}

impl InjectorReport {
    /// The wake-ups, the time asked for and the time they became.
    pub(crate) fn wakeups(&self) -> impl Iterator<Item = Wakeup> {
        self.wakeups.iter().map(|(expected, ran)| Wakeup { expected: *expected, ran: *ran })
    }
}

/// From when until when a class is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) start: MonotonicTime,
    pub(crate) end: MonotonicTime,
}

impl Stretch {
    /// A time every `every`, the first `after` the start.
    pub(crate) fn grid(self, every: Span, after: Span) -> impl Iterator<Item = MonotonicTime> {
        let times = (0_u64..).map(move |number| self.start.plus(after).plus(every.times(number)));
        times.take_while(move |time| *time < self.end)
    }
}
