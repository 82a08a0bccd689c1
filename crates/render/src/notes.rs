//! What to know besides the numbers.

use std::collections::HashMap;

use howlate_analyse::Analysis;
use howlate_model::Caveat;

use crate::caveats::sentences;
use crate::numbers::count;
use crate::prose::wrapped;
use crate::style::{WARN, paint};

/// More notes of many machines are not read.
const MOST: usize = 30;

/// Caveats, each once, with the conditions that they are about.
pub(crate) fn notes(analysis: &Analysis, width: usize) -> String {
    let notes = once(analysis);
    let all = analysis.outcomes().len();
    let line = |(note, conditions): &(String, usize)| {
        let about = match conditions {
            0 => String::new(),
            n if all > 1 && *n < all => format!(" ({n} of {all} conditions)"),
            _ => String::new(),
        };
        format!("{} {}\n", paint(WARN, "!"), wrapped(&format!("{note}{about}"), width, 2))
    };
    let most = if analysis.members.len() > 1 { MOST } else { notes.len() };
    let more = notes.len().saturating_sub(most);
    let rest = if more > 0 {
        format!("  and {} more notes: see `--format json`\n", count(more as u64))
    } else {
        String::new()
    };
    notes.iter().take(most).map(line).chain(std::iter::once(rest)).collect()
}

/// Their words, and of how many conditions they are; those of the whole recording are of none.
fn once(analysis: &Analysis) -> Vec<(String, usize)> {
    let of_conditions: Vec<Caveat> =
        analysis.outcomes().iter().flat_map(howlate_analyse::Outcome::caveats).collect();
    let mut notes: Vec<(String, usize)> =
        sentences(&analysis.caveats).into_iter().map(|(note, _)| (note, 0)).collect();
    // Of thousands of machines there are thousands: each is looked up, not looked for.
    let places: HashMap<String, usize> = notes.iter().map(|(note, _)| note.clone()).zip(0..).collect();
    for (note, conditions) in sentences(&of_conditions) {
        match places.get(&note) {
            Some(place) => notes[*place].1 = conditions,
            None => notes.push((note, conditions)),
        }
    }
    notes
}
