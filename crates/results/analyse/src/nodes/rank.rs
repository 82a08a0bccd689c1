//! Nodes over all conditions together, the most conspicuous first.

use std::collections::BTreeMap;

use super::{NodeNumber, Spread, USUAL_MARGIN};

/// A node over all conditions and statistics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedNode<'a> {
    /// What it is called.
    pub node: &'a str,
    /// In how many conditions and statistics it stands out.
    pub stands_out: usize,
    /// How far above the middle of the nodes it is, in margins, on average.
    pub margins: f64,
}

impl Spread {
    /// How far above the middle a node is, in margins; in tenths of the middle where the margin is nothing.
    pub fn margins(&self, node: &NodeNumber) -> f64 {
        let usual = USUAL_MARGIN.nanos_around(self.centre_ns);
        let margin = [self.margin_ns, usual].into_iter().find(|margin| *margin > 0.0).unwrap_or(1.0);
        (node.value_ns - self.centre_ns) / margin
    }
}

/// Every node: those that stand out most often first, then those that are later on average.
pub fn ranked(spreads: &[Spread]) -> Vec<RankedNode<'_>> {
    let mut all: BTreeMap<&str, Vec<(bool, f64)>> = BTreeMap::new();
    for spread in spreads {
        for node in &spread.nodes {
            all.entry(&node.node).or_default().push((node.stands_out, spread.margins(node)));
        }
    }
    let mut ranked: Vec<RankedNode<'_>> = all.into_iter().map(|(node, seen)| together(node, &seen)).collect();
    ranked.sort_by(|one, other| {
        let later = other.margins.total_cmp(&one.margins);
        other.stands_out.cmp(&one.stands_out).then(later)
    });
    ranked
}

fn together<'a>(node: &'a str, seen: &[(bool, f64)]) -> RankedNode<'a> {
    let margins = seen.iter().map(|one| one.1).sum::<f64>() / seen.len() as f64;
    RankedNode { node, stands_out: seen.iter().filter(|one| one.0).count(), margins }
}
