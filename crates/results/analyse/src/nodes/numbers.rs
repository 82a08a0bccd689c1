//! A node's number under one condition, from its blocks.

use std::collections::BTreeMap;

use howlate_model::Property;
use schemars::JsonSchema;
use serde::Serialize;

use super::outliers::{OF_MAD, mad};
use crate::Outcome;
use crate::autocorrelation::inflation_beside;
use crate::compare::median;

/// What of its blocks a node is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeStatistic {
    /// Median lateness of a node.
    P50,
    /// The 99th percentile.
    P99,
}

impl NodeStatistic {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::P50, Self::P99];

    /// The share of wake-ups at or below it.
    pub const fn quantile(self) -> f64 {
        match self {
            Self::P50 => 0.5,
            Self::P99 => 0.99,
        }
    }

    /// As it is called in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P50 => "median",
            // Not that of all its wake-ups: the median of what its stretches of time have.
            Self::P99 => "usual p99",
        }
    }
}

/// A node's number, nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) node: String,
    pub(super) value: f64,
    /// How far blocks lie apart.
    pub(super) within: f64,
    /// How uncertain the value is by that.
    pub(super) variance: f64,
    pub(super) blocks: usize,
    pub(super) count: u64,
    pub(super) max: i64,
}

/// Each node that has enough wake-ups for `statistic`, in order of names.
pub(super) fn measured(outcomes: &[&Outcome], statistic: NodeStatistic) -> Vec<Measured> {
    let mut nodes: BTreeMap<String, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        nodes.entry(Property::Node.typed(*outcome)).or_default().push(outcome);
    }
    nodes.into_iter().filter_map(|(node, outcomes)| measure(node, &outcomes, statistic)).collect()
}

/// The numbers of all threads of a node together.
fn measure(node: String, outcomes: &[&Outcome], statistic: NodeStatistic) -> Option<Measured> {
    let series = |outcome: &&Outcome| outcome.planned_blocks().quantiles(statistic.quantile());
    let threads: Vec<Vec<f64>> = outcomes.iter().map(series).filter(|values| !values.is_empty()).collect();
    let all = threads.concat();
    let value = median(&all)?;
    let within = OF_MAD * mad(&all)?;
    let slices: Vec<&[f64]> = threads.iter().map(Vec::as_slice).collect();
    let worth = all.len() as f64 / inflation_beside(&slices, &slices);
    let latency = |outcome: &&Outcome| outcome.planned().into_owned();
    Some(Measured {
        node,
        value,
        within,
        variance: within * within * std::f64::consts::FRAC_PI_2 / worth.max(1.0),
        blocks: all.len(),
        count: outcomes.iter().map(|one| latency(one).count()).sum(),
        max: outcomes.iter().filter_map(|one| latency(one).max()).map(|max| max.as_nanos()).max()?,
    })
}
