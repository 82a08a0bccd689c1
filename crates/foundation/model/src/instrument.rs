//! What measuring costs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Span;

/// What the instrument itself contributes, measured before each run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Instrument {
    /// The smallest step between two different readings of the clock.
    #[serde(rename = "clock_precision_ns")]
    pub clock_precision: Span,
    /// The time that one reading of the clock takes (median).
    #[serde(rename = "clock_read_ns")]
    pub clock_read: Span,
    /// The time one turn of the measuring loop takes when the wait is over at once (median).
    #[serde(rename = "loop_ns")]
    pub loop_cost: Span,
    /// The time one `clock_nanosleep(2)` takes whose time has already come (the least of many): the least
    /// CPU time a wake-up can cost.
    #[serde(rename = "wait_ns")]
    pub wait: Span,
}
