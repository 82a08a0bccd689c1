//! System calls by which a thread can wait for a time.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Span;

/// A way for a thread to wait for a time to come or a length of time to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// `clock_nanosleep(CLOCK_MONOTONIC)`: until a time in `cyclic`, for a length in `sleep`.
    ClockNanosleep,
    /// `clock_nanosleep(CLOCK_MONOTONIC, 0)` for what is left until the time.
    ClockNanosleepRelative,
    /// `nanosleep(2)`.
    Nanosleep,
    /// `timerfd_settime(2)` and a blocking `read(2)`.
    Timerfd,
    /// `timer_settime(2)` and `sigwaitinfo(2)`.
    PosixTimer,
    /// The timeout of `ppoll(2)` on no descriptor.
    Ppoll,
    /// The timeout of `epoll_pwait2(2)`.
    EpollPwait2,
    /// The timeout of `futex(2)`, `FUTEX_WAIT_BITSET`.
    Futex,
    /// Reading the clock until the time has come.
    BusyWait,
    /// `clock_nanosleep` until shortly before the time, then busy-wait.
    SleepThenSpin,
}

impl Wait {
    /// How long before its time [`Wait::SleepThenSpin`] wakes: the default timer slack of 50 µs and the usual
    /// lateness of an unloaded machine.
    pub const SPIN: Span = Span::from_micros(120);

    /// In display order.
    pub const ALL: [Self; 10] = [
        Self::ClockNanosleep,
        Self::ClockNanosleepRelative,
        Self::Nanosleep,
        Self::Timerfd,
        Self::PosixTimer,
        Self::Ppoll,
        Self::EpollPwait2,
        Self::Futex,
        Self::BusyWait,
        Self::SleepThenSpin,
    ];

    /// Whether the kernel may add the thread's timer slack to it: to a thread's own sleep, and not to timers that
    /// are objects of their own.
    pub const fn has_slack(self) -> bool {
        !matches!(self, Self::Timerfd | Self::PosixTimer | Self::BusyWait)
    }

    /// The name used on the command line and in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClockNanosleep => "clock_nanosleep",
            Self::ClockNanosleepRelative => "clock_nanosleep_relative",
            Self::Nanosleep => "nanosleep",
            Self::Timerfd => "timerfd",
            Self::PosixTimer => "posix_timer",
            Self::Ppoll => "ppoll",
            Self::EpollPwait2 => "epoll_pwait2",
            Self::Futex => "futex",
            Self::BusyWait => "busy_wait",
            Self::SleepThenSpin => "sleep_then_spin",
        }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Not the name of a waiting mechanism.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a call that can be measured; choose from {}", Wait::ALL.map(Wait::name).join(", "))]
pub struct UnknownMechanism {
    /// What was typed.
    pub found: String,
}

impl FromStr for Wait {
    type Err = UnknownMechanism;

    fn from_str(text: &str) -> Result<Self, UnknownMechanism> {
        Self::ALL
            .into_iter()
            .find(|wait| wait.name() == text.trim())
            .ok_or_else(|| UnknownMechanism { found: text.trim().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_in_text_and_json() {
        for wait in Wait::ALL {
            assert_eq!(wait.name().parse(), Ok(wait));
            assert_eq!(serde_json::to_string(&wait).unwrap(), format!("\"{wait}\""));
        }
        assert!("usleep".parse::<Wait>().is_err());
    }
}
