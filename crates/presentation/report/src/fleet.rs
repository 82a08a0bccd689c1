//! The machines of a recording that several have made.

use howlate_analyse::nodes::{Spread, nodes};
use howlate_model::Property;
use howlate_render::condition::told_by;
use howlate_render::node_sentences;
use howlate_render::property::varying;

use crate::Recording;

/// What the machines of a recording say.
pub(crate) struct Fleet<'a> {
    pub(crate) recording: Recording<'a>,
    /// Each condition and statistic.
    pub(crate) spreads: Vec<Spread>,
}

/// What stands for a condition where only its place is known.
const UNSAID: [Property; 4] = [Property::Node, Property::Kernel, Property::Cpu, Property::Thread];

impl<'a> Fleet<'a> {
    /// Of those recordings that several machines have made.
    pub(crate) fn all(recordings: &[Recording<'a>]) -> Vec<Self> {
        let of = |recording: &Recording<'a>| {
            let spreads = nodes(recording.analysis);
            (!spreads.is_empty()).then_some(Self { recording: *recording, spreads })
        };
        recordings.iter().filter_map(of).collect()
    }

    /// What each of its spreads is called among them; nothing where there is one condition.
    pub(crate) fn names(&self) -> Vec<String> {
        let parts: Vec<Property> =
            varying(&self.spreads).into_iter().filter(|part| !UNSAID.contains(part)).collect();
        self.spreads.iter().map(|spread| told_by(spread, &parts)).collect()
    }

    /// What is to be said of its nodes, a line for each condition; what is the same for all is said once.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let named: Vec<(String, &Spread)> = self.names().into_iter().zip(&self.spreads).collect();
        for of_one in named.chunk_by(|one, other| one.0 == other.0) {
            let mut said: Vec<String> =
                of_one.iter().flat_map(|(_, spread)| node_sentences(spread)).collect();
            said.dedup();
            let (name, spread) = &of_one[0];
            let is_named = !name.is_empty() && spread.nodes.len() > 2;
            let line = if is_named { format!("{name}: {}", said.join(" ")) } else { said.join(" ") };
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }
}
