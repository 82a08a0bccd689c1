//! Results of `howlate selfcheck`: how a tracer explains injected causes.

use serde::Serialize;

use crate::{MonotonicInterval, Segment, Span};

/// Missed hits stored in full per class; further ones are only counted.
pub const MISSES_KEPT: usize = 20;

/// Fewest hits for a verdict on a class: with fewer, a single miss would decide.
pub const HITS_NEEDED: u64 = 20;

/// Required share of hits found.
pub const SHARE_NEEDED: f64 = 0.95;

/// Result for all injected causes. Field names are public: add, never rename.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelfCheck {
    /// The tracer that was checked; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracer: Option<String>,
    /// Better tracers that cannot be had, with the reason.
    pub refused: Vec<String>,
    /// The events that the tracer goes without, as this kernel lacks them, and what that costs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub goes_without: Vec<String>,
    /// The CPU on which it happened.
    pub cpu: u32,
    /// Every class that was asked for.
    pub classes: Vec<CheckedClass>,
}

/// One class of causes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedClass {
    /// Name of the class of causes.
    pub class: &'static str,
    /// Why it was not found.
    pub result: Detection,
    /// Why it was not made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How well it was found.
    #[serde(flatten)]
    pub score: Option<CheckScore>,
}

/// What became of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Detection {
    /// Enough of it was found.
    Found,
    /// Too little of it was.
    Missed,
    /// It hit too few wake-ups to tell.
    TooFew,
    /// It could not be made here.
    NotMade,
}

/// How well the causes of a class were found. Names are public: add, never rename.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CheckScore {
    /// Wake-ups of the measured thread.
    pub wakeups: u64,
    /// Those whose parts are known.
    pub decomposed: u64,
    /// Those whose parts do not add up to their lateness: none, or attribution is broken.
    pub not_adding_up: u64,
    /// How often a cause that was made hit a wake-up.
    pub hits: u64,
    /// Hits of which at least half of what is judged was charged to the right kind, name and process.
    pub found: u64,
    /// Hits of which at least half of what is judged was charged to somebody else by name.
    pub blamed_wrongly: u64,
    /// Hits on wake-ups whose parts are not known.
    pub not_seen: u64,
    /// Hits that are not judged: for all but 30 µs of what was stamped the timer's interrupt had not come yet, and no event tells
    /// why. No class keeps it off; a hypervisor does.
    pub interrupt_late: u64,
    /// The median of |charged − stamped| (less what is not judged) over the hits that were found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_p50_ns: Option<u64>,
    /// Its 95th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_p95_ns: Option<u64>,
    /// The lateness of the wake-ups that were hit, together.
    pub late_ns: u64,
    /// What of it was charged to causes that are named.
    pub named_ns: u64,
    /// The first [`MISSES_KEPT`] of the judged hits that were not found, for whoever wants to know why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub misses: Vec<Miss>,
}

/// A hit that was not charged to who made it. Names are public: add, never rename.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Miss {
    /// Why it was not found.
    pub reason: MissReason,
    /// How long the cause was at it while the thread was late, by its own stamps.
    pub made_ns: Span,
    /// How late the thread was.
    pub late_ns: Span,
    /// Its stamps, on CLOCK_MONOTONIC as the parts.
    pub made: Vec<MonotonicInterval>,
    /// What the tracer made of it; empty where it did not see the wake-up.
    pub parts: Vec<Segment>,
}

/// Why a hit counts as not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MissReason {
    /// At least half of it was charged to somebody else by name.
    BlamedWrongly,
    /// The parts of the wake-up are not known.
    NotSeen,
    /// For nearly all of it the timer's interrupt had not come, and no event tells why: not judged, and not kept.
    InterruptLate,
    /// Less than half was charged to anybody.
    Undetermined,
}

impl SelfCheck {
    /// Whether any class was missed.
    pub fn is_missed(&self) -> bool {
        self.classes.iter().any(|class| class.result == Detection::Missed)
    }

    pub fn is_any_found(&self) -> bool {
        self.classes.iter().any(|class| class.result == Detection::Found)
    }
}

impl CheckedClass {
    /// A class that was injected.
    pub fn from_score(class: &'static str, score: CheckScore) -> Self {
        Self { class, result: score.detection(), reason: None, score: Some(score) }
    }

    /// A class that could not be injected.
    pub const fn not_made(class: &'static str, reason: String) -> Self {
        Self { class, result: Detection::NotMade, reason: Some(reason), score: None }
    }
}

impl CheckScore {
    /// Whether enough of the hits were found, and every sum is right. Never [`Detection::NotMade`].
    pub fn detection(&self) -> Detection {
        match self.judged() {
            _ if self.not_adding_up > 0 => Detection::Missed,
            few if few < HITS_NEEDED => Detection::TooFew,
            _ if self.share_found() >= SHARE_NEEDED => Detection::Found,
            _ => Detection::Missed,
        }
    }

    /// Hits that count for or against the tracer.
    pub const fn judged(&self) -> u64 {
        self.hits - self.interrupt_late
    }

    /// Share of judged hits that were found, 0 to 1.
    pub fn share_found(&self) -> f64 {
        share(self.found, self.judged())
    }

    /// The share of the wake-ups whose parts are known, 0 to 1.
    pub fn share_decomposed(&self) -> f64 {
        share(self.decomposed, self.wakeups)
    }

    /// The share of the late time that went to named causes, 0 to 1.
    pub fn share_named(&self) -> f64 {
        share(self.named_ns, self.late_ns)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nineteen_of_twenty_are_enough() {
        let of = |hits, found| CheckScore { hits, found, ..CheckScore::default() }.detection();
        assert_eq!([of(100, 95), of(100, 94), of(20, 20), of(19, 19), of(0, 0)], {
            use Detection::{Found, Missed, TooFew};
            [Found, Missed, Found, TooFew, TooFew]
        });
        let broken = CheckScore { hits: 1, not_adding_up: 1, ..CheckScore::default() };
        assert_eq!(broken.detection(), Detection::Missed, "that is wrong however few there are");
    }
}
