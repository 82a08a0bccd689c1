//! What measuring costs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Span;

/// What the instrument itself contributes, measured before each run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Instrument {
    /// The smallest step between two different readings of the clock.
    pub clock_precision_ns: Span,
    /// The time that one reading of the clock takes (median).
    pub clock_read_ns: Span,
    /// The time one turn of the measuring loop takes when the wait is over at once (median).
    pub loop_ns: Span,
    /// The time one `clock_nanosleep(2)` takes whose time has already come (the least of many): the least
    /// CPU time a wake-up can cost.
    pub wait_ns: Span,
}
