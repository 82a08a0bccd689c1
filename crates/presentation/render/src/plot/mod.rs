//! Pictures in a terminal: how many wake-ups were how late, and the latency by percentile.

mod curve;
mod histogram;

use howlate_analyse::{Analysis, Outcome};

use crate::condition::beside_one_another;
use crate::prose::{text_width, wrapped};
use crate::scale::Scale;
use crate::style::{DIM, HEADING, paint};

/// Which letters pictures are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbols {
    /// Blocks and shapes.
    Unicode,
    /// Nothing but ASCII.
    Ascii,
}

/// Conditions drawn; those with the largest latencies.
const DRAWN: usize = 12;

/// A condition and what it is called.
struct Series<'a> {
    name: String,
    outcome: &'a Outcome,
}

/// Histogram and percentile curve of a recording's conditions; nothing where nothing was measured.
pub fn plots(analysis: &Analysis, width: usize, symbols: Symbols) -> String {
    let mut outcomes: Vec<&Outcome> =
        analysis.outcomes().iter().filter(|outcome| !outcome.latency().is_empty()).collect();
    let measured = outcomes.len();
    let mut by_max: Vec<usize> = (0..measured).collect();
    by_max.sort_by_key(|place| std::cmp::Reverse(outcomes[*place].latency().max()));
    by_max.truncate(DRAWN);
    by_max.sort_unstable();
    outcomes = by_max.into_iter().map(|place| outcomes[place]).collect();
    let (Some(least), Some(most)) = (lowest(&outcomes), highest(&outcomes)) else { return String::new() };
    let names = beside_one_another(&outcomes);
    let series: Vec<Series<'_>> =
        names.into_iter().zip(&outcomes).map(|(name, outcome)| Series { name, outcome }).collect();
    let latencies = Scale::logarithmic(least, most);
    let mut text =
        format!("{} · {}\n", paint(HEADING, "Wake-ups by latency"), paint(DIM, "heights are logarithmic"));
    text.push_str(&histogram::histogram(&series, latencies, width, symbols));
    text.push_str(&format!("\n{}\n", paint(HEADING, "Latency by percentile")));
    text.push_str(&curve::curves(&series, latencies, width, symbols));
    if series.iter().any(|one| one.outcome.has_missed()) {
        let missed = "Missed periods are counted, with the latency they would have had.";
        text.push_str(&format!("{}\n", wrapped(missed, width, 0)));
    }
    if measured > series.len() {
        let more = measured - series.len();
        let more = format!("{more} more conditions with smaller maxima are not drawn.");
        text.push_str(&format!("{}\n", wrapped(&more, width, 0)));
    }
    if symbols == Symbols::Ascii { in_ascii(&text) } else { text }
}

fn lowest(outcomes: &[&Outcome]) -> Option<f64> {
    let least = outcomes.iter().filter_map(|outcome| outcome.latency().min()).min()?;
    Some(least.as_nanos().max(1) as f64)
}

fn highest(outcomes: &[&Outcome]) -> Option<f64> {
    let most = outcomes.iter().filter_map(|outcome| outcome.latency().max()).max()?;
    Some(most.as_nanos().max(1) as f64)
}

/// Words below or beside a picture say the same in ASCII.
fn in_ascii(text: &str) -> String {
    text.replace('µ', "u").replace('·', "-").replace('→', "->").replace(['–', '−'], "-")
}

/// A line of words, each at its place as far as there is room.
pub(crate) fn line_of_words(words: &[(usize, String)], width: usize) -> String {
    let mut line = String::new();
    for (place, word) in words {
        let begin = place.saturating_sub(text_width(word) / 2).min(width.saturating_sub(text_width(word)));
        let end = text_width(&line);
        if begin >= end + usize::from(end > 0) {
            line.push_str(&" ".repeat(begin - end));
            line.push_str(word);
        }
    }
    line
}

/// The column of a place between 0 and 1.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn column(place: f64, columns: usize) -> usize {
    ((place * columns as f64) as usize).min(columns.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_out_of_each_others_way() {
        let words = |places: &[usize]| -> Vec<(usize, String)> {
            places.iter().map(|place| (*place, "10 µs".to_owned())).collect()
        };
        assert_eq!(line_of_words(&words(&[2, 10]), 20), "10 µs   10 µs");
        assert_eq!(line_of_words(&words(&[2, 5]), 20), "10 µs");
        assert_eq!(line_of_words(&words(&[20]), 20).chars().count(), 20);
    }
}
