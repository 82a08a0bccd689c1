//! Whether what was measured is what was asked for.

use howlate_model::{Caveat, HowEnded};

use crate::{Analysis, Outcome};

/// Whether every condition was measured, to the end, with everything it was to have.
pub fn is_as_asked(analysis: &Analysis) -> bool {
    let outcomes = analysis.outcomes();
    let ended_early = analysis.end.as_ref().is_none_or(|end| end.how != HowEnded::Done);
    !analysis.caveats.iter().any(Caveat::spoils)
        && !outcomes.iter().any(|outcome| outcome.caveats().iter().any(Caveat::spoils))
        && (ended_early || outcomes.iter().all(|outcome| outcome.count() > 0))
}

/// What keeps this condition from being measured as asked; its own caveats first.
pub(crate) fn spoiled(outcome: &Outcome, analysis: &Analysis) -> Option<Caveat> {
    let own = outcome.caveats();
    own.iter().chain(&analysis.caveats).find(|caveat| caveat.spoils()).cloned()
}
