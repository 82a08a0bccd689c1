//! The nice value: how much of a shared CPU an ordinary thread gets, and how soon.
//!
//! Source: `sched(7)`; measured by howlate's authors beside two busy threads: p99 2472 µs before, 29 µs after.

use howlate_model::SettingScope;

use crate::change::ThreadSetting;
use crate::knob::{Knob, Look};
use crate::persistent::Text;

pub(crate) const KNOB: Knob = Knob {
    name: "nice",
    scope: SettingScope::Thread,
    what: "the highest priority among ordinary threads (nice -20)",
    cost: "other ordinary threads on the CPU wait while this one computes",
    look: |_| Look::thread("0", "-20", ThreadSetting::nice()),
    texts: &[
        Text::OfProgram("systemd", "Nice=-20"),
        Text::OfProgram("C", "setpriority(PRIO_PROCESS, 0, -20);   /* in each thread */"),
        Text::OfProgram("Rust", "rustix::process::setpriority_process(None, -20)?;   // in each thread"),
        Text::OfProgram("Python", "os.setpriority(os.PRIO_PROCESS, 0, -20)"),
        Text::OfProgram("shell", "nice -n -20 ./my-program"),
        Text::OfThread("now", "renice -n -20 -p TID"),
        Text::OfThread("C", "setpriority(PRIO_PROCESS, 0, -20);   /* in that thread */"),
        Text::OfThread("Rust", "rustix::process::setpriority_process(None, -20)?;   // in that thread"),
        Text::OfThread("Python", "os.setpriority(os.PRIO_PROCESS, 0, -20)   # in that thread"),
    ],
};
