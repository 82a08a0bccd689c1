//! What to know besides the numbers.

use std::collections::HashMap;

use howlate_analyse::Analysis;

use crate::caveats::caveat;
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
    let mut notes: Vec<(String, usize)> = analysis.caveats.iter().map(|one| (caveat(one), 0)).collect();
    let mut places: HashMap<String, usize> = notes.iter().map(|(note, _)| note.clone()).zip(0..).collect();
    for one in analysis.outcomes().iter().flat_map(howlate_analyse::Outcome::caveats) {
        let note = caveat(&one);
        let place = *places.entry(note.clone()).or_insert_with(|| {
            notes.push((note, 0));
            notes.len() - 1
        });
        notes[place].1 += 1;
    }
    notes
}
