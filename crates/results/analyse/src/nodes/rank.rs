//! Ranks nodes over all conditions together, the most conspicuous first.

use std::collections::BTreeMap;

use super::{NodeNumber, NodeSpread, USUAL_MARGIN};

/// A node over all conditions and statistics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedNode<'a> {
    pub node: &'a str,
    /// In how many conditions and statistics it stands out.
    pub stands_out: usize,
    /// How far above the centre of the nodes it is, in margins, on average.
    pub margins: f64,
}

impl NodeSpread {
    /// How far above the centre a node is, in margins; in tenths of the centre if the margin is zero.
    pub fn margins(&self, node: &NodeNumber) -> f64 {
        let usual = USUAL_MARGIN.nanos_around(self.centre_ns);
        let margin = [self.margin_ns, usual].into_iter().find(|margin| *margin > 0.0).unwrap_or(1.0);
        (node.value_ns - self.centre_ns) / margin
    }
}

/// All nodes: those that stand out most often first, then those that are later on average.
pub fn rank_nodes(spreads: &[NodeSpread]) -> Vec<RankedNode<'_>> {
    let mut all: BTreeMap<&str, Vec<(bool, f64)>> = BTreeMap::new();
    for spread in spreads {
        for node in &spread.nodes {
            all.entry(&node.node).or_default().push((node.stands_out, spread.margins(node)));
        }
    }
    let mut ranked: Vec<RankedNode<'_>> =
        all.into_iter().map(|(node, places)| sum_up(node, &places)).collect();
    ranked.sort_by(|left, right| {
        let later = right.margins.total_cmp(&left.margins);
        right.stands_out.cmp(&left.stands_out).then(later)
    });
    ranked
}

fn sum_up<'a>(node: &'a str, places: &[(bool, f64)]) -> RankedNode<'a> {
    let margins = places.iter().map(|place| place.1).sum::<f64>() / places.len() as f64;
    RankedNode { node, stands_out: places.iter().filter(|place| place.0).count(), margins }
}
