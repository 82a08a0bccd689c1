//! A timer that is an object of its own, which has no slack, in place of a sleep.
//!
//! Source: `timerfd_create(2)`.

use howlate_model::{SettingScope, Wait};

use crate::change::ThreadSetting;
use crate::knob::{Knob, Look};
use crate::persistent::Text;

pub(crate) const KNOB: Knob = Knob {
    name: "timerfd",
    scope: SettingScope::Thread,
    what: "timerfd instead of a sleep",
    cost: "one descriptor, and two calls for each wake-up",
    look: |_| Look::thread("a sleep", "timerfd", ThreadSetting::Wait(Wait::Timerfd)),
    texts: &[
        Text::Line(
            "C",
            "int t = timerfd_create(CLOCK_MONOTONIC, 0); timerfd_settime(t, TFD_TIMER_ABSTIME, &next, 0); read(t, &n, 8);",
        ),
        Text::Line(
            "Python",
            "t = os.timerfd_create(time.CLOCK_MONOTONIC); os.timerfd_settime(t, initial=period, interval=period); os.read(t, 8)   # 3.13",
        ),
    ],
};
