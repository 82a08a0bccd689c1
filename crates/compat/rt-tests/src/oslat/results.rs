//! What a run came to.

use howlate_model::Span;

use super::counts::Counts;

/// One CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuResult {
    /// Its number.
    pub cpu: u32,
    /// Of the counter that was read.
    pub megahertz: u64,
    /// The shortest turn.
    pub shortest: Span,
    /// All turns.
    pub turns: u64,
    /// For how long, in seconds.
    pub seconds: f64,
    /// Turns that were long.
    pub counts: Counts,
}

impl CpuResult {
    /// The counts, with the turns that were short.
    pub(super) fn all(&self) -> Counts {
        let mut counts = self.counts.clone();
        let long: u64 = counts.buckets.iter().sum();
        counts.add_short(self.turns.saturating_sub(long));
        counts
    }
}

/// All CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// In the order of their numbers.
    pub cpus: Vec<CpuResult>,
}
