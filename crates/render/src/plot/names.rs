//! What conditions are called beside one another.

use howlate_analyse::Outcome;
use howlate_model::{Condition, HasProperties, Property};

use crate::property::{phrase, varying};

/// Each condition by that in which not all are the same.
pub(super) fn names(outcomes: &[&Outcome]) -> Vec<String> {
    let conditions: Vec<&Condition> = outcomes.iter().map(|outcome| &outcome.condition).collect();
    let mut parts = varying(&conditions);
    // A number says little beside what tells the threads apart.
    if parts.len() > 1 {
        parts.retain(|part| *part != Property::Thread);
    }
    let name = |condition: &&Condition| {
        let own: Vec<String> =
            parts.iter().filter_map(|part| condition.value(*part)).map(|value| phrase(&value)).collect();
        if own.is_empty() { "all wake-ups".to_owned() } else { own.join(" · ") }
    };
    conditions.iter().map(name).collect()
}
