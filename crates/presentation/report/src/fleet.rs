//! Recordings of several machines: nodes and outliers.

use howlate_analyse::nodes::{NodeSpread, nodes};
use howlate_model::Property;
use howlate_render::condition::distinguished_by;
use howlate_render::node_sentences;
use howlate_render::property::varying;

use crate::NamedRecording;

/// A recording of several machines, and how their statistics spread.
pub(crate) struct FleetNodes<'a> {
    pub(crate) recording: NamedRecording<'a>,
    /// One per condition and statistic.
    pub(crate) spreads: Vec<NodeSpread>,
}

/// Properties that tell nodes apart, not conditions.
const NODE_PROPERTIES: [Property; 4] = [Property::Node, Property::Kernel, Property::Cpu, Property::Thread];

impl<'a> FleetNodes<'a> {
    /// The recordings of several machines.
    pub(crate) fn all(recordings: &[NamedRecording<'a>]) -> Vec<Self> {
        let of = |recording: &NamedRecording<'a>| {
            let spreads = nodes(recording.analysis);
            (!spreads.is_empty()).then_some(Self { recording: *recording, spreads })
        };
        recordings.iter().filter_map(of).collect()
    }

    /// The condition of each spread, by what differs; empty where there is one condition.
    pub(crate) fn names(&self) -> Vec<String> {
        let parts: Vec<Property> =
            varying(&self.spreads).into_iter().filter(|part| !NODE_PROPERTIES.contains(part)).collect();
        self.spreads.iter().map(|spread| distinguished_by(spread, &parts)).collect()
    }

    /// Sentences about the nodes, one line per condition; equal lines once.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let named: Vec<(String, &NodeSpread)> = self.names().into_iter().zip(&self.spreads).collect();
        for same_condition in named.chunk_by(|a, b| a.0 == b.0) {
            let mut sentences: Vec<String> =
                same_condition.iter().flat_map(|(_, spread)| node_sentences(spread)).collect();
            sentences.dedup();
            let (name, spread) = &same_condition[0];
            let is_named = !name.is_empty() && spread.nodes.len() > 2;
            let line =
                if is_named { format!("{name}: {}", sentences.join(" ")) } else { sentences.join(" ") };
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }
}
