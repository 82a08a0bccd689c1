//! The nice value: how much of a shared CPU an ordinary thread gets, and how soon.
//!
//! Source: `sched(7)`; measured by howlate's authors beside two busy threads: p99 2472 µs before, 29 µs after.

use howlate_model::Scope;

use crate::change::ThreadSetting;
use crate::knob::{Knob, Look};
use crate::persistent::Text;

pub(crate) const KNOB: Knob = Knob {
    name: "nice",
    scope: Scope::Thread,
    what: "the highest priority among ordinary threads (nice -20)",
    cost: "other ordinary threads on the CPU wait while this one computes",
    look: |_| Look::thread("0", "-20", ThreadSetting::nice()),
    texts: &[
        Text::Line("systemd", "Nice=-20"),
        Text::Line("C", "setpriority(PRIO_PROCESS, 0, -20);   /* in each thread */"),
        Text::Line("Rust", "rustix::process::setpriority_process(None, -20)?;   // in each thread"),
        Text::Line("Python", "os.setpriority(os.PRIO_PROCESS, 0, -20)"),
        Text::Line("shell", "nice -n -20 ./my-program"),
    ],
};
