//! What to know besides the numbers.

use howlate_analyse::Analysis;
use howlate_model::Caveat;

use crate::caveats::caveat;
use crate::prose::wrapped;
use crate::style::{WARN, paint};

/// Caveats, each once, with the conditions that they are about.
pub(crate) fn notes(analysis: &Analysis, width: usize) -> String {
    let mut notes: Vec<(Caveat, usize)> = analysis.caveats.iter().map(|one| (one.clone(), 0)).collect();
    for outcome in analysis.outcomes() {
        for one in outcome.caveats() {
            match notes.iter_mut().find(|(known, _)| caveat(known) == caveat(&one)) {
                Some((_, conditions)) => *conditions += 1,
                None => notes.push((one, 1)),
            }
        }
    }
    let several = analysis.outcomes().len() > 1;
    let line = |(one, conditions): &(Caveat, usize)| {
        let about = match conditions {
            0 => String::new(),
            n if several && *n < analysis.outcomes().len() => {
                format!(" ({n} of {} conditions)", analysis.outcomes().len())
            }
            _ => String::new(),
        };
        let text = format!("{}{about}", caveat(one));
        format!("{} {}\n", paint(WARN, "!"), wrapped(&text, width, 2))
    };
    notes.iter().map(line).collect()
}
