//! The verdict of a comparison, and the reasons for none.

use howlate_model::Span;
use schemars::JsonSchema;
use serde::Serialize;

/// The outcome of one comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// New is earlier, and chance is no explanation.
    Better,
    /// New is later, and chance is no explanation.
    Worse,
    /// No difference was found; one smaller than `detectable_ns` may be there.
    NotDistinguishable,
    /// Whatever difference there is lies within the margin that was given.
    Equivalent,
    /// There is too little to say anything.
    Inconclusive,
}

impl Verdict {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NotDistinguishable => "not_distinguishable",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// Why a comparison is inconclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Inconclusive {
    /// Another program kept one distribution of each side and nothing of its course: no test has anything to go by.
    TwoDistributions,
    /// Not even the clearest difference would be significant with so few pairs.
    TooFewPairs {
        /// How many there are.
        pairs: usize,
        /// How many it takes.
        needed: usize,
    },
    /// The same for stretches of two recordings.
    TooFewStretches {
        /// How many the shorter recording has.
        stretches: usize,
        /// How many it takes.
        needed: usize,
    },
    /// Stretches are like their neighbours however long they are made: the machine drifted.
    Drift {
        /// The shorter recording's measured time.
        #[serde(rename = "covered_ns")]
        covered: Span,
    },
    /// They differ by more than chance explains, but were measured one after the other: a drift of the machine looks the same.
    OneAfterTheOther,
    /// Neither a difference nor its absence could be shown at the margin that was given.
    WiderThanMargin {
        /// How many pairs or stretches there are.
        units: usize,
        /// How many it would take, as far as can be told.
        needed: usize,
    },
}
