//! What to know besides the numbers.

use std::collections::{HashMap, HashSet};

use howlate_analyse::Analysis;
use howlate_model::Caveat;

use crate::ask_again::show_again;
use crate::caveats::sentences;
use crate::kept_timelines::is_about_timelines;
use crate::numbers::count;
use crate::prose::wrapped;
use crate::style::{WARN, paint};

/// More notes of many machines are not read.
const MOST: usize = 30;

/// Lines that doubts may take above the numbers where there is no other limit.
pub(crate) const MOST_LINES: usize = 6;

/// What makes a result doubtful, in so many lines: what spoils it first. The rest is counted.
pub(crate) fn doubts(analysis: &Analysis, most: usize, width: usize) -> String {
    doubts_but(|_| false, analysis, most, width)
}

/// The same without some caveats.
pub(crate) fn doubts_but(
    is_left_out: impl Fn(&Caveat) -> bool,
    analysis: &Analysis,
    most: usize,
    width: usize,
) -> String {
    let mut notes = once(analysis);
    let spoiling = spoiling(analysis);
    let of_conditions = analysis.outcomes().iter().flat_map(howlate_analyse::Outcome::caveats);
    let all = analysis.caveats.iter().cloned().chain(of_conditions);
    let elsewhere: Vec<Caveat> = all.filter(|one| is_about_timelines(one) || is_left_out(one)).collect();
    let elsewhere = sentences(&elsewhere);
    notes.retain(|(note, _)| !elsewhere.iter().any(|(known, _)| known == note));
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

/// What makes a result doubtful, each in a sentence: what was not as asked for, and a machine that was busy.
pub fn doubtful(analysis: &Analysis) -> Vec<String> {
    let of_conditions = analysis.outcomes().iter().flat_map(howlate_analyse::Outcome::caveats);
    let is_doubt = |caveat: &Caveat| caveat.spoils() || matches!(caveat, Caveat::MachineBusy { .. });
    let doubts: Vec<Caveat> =
        analysis.caveats.iter().cloned().chain(of_conditions).filter(is_doubt).collect();
    sentences(&doubts).into_iter().map(|(note, _)| note).collect()
}

/// Why the result is not what was asked for, in a sentence: what spoils it first, and how much else does.
pub fn not_as_asked(analysis: &Analysis) -> Option<String> {
    let spoiling = spoiling(analysis);
    let mut told = once(analysis).into_iter().map(|(note, _)| note).filter(|note| spoiling.contains(note));
    let first = told.next()?;
    Some(match told.count() {
        0 => first,
        1 => format!("{first} And 1 more note."),
        more => format!("{first} And {} more notes.", count(more as u64)),
    })
}

/// The words of caveats for which the result is not what was asked for.
fn spoiling(analysis: &Analysis) -> HashSet<String> {
    let of_conditions = analysis.outcomes().iter().flat_map(howlate_analyse::Outcome::caveats);
    let spoiling: Vec<Caveat> =
        analysis.caveats.iter().cloned().chain(of_conditions).filter(Caveat::spoils).collect();
    sentences(&spoiling).into_iter().map(|(note, _)| note).collect()
}

/// Caveats, each once, with the conditions that they are about.
pub(crate) fn notes(analysis: &Analysis, width: usize) -> String {
    let notes = once(analysis);
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

/// A note, and of how many of `all` conditions it is.
fn line((note, conditions): &(String, usize), all: usize, width: usize) -> String {
    let about = match conditions {
        0 => String::new(),
        n if all > 1 && *n < all => format!(" ({n} of {all} conditions)"),
        _ => String::new(),
    };
    format!("{} {}\n", paint(WARN, "!"), wrapped(&format!("{note}{about}"), width, 2))
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
