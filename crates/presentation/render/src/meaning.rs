//! What results mean, in sentences.

use howlate_analyse::Analysis;
use howlate_model::{Command, Work};

use crate::{insights, notify, quick};

/// What the numbers of a recording bear out, a sentence or two each.
pub fn meaning(analysis: &Analysis) -> Vec<String> {
    let first = analysis.outcomes().first().map(|outcome| &outcome.condition.work);
    match (&analysis.header.command, first) {
        (Command::Quick, _) => quick::sentences(analysis),
        (_, Some(Work::Notify { .. })) => notify::sentences(analysis),
        _ => insights::sentences(analysis),
    }
}
