//! Memory that stays: no page is fetched again when it is touched.
//!
//! Source: `mlockall(2)`.

use crate::change::ThreadSetting;
use crate::knob::{Knob, Look, Scope};
use crate::way::Text;

pub(crate) const KNOB: Knob = Knob {
    name: "memory_lock",
    scope: Scope::Thread,
    what: "memory locked, so that no page fault comes between",
    cost: "memory that nobody else can have",
    look: |_| Look::thread("howlate's threads have it", "the same", ThreadSetting::AlreadySo),
    texts: &[
        Text("systemd", "LimitMEMLOCK=infinity, and mlockall in the program"),
        Text("C", "mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);"),
        Text("Rust", "rustix::mm::mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?;"),
        Text("Python", "ctypes.CDLL(None).mlockall(3)"),
    ],
};
