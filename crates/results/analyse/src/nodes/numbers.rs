//! A node's statistics under one condition, from its blocks.

use std::collections::BTreeMap;

use howlate_model::Property;
use schemars::JsonSchema;
use serde::Serialize;

use super::outliers::{OF_MAD, mad};
use crate::Outcome;
use crate::autocorrelation::variance_inflation;
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
    /// All statistics.
    pub const ALL: [Self; 2] = [Self::P50, Self::P99];

    /// The share of wake-ups at or below it.
    pub const fn quantile(self) -> f64 {
        match self {
            Self::P50 => 0.5,
            Self::P99 => 0.99,
        }
    }

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P50 => "median",
            // Not the p99 of all its wake-ups, but the median over its batches.
            Self::P99 => "usual p99",
        }
    }
}

/// A node's value for one statistic, nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct NodeSample {
    pub(super) node: String,
    pub(super) value: f64,
    /// Median absolute deviation of its blocks, scaled to a standard deviation.
    pub(super) within: f64,
    /// Variance of the value.
    pub(super) variance: f64,
    pub(super) blocks: usize,
    pub(super) count: u64,
    pub(super) max: i64,
}

/// Each node that has enough wake-ups for `statistic`, in order of names.
pub(super) fn samples(outcomes: &[&Outcome], statistic: NodeStatistic) -> Vec<NodeSample> {
    let mut nodes: BTreeMap<String, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        nodes.entry(Property::Node.text(*outcome)).or_default().push(outcome);
    }
    nodes.into_iter().filter_map(|(node, outcomes)| sample(node, &outcomes, statistic)).collect()
}

/// The statistics of all threads of a node together.
fn sample(node: String, outcomes: &[&Outcome], statistic: NodeStatistic) -> Option<NodeSample> {
    let series = |outcome: &&Outcome| outcome.planned_blocks().quantiles(statistic.quantile());
    let threads: Vec<Vec<f64>> = outcomes.iter().map(series).filter(|values| !values.is_empty()).collect();
    let all = threads.concat();
    let value = median(&all)?;
    let within = OF_MAD * mad(&all)?;
    let slices: Vec<&[f64]> = threads.iter().map(Vec::as_slice).collect();
    let effective = all.len() as f64 / variance_inflation(&slices, &slices);
    let latency = |outcome: &&Outcome| outcome.planned().into_owned();
    Some(NodeSample {
        node,
        value,
        within,
        variance: within * within * std::f64::consts::FRAC_PI_2 / effective.max(1.0),
        blocks: all.len(),
        count: outcomes.iter().map(|outcome| latency(outcome).count()).sum(),
        max: outcomes.iter().filter_map(|outcome| latency(outcome).max()).map(|max| max.as_nanos()).max()?,
    })
}
