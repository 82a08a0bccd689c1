//! Groups of nodes that share a property, compared with the other nodes.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::NodeNumber;
use crate::MergedMachine;
use crate::compare::{MannWhitney, between, holm};

/// Groups with fewer nodes on a side are not compared.
const LEAST: usize = 3;
/// Significance level of all groups of a condition together.
const LEVEL: f64 = 0.05;
/// Properties with more values identify single nodes rather than groups.
const MOST_VALUES: usize = 32;

/// Nodes of which one property is the same are later, or earlier, than the others.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GroupShift {
    /// `kernel`, `cpu`, `label:rack`, ….
    pub property: String,
    /// What they have of it.
    pub value: String,
    /// How many nodes they are.
    pub nodes: usize,
    /// How many others there are.
    pub others: usize,
    /// How much later they are (Hodges–Lehmann).
    pub difference_ns: f64,
    /// The 95 % interval of that.
    pub interval_ns: (f64, f64),
    /// How probable so large a difference is by chance, corrected for the number of groups (Holm).
    pub p_corrected: f64,
}

/// The groups that differ from the other nodes by more than `margin`, the largest difference first.
pub(super) fn groups(
    members: &BTreeMap<String, MergedMachine>,
    nodes: &[NodeNumber],
    margin: f64,
) -> Vec<GroupShift> {
    let mut found: Vec<(GroupShift, f64)> = candidates(members)
        .into_iter()
        .filter_map(|(property, value)| shift(members, nodes, property, value))
        .collect();
    let corrected = holm(&found.iter().map(|(_, p)| *p).collect::<Vec<_>>(), LEVEL);
    let mut groups: Vec<GroupShift> = found
        .drain(..)
        .zip(corrected)
        .map(|((group, _), corrected)| GroupShift { p_corrected: corrected.p, ..group })
        .filter(|group| group.p_corrected <= LEVEL && group.difference_ns.abs() > margin)
        .collect();
    groups.sort_by(|left, right| right.difference_ns.abs().total_cmp(&left.difference_ns.abs()));
    groups
}

/// Every value of every property that has more than one. Of two values, one is enough, as each is compared with the other.
fn candidates(members: &BTreeMap<String, MergedMachine>) -> Vec<(&str, &str)> {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (property, value) in members.values().flat_map(|member| &member.properties) {
        values.entry(property).or_default().insert(value);
    }
    values.into_iter().flat_map(|(property, values)| grouping_values(property, values)).collect()
}

/// The values of a property to group nodes by.
fn grouping_values<'a>(property: &'a str, values: BTreeSet<&'a str>) -> Vec<(&'a str, &'a str)> {
    let skipped = match values.len() {
        2 => 1,
        3..=MOST_VALUES => 0,
        _ => values.len(),
    };
    values.into_iter().skip(skipped).map(|value| (property, value)).collect()
}

/// The nodes with a value against the others, with the p-value; `None` with too few on a side.
fn shift(
    members: &BTreeMap<String, MergedMachine>,
    nodes: &[NodeNumber],
    property: &str,
    value: &str,
) -> Option<(GroupShift, f64)> {
    let has = |node: &&NodeNumber| {
        let member = members.get(&node.node);
        member.and_then(|member| member.properties.get(property)).is_some_and(|own| own == value)
    };
    let (group, others): (Vec<&NodeNumber>, Vec<&NodeNumber>) = nodes.iter().partition(has);
    let values = |nodes: &[&NodeNumber]| nodes.iter().map(|node| node.value_ns).collect::<Vec<f64>>();
    let (group, others) = (values(&group), values(&others));
    if group.len().min(others.len()) < LEAST {
        return None;
    }
    let test = MannWhitney::from_samples(&others, &group);
    let shift = GroupShift {
        property: property.to_owned(),
        value: value.to_owned(),
        nodes: group.len(),
        others: others.len(),
        difference_ns: between(&others, &group)?,
        interval_ns: test.interval(LEVEL)?,
        p_corrected: 1.0,
    };
    Some((shift, test.p()))
}
