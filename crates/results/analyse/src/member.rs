//! The machines that a merged recording was made on.

use std::collections::BTreeMap;

use howlate_model::{SourceRecording, System};

/// One of them, with what it may be told apart by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// What it is called in the conditions.
    pub name: String,
    /// How many recordings of it were merged.
    pub recordings: u64,
    /// What it is, by name: `kernel`, `cpu`, …, and its labels as `label:rack`.
    pub properties: BTreeMap<String, String>,
}

impl Member {
    fn from_source(source: &SourceRecording) -> Self {
        let labels = source.node.labels.iter().map(|(key, value)| (format!("label:{key}"), value.clone()));
        let properties = of_system(&source.system).into_iter().chain(labels).collect();
        Self { name: source.called.clone(), recordings: 1, properties }
    }
}

/// What a machine is known by besides its name; what is not known is left out.
fn of_system(system: &System) -> impl IntoIterator<Item = (String, String)> + use<> {
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let all = [
        ("kernel", some(&system.kernel)),
        ("kernel build", some(&system.kernel_build)),
        ("preemption", system.preemption.clone()),
        ("cpu", some(&system.processor)),
        ("cpus", Some(system.online.len().to_string()).filter(|number| number != "0")),
        ("clock source", some(&system.clocksource)),
        ("hypervisor", system.hypervisor.clone()),
        ("distribution", system.distribution.clone()),
        ("command line", some(&system.command_line)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)))
}

/// Takes in a recording of a machine, which may be known already. What it said of itself most recently holds.
pub(crate) fn add(members: &mut BTreeMap<String, Member>, source: &SourceRecording) {
    let known = members.entry(source.called.clone()).or_default();
    let recordings = known.recordings + 1;
    *known = Member { recordings, ..Member::from_source(source) };
}
