//! Memory that stays: no page is fetched again when it is touched.
//!
//! Source: `mlockall(2)`.

use howlate_model::SettingScope;

use crate::change::ThreadSetting;
use crate::knob::{Knob, Look};
use crate::persistent::Text;
use crate::rights::Rights;

pub(crate) const KNOB: Knob = Knob {
    name: "memory_lock",
    scope: SettingScope::Thread,
    what: "memory is locked, so that no page fault intervenes",
    cost: "memory that nothing else can use",
    look: |root| match Rights::read(root).refuse_lock() {
        Some(refusal) => Look::Refused(refusal),
        None => Look::thread("howlate's threads have it", "the same", ThreadSetting::AlreadySo),
    },
    texts: &[
        Text::Line("systemd", "LimitMEMLOCK=infinity, and mlockall in the program"),
        Text::Line("C", "mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);"),
        Text::Line("Rust", "rustix::mm::mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?;"),
        Text::Line("Python", "ctypes.CDLL(None).mlockall(3)"),
    ],
};
