//! What conditions are called beside one another.

use howlate_analyse::Outcome;
use howlate_model::{HasProperties, Property};

use crate::property::{phrase, telling};

/// Each condition by that in which not all are the same.
pub(super) fn names(outcomes: &[&Outcome]) -> Vec<String> {
    let mut parts = telling(outcomes);
    // A number says little beside what tells the threads apart.
    if parts.len() > 1 {
        parts.retain(|part| *part != Property::Thread);
    }
    let said = |outcome: &Outcome, part: Property| match outcome.value(part) {
        None if part == Property::Knob => Some("baseline".to_owned()),
        value => value.map(|value| phrase(&value)),
    };
    let name = |outcome: &&Outcome| {
        let own: Vec<String> = parts.iter().filter_map(|part| said(outcome, *part)).collect();
        if own.is_empty() { "all wake-ups".to_owned() } else { own.join(" · ") }
    };
    outcomes.iter().map(name).collect()
}
