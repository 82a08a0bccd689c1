//! Iterations of loops that their programs have marked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Distribution, Latency, Ledger, MonotonicTime, Span};

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

/// The work of a loop's iterations, as its program has marked it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TurnsBlock")]
pub struct IterationsBlock {
    /// The period that the loop is to have; 0 where it has none.
    #[serde(rename = "period_ns")]
    pub period: Span,
    /// How long the work of each turn took, of those that said when it was done.
    pub work: Distribution,
    /// Turns whose work took longer than the period.
    pub long: u64,
    /// Turns of which nobody knows when they were to begin: their time was inferred from the loop's own rhythm.
    pub inferred: u64,
    /// Spans that its program has named, in their order; absent where it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<SpanBlock>,
    /// The turn whose work took longest; absent where its program has named no spans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<LongestIteration>,
    /// What the work of turns went to, added up: their lengths stand for latencies. Absent where no tracer saw the thread.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub ledger: Ledger,
}

/// A part of a loop's turns that its program has named.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpanBlock {
    /// What the program calls it.
    pub name: String,
    /// How much of each turn lay in it, of those turns in which it occurred.
    pub time: Distribution,
}

/// The turn of a loop whose work took longest, and where it was long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LongestTurn")]
pub struct LongestIteration {
    /// How long its work took.
    #[serde(rename = "work_ns")]
    pub work: Span,
    /// How much of it lay in each span, the most first. Spans may lie in one another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<SpanTime>,
}

/// Distinct spans of a loop at most; the documented limit for programs is lower.
const SPANS_KEPT: usize = 64;

impl IterationsBlock {
    /// Counts the work of one iteration.
    pub fn record_work(&mut self, length: Span) {
        self.work.record(Latency::from_span(length));
        self.long += u64::from(!self.period.is_zero() && length > self.period);
    }

    /// Counts the time in each span of an iteration whose work took `work`.
    pub fn record_spans(&mut self, work: Span, spans: &[SpanTime]) {
        for span in spans {
            if let Some(block) = self.span(&span.name) {
                block.time.record(Latency::from_span(span.spent));
            }
        }
        if !self.spans.is_empty() {
            let mut spans = spans.to_vec();
            spans.sort_by_key(|span| std::cmp::Reverse(span.spent));
            self.keep_longest(&LongestIteration { work, spans });
        }
    }

    /// The span with this name, created if needed; `None` if there are too many.
    fn span(&mut self, name: &str) -> Option<&mut SpanBlock> {
        let place = self.spans.iter().position(|span| span.name == name).unwrap_or(self.spans.len());
        if place == self.spans.len() && place < SPANS_KEPT {
            self.spans.push(SpanBlock { name: name.to_owned(), time: Distribution::default() });
        }
        self.spans.get_mut(place)
    }

    fn keep_longest(&mut self, iteration: &LongestIteration) {
        if self.longest.as_ref().is_none_or(|longest| longest.work < iteration.work) {
            self.longest = Some(iteration.clone());
        }
    }

    pub(crate) fn merge(&mut self, later: &Self) {
        for span in &later.spans {
            if let Some(block) = self.span(&span.name) {
                block.time.merge(&span.time);
            }
        }
        later.longest.iter().for_each(|iteration| self.keep_longest(iteration));
        self.period = later.period;
        self.work.merge(&later.work);
        self.ledger.merge(&later.ledger);
        self.long = self.long.saturating_add(later.long);
        self.inferred = self.inferred.saturating_add(later.inferred);
    }
}
