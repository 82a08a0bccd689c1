//! A turn of a loop that its program has marked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{MonotonicTime, Span};

/// One turn of a marked loop: the program's own readings of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopIteration {
    /// When it was to begin, where the program says so.
    pub expected: Option<MonotonicTime>,
    /// When it began.
    pub woke: MonotonicTime,
    /// When its work was done, where the program says so.
    pub done: Option<MonotonicTime>,
}

/// How much of a turn lay in a span that its program has named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpanTime {
    /// What the program calls it.
    pub name: String,
    /// The time in it.
    #[serde(rename = "spent_ns")]
    pub spent: Span,
}

/// The loop of a turn that missed its deadline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LateTurn")]
pub struct LateIteration {
    /// What the program calls it.
    pub name: String,
    /// Its period: a turn that is not done that long after it was due has missed its deadline.
    #[serde(rename = "period_ns")]
    pub period: Span,
    /// How much of the turn lay in spans that the program has named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<SpanTime>,
}
