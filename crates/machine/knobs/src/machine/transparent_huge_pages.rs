//! Whether small pages of every program are joined to huge ones.
//!
//! Source: Documentation/admin-guide/mm/transhuge.rst.

use howlate_model::SettingScope;
use howlate_procfs::Root;
use howlate_procfs::bracketed_choice;

use crate::knob::{Knob, Look};

/// Where it stands.
pub const FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

pub(crate) const KNOB: Knob = Knob {
    name: "transparent_huge_pages",
    scope: SettingScope::Machine,
    what: "huge pages only for programs that ask for them",
    cost: "programs that use a lot of memory and do not ask run more slowly",
    look,
    texts: &[],
};

fn look(root: &Root) -> Look {
    // What never joins pages is quieter still, and is left.
    match root.read(FILE).ok().as_deref().and_then(bracketed_choice) {
        Some(quiet @ ("madvise" | "never")) => Look::AsWanted(quiet.to_owned()),
        _ => Look::file(root, FILE, "madvise"),
    }
}
