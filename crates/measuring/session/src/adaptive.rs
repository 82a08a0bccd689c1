//! Adaptive measurements, whose turns depend on the results of earlier turns.

use howlate_analyse::compare::Track;
use howlate_model::{Condition, Tuning, Turn};
use howlate_render::Stage;

/// The next turns.
pub struct AdaptiveStep {
    /// New conditions; turns refer to them by the indices after those of all earlier conditions.
    pub conditions: Vec<Condition>,
    pub turns: Vec<Turn>,
}

/// Decides what is measured next.
pub trait AdaptivePlan {
    /// The parameters of its decisions.
    fn tuning(&self) -> Tuning;
    /// The next turns, given the results so far; `None` at the end.
    fn next(&mut self, track: &Track) -> Option<AdaptiveStep>;
    /// The stage of the latest turns.
    fn stage(&self) -> Stage;
    /// Called when the run ended early; `track` has all results.
    fn ended(&mut self, track: &Track);
}
