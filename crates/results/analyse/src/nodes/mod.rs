//! Conditions measured on many machines: how far nodes differ, which stand out, and what those have in common.
//!
//! A node is one value per condition and statistic: the median over its blocks. Nodes are compared with nodes, never blocks of
//! one with blocks of another: that two machines differ is certain before anything is measured.

mod groups;
mod numbers;
mod outliers;
mod rank;
#[cfg(test)]
mod tests;

use howlate_model::{Condition, HasProperties, Margin, Policy, Property, PropertyValue};
use schemars::JsonSchema;
use serde::Serialize;

pub use groups::GroupShift;
pub use numbers::NodeStatistic;
pub use rank::{RankedNode, rank_nodes};

use crate::compare::median;
use crate::{Analysis, Outcome, grouped};
use numbers::NodeSample;
use outliers::{OF_MAD, OtherNodes, benjamini_hochberg, deviation, mad};

/// Expected share of nodes that do not stand out, among those reported to.
const FALSE_ALARMS: f64 = 0.05;
/// Margin unless one is requested: smaller differences, as a share of the centre, are of no interest.
const USUAL_MARGIN: Margin = Margin::Share(0.1);

/// A maximum this many times the usual one is reported, whatever caused it.
const TIMES_USUAL: f64 = 10.0;

/// From this many nodes on, each is compared with all of them.
const MANY_NODES: usize = 200;
/// If more than one in this many nodes stands out, none does.
const MOST_OUTLIERS: usize = 3;

/// One condition on all nodes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Spread")]
pub struct NodeSpread {
    /// The condition; which machine, kernel, CPU and thread are left out.
    pub condition: Condition,
    /// The policy that ran, when the one asked for was refused.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_typed")]
    #[schemars(with = "String")]
    pub ran_as: Option<Policy>,
    /// What is compared.
    pub statistic: NodeStatistic,
    /// The median of the nodes.
    pub centre_ns: f64,
    /// How far nodes lie apart: 1.4826 times their median distance from that.
    pub between_ns: f64,
    /// How far blocks of one node lie apart: the same of blocks, the median of the nodes.
    pub within_ns: f64,
    /// Differences within this do not count.
    pub margin_ns: f64,
    /// Each node, the worst first.
    pub nodes: Vec<NodeNumber>,
    /// Properties whose nodes are later than the others.
    pub groups: Vec<GroupShift>,
}

impl HasProperties for NodeSpread {
    fn value(&self, property: Property) -> Option<PropertyValue<'_>> {
        match (property, self.ran_as) {
            (Property::Policy, Some(ran)) => {
                Some(PropertyValue::Refused { asked: self.condition.policy, ran })
            }
            _ => self.condition.value(property),
        }
    }
}

impl NodeSpread {
    /// The usual maximum of a node: the median of the nodes' maxima, nanoseconds.
    pub fn usual_max(&self) -> f64 {
        median(&self.nodes.iter().map(|node| node.max_ns as f64).collect::<Vec<_>>()).unwrap_or(0.0)
    }

    /// Nodes with a maximum far above that of the others. It says nothing of how they usually are, and no percentile need show
    /// it.
    pub fn once_late(&self) -> impl Iterator<Item = &NodeNumber> {
        let least = (TIMES_USUAL * self.usual_max()).max(self.margin_ns);
        let can_tell = self.nodes.len() > 2;
        self.nodes.iter().filter(move |node| can_tell && node.max_ns as f64 > least)
    }
}

fn as_typed<S: serde::Serializer>(policy: &Option<Policy>, to: S) -> Result<S::Ok, S::Error> {
    policy.map(|policy| policy.to_string()).serialize(to)
}

/// A node under one condition.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NodeNumber {
    /// What it is called.
    pub node: String,
    /// The median of what its blocks say.
    pub value_ns: f64,
    /// How far its blocks lie apart.
    pub within_ns: f64,
    /// How many there are.
    pub blocks: usize,
    /// Wake-ups that were planned.
    pub count: u64,
    /// The worst of them.
    pub max_ns: i64,
    /// Its value less the centre of the other nodes; absent below three nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference_ns: Option<f64>,
    /// The 95 % interval of that, from how far the others lie apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "(f64, f64)")]
    pub interval_ns: Option<(f64, f64)>,
    /// The difference in standard deviations of such a difference; of logarithms, where all are above zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub z: Option<f64>,
    /// How probable it is that a node like the others is so late, corrected for all nodes of all conditions
    /// (Benjamini–Hochberg).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_corrected: Option<f64>,
    /// Whether it is later than the others: by more than the margin, and more than chance.
    pub stands_out: bool,
}

/// The spread of nodes of a merged recording, for each condition and each statistic with enough wake-ups. Differences within the
/// analysis's margin do not count, or within a tenth of the centre. Empty for a single machine.
pub fn nodes(analysis: &Analysis) -> Vec<NodeSpread> {
    if analysis.members.len() < 2 {
        return Vec::new();
    }
    let mut spreads = Vec::new();
    for outcomes in conditions(analysis) {
        for statistic in NodeStatistic::ALL {
            spreads.extend(spread(analysis, &outcomes, statistic));
        }
    }
    let mut all: Vec<_> =
        spreads.iter_mut().map(|spread| (spread.nodes.as_mut_slice(), spread.margin_ns)).collect();
    correct(&mut all);
    spreads
}

/// Properties in which outcomes of one condition may differ.
const NODE_PROPERTIES: [Property; 4] = [Property::Node, Property::Kernel, Property::Cpu, Property::Thread];

/// The outcomes of each condition on all machines. A condition whose policy was refused somewhere counts by itself.
fn conditions(analysis: &Analysis) -> Vec<Vec<&Outcome>> {
    let properties: Vec<Property> =
        Property::ALL.iter().copied().filter(|property| !NODE_PROPERTIES.contains(property)).collect();
    let key = |outcome: &Outcome| -> Vec<String> {
        properties.iter().map(|property| property.text(outcome)).collect()
    };
    let measured = analysis.outcomes().iter().filter(|outcome| outcome.count() > 0);
    grouped(measured.map(|outcome| (key(outcome), outcome)))
}

fn spread(analysis: &Analysis, outcomes: &[&Outcome], statistic: NodeStatistic) -> Option<NodeSpread> {
    let samples = numbers::samples(outcomes, statistic);
    let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    let centre = median(&values).filter(|_| values.len() > 1)?;
    let margin = analysis.margin.unwrap_or(USUAL_MARGIN).nanos_around(centre);
    let mut nodes = judge(&samples);
    nodes.sort_by(|left, right| right.value_ns.total_cmp(&left.value_ns));
    let mut condition = outcomes[0].condition.clone();
    (condition.node, condition.cpu, condition.thread) = (None, None, 0);
    if outcomes.iter().any(|outcome| outcome.value(Property::Kernel) != outcomes[0].value(Property::Kernel)) {
        condition.kernel.clear();
    }
    Some(NodeSpread {
        condition,
        ran_as: outcomes[0].fallback_policy(),
        statistic,
        centre_ns: centre,
        between_ns: OF_MAD * mad(&values)?,
        within_ns: median(&samples.iter().map(|sample| sample.within).collect::<Vec<_>>())?,
        margin_ns: margin,
        groups: groups::groups(&analysis.members, &nodes, margin),
        nodes,
    })
}

/// Compares each node with the others; p-values are not corrected yet. If all values are above zero, their logarithms are compared:
/// machines differ by factors, and a few slow ones are then no surprise.
fn judge(samples: &[NodeSample]) -> Vec<NodeNumber> {
    let is_by_factors = samples.iter().all(|sample| sample.value > 0.0);
    let scaled = |value: f64| if is_by_factors { value.ln() } else { value };
    let values: Vec<f64> = samples.iter().map(|sample| scaled(sample.value)).collect();
    // The deviation of a logarithm is the relative deviation of the value.
    let variance = |sample: &NodeSample| {
        if is_by_factors { sample.variance / sample.value.powi(2) } else { sample.variance }
    };
    let usual = median(&samples.iter().map(variance).collect::<Vec<_>>()).unwrap_or(0.0);
    // With so many nodes, one moves neither the median nor the spread.
    let all = (values.len() > MANY_NODES).then(|| OtherNodes::from_values(&values)).flatten();
    let without = |place: usize| OtherNodes::from_values(&[&values[..place], &values[place + 1..]].concat());
    let compare = |(place, sample): (usize, &NodeSample)| {
        let others = all.or_else(|| without(place))?;
        let deviation = deviation(scaled(sample.value), others, variance(sample) - usual)?;
        let centre = if is_by_factors { others.centre().exp() } else { others.centre() };
        let from_centre = |by: f64| if is_by_factors { centre * by.exp_m1() } else { by };
        let [low, difference, high] =
            [-deviation.reach, 0.0, deviation.reach].map(|by| from_centre(deviation.difference + by));
        Some((difference, (low, high), deviation))
    };
    let number = |(place, sample): (usize, &NodeSample)| {
        let found = compare((place, sample));
        NodeNumber {
            node: sample.node.clone(),
            value_ns: sample.value,
            within_ns: sample.within,
            blocks: sample.blocks,
            count: sample.count,
            max_ns: sample.max,
            difference_ns: found.map(|(difference, ..)| difference),
            interval_ns: found.map(|(_, interval, _)| interval),
            z: found.map(|(.., deviation)| deviation.z),
            p_corrected: found.map(|(.., deviation)| deviation.p),
            stands_out: false,
        }
    };
    samples.iter().enumerate().map(number).collect()
}

/// Corrects each p-value for all nodes of all conditions, and marks nodes that stand out by more than the margin of their condition.
fn correct(all: &mut [(&mut [NodeNumber], f64)]) {
    let ps = all.iter().flat_map(|(nodes, _)| nodes.iter().map(|node| node.p_corrected.unwrap_or(1.0)));
    let mut corrected = benjamini_hochberg(&ps.collect::<Vec<_>>()).into_iter();
    for (nodes, margin) in all {
        for node in nodes.iter_mut() {
            let p = corrected.next().unwrap_or(1.0);
            node.p_corrected = node.p_corrected.map(|_| p);
            node.stands_out = p <= FALSE_ALARMS && node.difference_ns.is_some_and(|by| by > *margin);
        }
        // A deviation of so many nodes is no exception; what they have in common is for the groups to show.
        if MOST_OUTLIERS * nodes.iter().filter(|node| node.stands_out).count() > nodes.len() {
            nodes.iter_mut().for_each(|node| node.stands_out = false);
        }
    }
}
