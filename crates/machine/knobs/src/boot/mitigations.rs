//! Guards against leaks between programs, which make every entry of the kernel longer.
//!
//! Source: Documentation/admin-guide/hw-vuln/.

use howlate_model::SettingScope;
use howlate_procfs::{CommandLine, Root};

use crate::knob::{Knob, Look};

pub(crate) const KNOB: Knob = Knob {
    name: "mitigations",
    scope: SettingScope::Boot,
    what: "no mitigations of processor flaws",
    cost: "security: programs may read the data of others",
    look,
    texts: &[],
};

fn look(root: &Root) -> Look {
    match CommandLine::read(root).value("mitigations") {
        Some("off") => Look::AsWanted("off".to_owned()),
        _ => Look::boot(root, "mitigations=off"),
    }
}
