//! Whether what was measured is what was asked for.

use howlate_model::{Caveat, EndReason};

use crate::watch::Rhythm;
use crate::{Analysis, Outcome};

/// Whether every condition was measured, to the end, with everything it was to have.
pub fn is_as_asked(analysis: &Analysis) -> bool {
    let outcomes = analysis.outcomes();
    let ended_early = analysis.end.as_ref().is_none_or(|end| end.how != EndReason::Done);
    !analysis.caveats.iter().any(Caveat::spoils)
        && !outcomes.iter().any(|outcome| outcome.caveats().iter().any(Caveat::spoils))
        && (ended_early || outcomes.iter().all(was_seen))
}

/// Whether it woke; turns of a loop may have no time that they are late from.
fn was_seen(outcome: &Outcome) -> bool {
    outcome.count() > 0 || outcome.rhythm.as_deref().is_some_and(Rhythm::has_turned)
}

/// What keeps this condition from being measured as asked; its own caveats first.
pub(crate) fn spoiled(outcome: &Outcome, analysis: &Analysis) -> Option<Caveat> {
    let own = outcome.caveats();
    own.iter().chain(&analysis.caveats).find(|caveat| caveat.spoils()).cloned()
}
