//! Real-time priority: ahead of every ordinary thread, without timer slack.
//!
//! Source: `sched(7)`; measured by howlate's authors beside two busy threads: p99 2472 µs before, 20 µs after.

use howlate_model::{FIFO_CODE, FIFO_OF_THREAD, FIFO_OF_THREAD_CODE, SettingScope};

use crate::change::ThreadSetting;
use crate::knob::{Knob, Look};
use crate::persistent::Text;

pub(crate) const KNOB: Knob = Knob {
    name: "fifo",
    scope: SettingScope::Thread,
    what: "real-time priority (SCHED_FIFO, 80)",
    cost: "a thread that never sleeps takes its CPU away from everything else: limit its work, or set RLIMIT_RTTIME",
    look: |_| Look::thread("other", "fifo:80", ThreadSetting::fifo()),
    texts: &[
        Text::OfProgram("systemd", "CPUSchedulingPolicy=fifo and CPUSchedulingPriority=80"),
        Text::CodeOfProgram(&FIFO_CODE.c),
        Text::CodeOfProgram(&FIFO_CODE.rust),
        Text::CodeOfProgram(&FIFO_CODE.python),
        Text::CodeOfProgram(&FIFO_CODE.shell),
        Text::OfThread("now", FIFO_OF_THREAD),
        Text::CodeOfThread(&FIFO_OF_THREAD_CODE.c),
        Text::CodeOfThread(&FIFO_OF_THREAD_CODE.rust),
        Text::CodeOfThread(&FIFO_OF_THREAD_CODE.python),
    ],
};
