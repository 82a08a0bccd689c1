//! No huge pages for the process: no page fault clears two megabytes, and none are joined while it runs.
//!
//! Source: `PR_SET_THP_DISABLE(2const)`. What howlate measures with lies in small pages that were touched before.

use howlate_model::SettingScope;

use crate::change::ThreadSetting;
use crate::knob::{Knob, Look};
use crate::persistent::Text;

pub(crate) const KNOB: Knob = Knob {
    name: "small_pages",
    scope: SettingScope::Thread,
    what: "no huge pages for the process",
    cost: "programs that use a lot of memory run more slowly",
    look: |_| Look::thread("howlate's loops have it", "the same", ThreadSetting::AlreadySo),
    texts: &[
        Text::Line("systemd", "MemoryTHP=disable (systemd 258)"),
        Text::Line("C", "prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);"),
        Text::Line("Rust", "libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0);   // in an unsafe block"),
        Text::Line("Python", "ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)   # PR_SET_THP_DISABLE"),
    ],
};
