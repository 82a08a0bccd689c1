//! Notes: what to know besides the numbers.

use std::collections::{HashMap, HashSet};

use howlate_analyse::Analysis;
use howlate_model::Caveat;

use crate::caveats::sentences;
use crate::detail::show_again;
use crate::kept_timelines::is_about_timelines;
use crate::numbers::count;
use crate::prose::wrapped;
use crate::style::{WARN, paint};

/// Most notes, with many machines.
const MOST: usize = 30;

/// Default number of lines of doubts above the numbers.
pub(crate) const MOST_LINES: usize = 6;

/// What makes a result doubtful, in at most `most` lines, invalidating caveats first; the rest is counted.
pub(crate) fn doubts(analysis: &Analysis, most: usize, width: usize) -> String {
    doubts_but(|_| false, analysis, most, width)
}

/// Like `doubts`, without the caveats that `is_left_out`.
pub(crate) fn doubts_but(
    is_left_out: impl Fn(&Caveat) -> bool,
    analysis: &Analysis,
    most: usize,
    width: usize,
) -> String {
    let mut notes = unique_notes(analysis);
    let spoiling = spoiling(analysis);
    let of_conditions = analysis.outcomes().iter().flat_map(howlate_analyse::Outcome::caveats);
    let all = analysis.caveats.iter().cloned().chain(of_conditions);
    let elsewhere: Vec<Caveat> =
        all.filter(|caveat| is_about_timelines(caveat) || is_left_out(caveat)).collect();
    let elsewhere = sentences(&elsewhere);
    notes.retain(|(note, _)| !elsewhere.iter().any(|(other, _)| other == note));
    notes.sort_by_key(|(note, _)| !spoiling.contains(note));
    let all = analysis.outcomes().len();
    let (mut text, mut shown) = (String::new(), 0);
    for note in &notes {
        let line = line(note, all, width);
        if shown > 0 && text.lines().count() + line.lines().count() > most {
            break;
        }
        text.push_str(&line);
        shown += 1;
    }
    let rest = match notes.len() - shown {
        0 => String::new(),
        1 => format!("  and 1 more note: {}\n", show_again(analysis, "--details")),
        more => format!("  and {more} more notes: {}\n", show_again(analysis, "--details")),
    };
    text + &rest
}

/// Sentences on what makes a result doubtful: invalidating caveats, and a busy machine.
pub fn doubtful(analysis: &Analysis) -> Vec<String> {
    let of_conditions = analysis.outcomes().iter().flat_map(howlate_analyse::Outcome::caveats);
    let is_doubt = |caveat: &Caveat| caveat.spoils() || matches!(caveat, Caveat::MachineBusy { .. });
    let doubts: Vec<Caveat> =
        analysis.caveats.iter().cloned().chain(of_conditions).filter(is_doubt).collect();
    sentences(&doubts).into_iter().map(|(note, _)| note).collect()
}

/// Why the result is not what was requested: the first invalidating caveat, and the number of others.
pub fn not_as_asked(analysis: &Analysis) -> Option<String> {
    let spoiling = spoiling(analysis);
    let mut notes =
        unique_notes(analysis).into_iter().map(|(note, _)| note).filter(|note| spoiling.contains(note));
    let first = notes.next()?;
    Some(match notes.count() {
        0 => first,
        1 => format!("{first} And 1 more note."),
        more => format!("{first} And {} more notes.", count(more as u64)),
    })
}

/// Sentences of invalidating caveats.
fn spoiling(analysis: &Analysis) -> HashSet<String> {
    let of_conditions = analysis.outcomes().iter().flat_map(howlate_analyse::Outcome::caveats);
    let spoiling: Vec<Caveat> =
        analysis.caveats.iter().cloned().chain(of_conditions).filter(Caveat::spoils).collect();
    sentences(&spoiling).into_iter().map(|(note, _)| note).collect()
}

/// Caveats, each once, with the conditions that they are about.
pub(crate) fn notes(analysis: &Analysis, width: usize) -> String {
    let notes = unique_notes(analysis);
    let all = analysis.outcomes().len();
    let line = |note| line(note, all, width);
    let most = if analysis.members.len() > 1 { MOST } else { notes.len() };
    let more = notes.len().saturating_sub(most);
    let rest = if more > 0 {
        format!("  and {} more notes: see `--format json`\n", count(more as u64))
    } else {
        String::new()
    };
    notes.iter().take(most).map(line).chain(std::iter::once(rest)).collect()
}

/// A note, with the number of conditions that it is about.
fn line((note, conditions): &(String, usize), all: usize, width: usize) -> String {
    let about = match conditions {
        0 => String::new(),
        n if all > 1 && *n < all => format!(" ({n} of {all} conditions)"),
        _ => String::new(),
    };
    format!("{} {}\n", paint(WARN, "!"), wrapped(&format!("{note}{about}"), width, 2))
}

/// Sentences of caveats with the number of conditions; 0 for those of the whole recording.
fn unique_notes(analysis: &Analysis) -> Vec<(String, usize)> {
    let of_conditions: Vec<Caveat> =
        analysis.outcomes().iter().flat_map(howlate_analyse::Outcome::caveats).collect();
    let mut notes: Vec<(String, usize)> =
        sentences(&analysis.caveats).into_iter().map(|(note, _)| (note, 0)).collect();
    // With thousands of machines there are thousands of notes, so they are found by hash.
    let places: HashMap<String, usize> = notes.iter().map(|(note, _)| note.clone()).zip(0..).collect();
    for (note, conditions) in sentences(&of_conditions) {
        match places.get(&note) {
            Some(place) => notes[*place].1 = conditions,
            None => notes.push((note, conditions)),
        }
    }
    notes
}
