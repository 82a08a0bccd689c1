//! Who is told while threads spin.

use howlate_model::{Caveat, CpuGap, Span};

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct GapProgress {
    /// For how long threads have spun.
    pub passed: Span,
    /// Gaps so far.
    pub gaps: u64,
    /// The longest one so far.
    pub worst: Option<CpuGap>,
}

/// Who is told of each gap as soon as it is collected.
pub trait GapWatcher {
    /// A gap, each CPU's in their order.
    fn gap(&mut self, _gap: &CpuGap) {}
    /// What is to be said before anything is measured.
    fn told(&mut self, _caveat: &Caveat) {}
    /// After each look; `true` ends the run.
    fn progress(&mut self, progress: &GapProgress) -> bool;
}
