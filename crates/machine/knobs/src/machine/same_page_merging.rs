//! Equal pages are joined, and copied again when they are written to (KSM).
//!
//! Source: Documentation/admin-guide/mm/ksm.rst.

use howlate_model::SettingScope;

use crate::knob::{Knob, Look};

/// Where it stands.
pub const FILE: &str = "/sys/kernel/mm/ksm/run";

pub(crate) const KNOB: Knob = Knob {
    name: "same_page_merging",
    scope: SettingScope::Machine,
    what: "identical pages are not merged",
    cost: "more memory is used, mostly by virtual machines",
    look: |root| Look::file(root, FILE, "0"),
    texts: &[],
};
