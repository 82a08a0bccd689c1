//! Memory is moved together in the background, so that huge pages are to be had.
//!
//! Source: Documentation/admin-guide/sysctl/vm.rst.

use crate::knob::{Knob, Look, Scope};

pub(crate) const KNOB: Knob = Knob {
    name: "compaction",
    scope: Scope::Machine,
    what: "no memory compaction in the background",
    cost: "huge pages are harder to get",
    look: |root| Look::file(root, "/proc/sys/vm/compaction_proactiveness", "0"),
    texts: &[],
};
