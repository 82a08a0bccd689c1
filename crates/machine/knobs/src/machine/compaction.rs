//! Memory is moved together in the background, so that huge pages are to be had.
//!
//! Source: Documentation/admin-guide/sysctl/vm.rst.

use howlate_model::SettingScope;

use crate::knob::{Knob, Look};

pub(crate) const KNOB: Knob = Knob {
    name: "compaction",
    scope: SettingScope::Machine,
    what: "no memory compaction in the background",
    cost: "huge pages are harder to get",
    look: |root| Look::file(root, "/proc/sys/vm/compaction_proactiveness", "0"),
    texts: &[],
};
