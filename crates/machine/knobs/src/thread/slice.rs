//! The slice of an ordinary thread: one that asks for a short one is run sooner, and for less time at once.
//!
//! Source: Linux commit 857b158dc5e8, since 6.12; `sched_setattr(2)`, `sched_runtime`. Beside two busy threads it was seen
//! to bring p99 from 2472 to 25 µs, for little work at each wake-up, and at other times to change nothing.

use howlate_model::{SettingScope, Span};
use howlate_procfs::{Kernel, Root};

use crate::change::ThreadSetting;
use crate::knob::{Knob, Look};
use crate::persistent::Text;

pub(crate) const KNOB: Knob = Knob {
    name: "slice",
    scope: SettingScope::Thread,
    what: "the shortest time slice of the fair scheduler",
    cost: "work that takes longer than a slice is interrupted more often",
    look,
    texts: &[
        Text::OfProgram(
            "C",
            "struct sched_attr a = { .size = 48, .sched_runtime = 100000 }; syscall(SYS_sched_setattr, 0, &a, 0);   /* in each thread */",
        ),
        Text::OfProgram("shell", "chrt --other --sched-runtime 100000 0 ./my-program   # util-linux 2.41"),
        Text::OfThread("now", "chrt --other --sched-runtime 100000 -p 0 TID   # util-linux 2.41"),
        Text::OfThread(
            "C",
            "struct sched_attr a = { .size = 48, .sched_runtime = 100000 }; syscall(SYS_sched_setattr, 0, &a, 0);   /* in that thread */",
        ),
    ],
};

/// The shortest that the kernel gives. Source: kernel/sched/syscalls.c, `__setparam_fair`.
const SHORTEST: Span = Span::from_micros(100);

fn look(root: &Root) -> Look {
    match Kernel::read(root).at_least(6, 12) {
        Some(false) => Look::Absent("threads have slices of their own since Linux 6.12".to_owned()),
        _ => {
            let shortest = format!("{} µs", SHORTEST.as_nanos() / 1_000);
            Look::thread("the kernel's", shortest, ThreadSetting::Slice(SHORTEST))
        }
    }
}
