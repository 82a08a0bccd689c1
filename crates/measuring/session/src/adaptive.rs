//! A measurement whose turns depend on what the turns before them have shown.

use howlate_analyse::compare::Track;
use howlate_model::{Condition, Tuning, Turn};
use howlate_render::Stage;

/// Turns to take next.
pub struct Step {
    /// Conditions that were not known before; turns refer to them by the indices that follow.
    pub conditions: Vec<Condition>,
    /// In their order.
    pub turns: Vec<Turn>,
}

/// Whoever decides what is measured next.
pub trait Steps {
    /// What it decides by, beside what is known.
    fn tuning(&self) -> Tuning;
    /// The next turns, now that so much is known; `None` when nothing more is to be measured.
    fn next(&mut self, track: &Track) -> Option<Step>;
    /// What the turns that were asked for last are part of.
    fn stage(&self) -> Stage;
    /// No more turns can be taken: what is known is all that there will be.
    fn ended(&mut self, track: &Track);
}
