//! The same conditions on many machines: how far nodes lie apart, which stand out, and what those have in common.
//!
//! A node is one value per condition and statistic: the median of what its blocks say. What is compared are nodes with
//! nodes, never blocks of one with blocks of another: that two machines differ is certain before anything is measured.

mod benjamini_hochberg;
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
pub use rank::{RankedNode, ranked};

use crate::compare::median;
use crate::{Analysis, Outcome, grouped};
use benjamini_hochberg::benjamini_hochberg;
use numbers::Measured;
use outliers::{OF_MAD, Others, apart, mad};

/// The share of nodes said to stand out, but that do not, is at most this on average.
const FALSE_ALARMS: f64 = 0.05;
/// Differences within this share of the middle are of no interest, unless one was asked for.
const USUAL_MARGIN: Margin = Margin::Share(0.1);

/// A maximum of so many times the usual one is worth a look, whatever made it.
const TIMES_USUAL: f64 = 10.0;

/// From so many nodes on, each is held against all of them.
const MANY: usize = 200;
/// One in so many nodes may be an exception.
const EXCEPTIONS: usize = 3;

/// One condition on all nodes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Spread {
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

impl HasProperties for Spread {
    fn value(&self, property: Property) -> Option<PropertyValue<'_>> {
        match (property, self.ran_as) {
            (Property::Policy, Some(ran)) => {
                Some(PropertyValue::Refused { asked: self.condition.policy, ran })
            }
            _ => self.condition.value(property),
        }
    }
}

impl Spread {
    /// The usual maximum of a node: the median of theirs, nanoseconds.
    pub fn usual_max(&self) -> f64 {
        median(&self.nodes.iter().map(|node| node.max_ns as f64).collect::<Vec<_>>()).unwrap_or(0.0)
    }

    /// Nodes that had one moment far worse than the others ever had. It says nothing of how they usually are, and no
    /// percentile need show it.
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

/// What the nodes of a merged recording say: each condition, each statistic that there are wake-ups for. Differences
/// within the analysis's margin do not count, or within a tenth of the middle. Empty where there is one machine.
pub fn nodes(analysis: &Analysis) -> Vec<Spread> {
    if analysis.members.len() < 2 {
        return Vec::new();
    }
    let mut spreads = Vec::new();
    for outcomes in conditions(analysis) {
        for statistic in NodeStatistic::ALL {
            spreads.extend(spread(analysis, &outcomes, statistic));
        }
    }
    let mut all: Vec<_> = spreads.iter_mut().map(|one| (one.nodes.as_mut_slice(), one.margin_ns)).collect();
    correct(&mut all);
    spreads
}

/// Properties in which nodes may differ and are compared nevertheless: threads and CPUs of a node belong together.
const OF_NODES: [Property; 4] = [Property::Node, Property::Kernel, Property::Cpu, Property::Thread];

/// The outcomes of each condition, whatever machine they are of. What was refused somewhere is a condition of its own.
fn conditions(analysis: &Analysis) -> Vec<Vec<&Outcome>> {
    let properties: Vec<Property> =
        Property::ALL.iter().copied().filter(|one| !OF_NODES.contains(one)).collect();
    let key =
        |outcome: &Outcome| -> Vec<String> { properties.iter().map(|one| one.typed(outcome)).collect() };
    let measured = analysis.outcomes().iter().filter(|outcome| outcome.count() > 0);
    grouped(measured.map(|outcome| (key(outcome), outcome)))
}

fn spread(analysis: &Analysis, outcomes: &[&Outcome], statistic: NodeStatistic) -> Option<Spread> {
    let measured = numbers::measured(outcomes, statistic);
    let values: Vec<f64> = measured.iter().map(|one| one.value).collect();
    let centre = median(&values).filter(|_| values.len() > 1)?;
    let margin = analysis.margin.unwrap_or(USUAL_MARGIN).nanos_around(centre);
    let mut nodes = judge(&measured);
    nodes.sort_by(|one, other| other.value_ns.total_cmp(&one.value_ns));
    let mut condition = outcomes[0].condition.clone();
    (condition.node, condition.cpu, condition.thread) = (None, None, 0);
    if outcomes.iter().any(|one| one.value(Property::Kernel) != outcomes[0].value(Property::Kernel)) {
        condition.kernel.clear();
    }
    Some(Spread {
        condition,
        ran_as: outcomes[0].ran_as(),
        statistic,
        centre_ns: centre,
        between_ns: OF_MAD * mad(&values)?,
        within_ns: median(&measured.iter().map(|one| one.within).collect::<Vec<_>>())?,
        margin_ns: margin,
        groups: groups::groups(&analysis.members, &nodes, margin),
        nodes,
    })
}

/// Each node beside the others; each p is not corrected yet. Where all are above zero, they are held against each other by their
/// logarithms: machines differ by factors, and a few slow ones are no surprise then.
fn judge(measured: &[Measured]) -> Vec<NodeNumber> {
    let is_by_factors = measured.iter().all(|one| one.value > 0.0);
    let scaled = |value: f64| if is_by_factors { value.ln() } else { value };
    let values: Vec<f64> = measured.iter().map(|one| scaled(one.value)).collect();
    // Of a logarithm, the deviation is that of the value in shares of it.
    let variance =
        |one: &Measured| if is_by_factors { one.variance / one.value.powi(2) } else { one.variance };
    let usual = median(&measured.iter().map(variance).collect::<Vec<_>>()).unwrap_or(0.0);
    // One of so many moves neither the median nor the spread.
    let all = (values.len() > MANY).then(|| Others::from_values(&values)).flatten();
    let without = |place: usize| Others::from_values(&[&values[..place], &values[place + 1..]].concat());
    let beside = |(place, one): (usize, &Measured)| {
        let others = all.or_else(|| without(place))?;
        let apart = apart(scaled(one.value), others, variance(one) - usual)?;
        let centre = if is_by_factors { others.centre().exp() } else { others.centre() };
        let from_centre = |by: f64| if is_by_factors { centre * by.exp_m1() } else { by };
        let [low, difference, high] =
            [-apart.reach, 0.0, apart.reach].map(|by| from_centre(apart.difference + by));
        Some((difference, (low, high), apart))
    };
    let number = |(place, one): (usize, &Measured)| {
        let found = beside((place, one));
        NodeNumber {
            node: one.node.clone(),
            value_ns: one.value,
            within_ns: one.within,
            blocks: one.blocks,
            count: one.count,
            max_ns: one.max,
            difference_ns: found.map(|(difference, ..)| difference),
            interval_ns: found.map(|(_, interval, _)| interval),
            z: found.map(|(.., apart)| apart.z),
            p_corrected: found.map(|(.., apart)| apart.p),
            stands_out: false,
        }
    };
    measured.iter().enumerate().map(number).collect()
}

/// Corrects each p for all nodes of all conditions, and says who stands out by more than the margin of its condition.
fn correct(all: &mut [(&mut [NodeNumber], f64)]) {
    let ps = all.iter().flat_map(|(nodes, _)| nodes.iter().map(|one| one.p_corrected.unwrap_or(1.0)));
    let mut corrected = benjamini_hochberg(&ps.collect::<Vec<_>>()).into_iter();
    for (nodes, margin) in all {
        for one in nodes.iter_mut() {
            let p = corrected.next().unwrap_or(1.0);
            one.p_corrected = one.p_corrected.map(|_| p);
            one.stands_out = p <= FALSE_ALARMS && one.difference_ns.is_some_and(|by| by > *margin);
        }
        // What is so common is no exception; what it has in common is for the groups to say.
        if EXCEPTIONS * nodes.iter().filter(|one| one.stands_out).count() > nodes.len() {
            nodes.iter_mut().for_each(|one| one.stands_out = false);
        }
    }
}
