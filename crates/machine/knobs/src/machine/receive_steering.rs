//! Where packets are handled that came in (RPS): nowhere else than where their interrupt came.
//!
//! Source: Documentation/networking/scaling.rst.

use howlate_model::SettingScope;
use howlate_procfs::Root;

use crate::knob::{Knob, Look};
use crate::per_instance::Files;
use crate::writes::Writes;

pub(crate) const KNOB: Knob = Knob {
    name: "receive_steering",
    scope: SettingScope::Machine,
    what: "packets are handled by the CPU that got the interrupt",
    cost: "each queue's packets are handled by one CPU: less throughput",
    look,
    texts: &[],
};

/// Where network cards are, each with its queues.
pub const FOLDER: &str = "/sys/class/net";

fn look(root: &Root) -> Look {
    let queues = |card: &String| {
        let steered = Files::list(root, &format!("{FOLDER}/{card}/queues"), "rx-", "rps_cpus");
        steered.only(|mask| mask.bytes().any(|byte| !matches!(byte, b'0' | b',')))
    };
    let cards = root.list(FOLDER);
    let steered: Vec<Files> = cards.iter().map(queues).filter(|queues| !queues.is_empty()).collect();
    if steered.is_empty() {
        return Look::AsWanted("no packets are steered".to_owned());
    }
    Look::files(steered.iter().fold(Writes::default(), |writes, queues| writes.and(queues.write("0"))))
}
