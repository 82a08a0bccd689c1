//! Real-time priority: ahead of every ordinary thread, without timer slack.
//!
//! Source: `sched(7)`; measured by howlate's authors beside two busy threads: p99 2472 µs before, 20 µs after.

use crate::change::ThreadSetting;
use crate::knob::{Knob, Look, Scope};
use crate::way::Text;

pub(crate) const KNOB: Knob = Knob {
    name: "fifo",
    scope: Scope::Thread,
    what: "real-time priority (SCHED_FIFO, 80)",
    cost: "a thread that never sleeps takes its CPU away from everything else: limit its work, or set RLIMIT_RTTIME",
    look: |_| Look::thread("other", "fifo:80", ThreadSetting::fifo()),
    texts: &[
        Text("systemd", "CPUSchedulingPolicy=fifo and CPUSchedulingPriority=80"),
        Text(
            "C",
            "struct sched_param p = { .sched_priority = 80 }; pthread_setschedparam(pthread_self(), SCHED_FIFO, &p);",
        ),
        Text(
            "Rust",
            "libc::sched_setscheduler(0, libc::SCHED_FIFO, &libc::sched_param { sched_priority: 80 });   // in an unsafe block",
        ),
        Text("Python", "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(80))"),
        Text("shell", "chrt -f 80 ./my-program"),
    ],
};
