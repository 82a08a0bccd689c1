//! Progress of a run that goes on until something is known.

use howlate_model::{Span, StopRule};
use schemars::JsonSchema;
use serde::Serialize;

/// Whether it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// A percentile is known as well as was wanted, or two conditions are told apart.
    Reached,
    /// What was to be rare is.
    Holds,
    /// It is not.
    Refuted,
    /// Nobody knows yet.
    Undecided,
}

/// What the numbers of an interval are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Unit")]
#[serde(rename_all = "snake_case")]
pub enum IntervalUnit {
    /// Of a time, in nanoseconds.
    Ns,
    /// Events per hour.
    PerHour,
}

/// Between which numbers something lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Between")]
pub struct DecisionInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end; absent where nothing is said of how high it may be: a limit that is broken is so by however much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Unit of both ends.
    pub unit: IntervalUnit,
}

/// What is known so far.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Found")]
pub struct Progress {
    /// What the run goes on until.
    pub figure: StopRule,
    /// Which condition it is about, from 0; absent where it is about two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<u32>,
    /// Whether that is known.
    pub decision: Decision,
    /// The percentile, or how often the limit is exceeded; absent while too little is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<DecisionInterval>,
    /// How often it was looked at. For rates and comparisons it makes no difference to the confidence.
    pub looked: u64,
    /// Of the interval and the decision.
    pub confidence: f64,
    /// Time that was measured.
    #[serde(rename = "covered_ns")]
    pub covered: Span,
    /// How often the limit was exceeded, or in how many pairs of turns the one condition was later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<u64>,
    /// Pairs of turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<u64>,
    /// Late wake-ups count once within this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "spell_ns")]
    pub spell: Option<Span>,
    /// Time that it may need in all, this included, if all goes on as it did; absent when it is known, or nobody can say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "needs_about_ns")]
    pub needs_about: Option<Span>,
}

impl Progress {
    /// The progress before the first block.
    pub(crate) const fn none(figure: StopRule) -> Self {
        Self {
            figure,
            condition: None,
            decision: Decision::Undecided,
            interval: None,
            looked: 0,
            confidence: super::CONFIDENCE,
            covered: Span::ZERO,
            events: None,
            pairs: None,
            spell: None,
            needs_about: None,
        }
    }
}
