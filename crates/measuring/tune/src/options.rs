//! What is asked of trying settings.

use howlate_analyse::compare::Statistic;
use howlate_model::Span;

use crate::selection::KnobSelection;

/// How settings are tried.
#[derive(Clone)]
pub struct Options {
    /// Which settings are to be tried.
    pub knobs: Vec<KnobSelection>,
    /// What is to become smaller.
    pub goal: Statistic,
    /// How long all turns together may take.
    pub budget: Span,
    /// Settings of the machine are tried although another program that changes them is at work.
    pub beside_tuners: bool,
}
