//! A tracer that was asked for by name, and cannot be had.

use howlate_model::TracerRefusal;

use crate::{Choice, Opened, Tier, open};

/// Why the tracer that was asked for cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("the {tier} tracer is not available: {refusal}")]
pub struct TracerMissing {
    /// Which one it is.
    pub tier: Tier,
    /// Why it cannot be had.
    pub refusal: TracerRefusal,
}

/// [`open`], where a tracer that was asked for by name is to be had or nothing is to be done.
///
/// # Errors
///
/// When it cannot be had. That there is none at all is no error where the choice was free.
pub fn open_as_asked(choice: Choice, processes: &[u32]) -> Result<Opened, TracerMissing> {
    let opened = open(choice, processes);
    match (choice, opened.refused.first()) {
        (Choice::Only(tier), Some((_, refusal))) => Err(TracerMissing { tier, refusal: refusal.clone() }),
        _ => Ok(opened),
    }
}
