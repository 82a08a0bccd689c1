//! The machines that a merged recording was made on.

use std::collections::BTreeMap;

use howlate_model::{SourceRecording, System};

/// One machine of a merged recording, with what distinguishes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergedMachine {
    /// Its name in the conditions.
    pub name: String,
    /// Number of its recordings that were merged.
    pub recordings: u64,
    /// Its properties by name: `kernel`, `cpu`, …, and its labels as `label:rack`.
    pub properties: BTreeMap<String, String>,
}

impl MergedMachine {
    fn from_source(source: &SourceRecording) -> Self {
        let labels = source.node.labels.iter().map(|(key, value)| (format!("label:{key}"), value.clone()));
        let properties = system_properties(&source.system).into_iter().chain(labels).collect();
        Self { name: source.called.clone(), recordings: 1, properties }
    }
}

/// Properties of a machine besides its name; unknown ones are left out.
fn system_properties(system: &System) -> impl IntoIterator<Item = (String, String)> + use<> {
    let nonempty = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let all = [
        ("kernel", nonempty(&system.kernel)),
        ("kernel build", nonempty(&system.kernel_build)),
        ("preemption", system.preemption.clone()),
        ("scheduler", system.scheduler.clone()),
        ("cpu", nonempty(&system.processor)),
        ("cpus", Some(system.online.len().to_string()).filter(|number| number != "0")),
        ("clock source", nonempty(&system.clocksource)),
        ("hypervisor", system.hypervisor.clone()),
        ("distribution", system.distribution.clone()),
        ("command line", nonempty(&system.command_line)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)))
}

/// Adds a recording of a machine, which may be listed already. Its most recent properties hold.
pub(crate) fn add(members: &mut BTreeMap<String, MergedMachine>, source: &SourceRecording) {
    let machine = members.entry(source.called.clone()).or_default();
    let recordings = machine.recordings + 1;
    *machine = MergedMachine { recordings, ..MergedMachine::from_source(source) };
}
