//! The clocks that a thread can wait on.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::Wait;

/// A clock to wait on, and to read. On any but [`WaitClock::Monotonic`], wake-ups are reported on the scale of that one, shifted by
/// how far apart both were when the turn began.
///
/// Source: <https://man7.org/linux/man-pages/man2/clock_gettime.2.html>
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum WaitClock {
    /// `CLOCK_MONOTONIC`: never set, stands still while the machine is suspended.
    #[default]
    Monotonic,
    /// `CLOCK_REALTIME`: the time of day, which can be set and so jump.
    Realtime,
    /// `CLOCK_TAI`: the time of day without leap seconds, which jumps when the time of day is set.
    Tai,
    /// `CLOCK_BOOTTIME`: the monotonic one, but for counting while the machine is suspended.
    Boottime,
    /// `CLOCK_AUX` and a number from 0 to 7: a clock of its own speed, such as that of a network in time-sensitive networking (Linux
    /// 6.17). It has no timers: what waits on it waits on the monotonic one for what is left.
    ///
    /// Source: <https://docs.kernel.org/admin-guide/abi-stable-files.html> (`sysfs-kernel-time-aux-clocks`)
    Aux(u8),
}

impl WaitClock {
    /// How many auxiliary clocks the kernel can have: `MAX_AUX_CLOCKS` of `include/uapi/linux/time.h`.
    pub const AUXILIARY: u8 = 8;

    /// Every clock, in the order in which they are listed.
    pub fn all() -> impl Iterator<Item = Self> {
        let shared = [Self::Monotonic, Self::Realtime, Self::Tai, Self::Boottime];
        shared.into_iter().chain((0..Self::AUXILIARY).map(Self::Aux))
    }

    /// Whether it is the default clock.
    pub const fn is_monotonic(&self) -> bool {
        matches!(self, Self::Monotonic)
    }

    /// Whether `wait` can wait on it. Those that take a length only read it, and wait for what is left; the kernel has no
    /// `timerfd_create(2)` for `CLOCK_TAI`, and neither that nor `timer_create(2)` for auxiliary clocks.
    pub const fn has(self, wait: Wait) -> bool {
        matches!(
            (self, wait),
            (Self::Monotonic, _)
                | (_, Wait::ClockNanosleep | Wait::ClockNanosleepRelative | Wait::Nanosleep)
                | (Self::Realtime | Self::Boottime, Wait::Timerfd | Wait::PosixTimer)
                | (Self::Tai, Wait::PosixTimer)
        )
    }

    /// The kernel's name: `CLOCK_TAI`.
    pub fn constant(self) -> String {
        format!("CLOCK_{}", self.to_string().to_uppercase())
    }
}

impl fmt::Display for WaitClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Monotonic => f.pad("monotonic"),
            Self::Realtime => f.pad("realtime"),
            Self::Tai => f.pad("tai"),
            Self::Boottime => f.pad("boottime"),
            Self::Aux(number) => f.pad(&format!("aux{number}")),
        }
    }
}

/// Not the name of a clock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a clock to wait on; choose from monotonic, realtime, tai, boottime, aux0 to aux7")]
pub struct UnknownClock {
    /// What was typed.
    pub found: String,
}

impl FromStr for WaitClock {
    type Err = UnknownClock;

    /// Takes the kernel's name as well: `CLOCK_TAI`.
    fn from_str(text: &str) -> Result<Self, UnknownClock> {
        let lowercase = text.trim().to_lowercase();
        let name = lowercase.strip_prefix("clock_").unwrap_or(&lowercase);
        let unknown = || UnknownClock { found: text.trim().to_owned() };
        Self::all().find(|clock| clock.to_string() == name).ok_or_else(unknown)
    }
}

impl TryFrom<String> for WaitClock {
    type Error = UnknownClock;
    fn try_from(text: String) -> Result<Self, UnknownClock> {
        text.parse()
    }
}

impl From<WaitClock> for String {
    fn from(clock: WaitClock) -> Self {
        clock.to_string()
    }
}

impl JsonSchema for WaitClock {
    fn schema_name() -> Cow<'static, str> {
        "WaitClock".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "The clock that a thread waits on: monotonic, realtime, tai, boottime, or aux0 to aux7.",
            "enum": Self::all().map(|clock| clock.to_string()).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_is_read_by_its_own_and_by_the_kernels_name() {
        for clock in WaitClock::all() {
            assert_eq!(clock.to_string().parse(), Ok(clock));
            assert_eq!(clock.constant().parse(), Ok(clock));
            let json = serde_json::to_string(&clock).unwrap();
            assert_eq!(
                (json.as_str(), serde_json::from_str(&json).unwrap()),
                (&*format!("\"{clock}\""), clock)
            );
        }
        assert_eq!(WaitClock::Aux(3).constant(), "CLOCK_AUX3");
        let wrong = "aux8".parse::<WaitClock>().unwrap_err().to_string();
        assert!(wrong.contains("choose from monotonic"), "{wrong}");
    }

    #[test]
    fn what_has_no_timer_for_a_clock_is_known() {
        assert!(Wait::ALL.iter().all(|wait| WaitClock::Monotonic.has(*wait)));
        assert!(WaitClock::Tai.has(Wait::PosixTimer) && !WaitClock::Tai.has(Wait::Timerfd));
        assert!(WaitClock::Boottime.has(Wait::Timerfd) && !WaitClock::Boottime.has(Wait::Ppoll));
        assert!(WaitClock::Aux(0).has(Wait::ClockNanosleep) && !WaitClock::Aux(0).has(Wait::PosixTimer));
    }
}
