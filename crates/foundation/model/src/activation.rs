//! What makes a thread of a watched program run again.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What makes a thread of a watched program run again; it decides from when on the wake-up counts as late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// A timer that expired and woke it: late from the time that the timer was set to.
    Timer,
    /// Another thread, an interrupt or a softirq woke it: late from the moment at which it was woken.
    Event,
    /// Another thread of the program, which a timer had woken, directly or through others: late from the time that the timer
    /// was set to.
    HandedOn,
    /// A turn of a loop that its program has marked: late from the time at which the turn was to begin.
    Loop,
    /// A request to a server: from the arrival of its data until the answer is begun.
    Request,
    /// Whatever ended its sleep: nobody saw what, so that nobody knows from when on it was late.
    Unseen,
}

impl Activation {
    pub const ALL: [Self; 6] =
        [Self::Timer, Self::Event, Self::HandedOn, Self::Loop, Self::Request, Self::Unseen];

    /// The name used in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timer => "timer",
            Self::Event => "event",
            Self::HandedOn => "handed_on",
            Self::Loop => "loop",
            Self::Request => "request",
            Self::Unseen => "unseen",
        }
    }
}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_recordings() {
        for activation in Activation::ALL {
            assert_eq!(serde_json::to_value(activation).unwrap(), activation.name());
        }
    }
}
