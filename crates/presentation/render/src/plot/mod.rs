//! Plots for a terminal: histograms and percentile curves.

mod curve;
mod histogram;

use howlate_analyse::{Analysis, Outcome};

use crate::condition::beside_one_another;
use crate::prose::{text_width, wrapped};
use crate::scale::Scale;
use crate::style::{DIM, HEADING, paint};

/// Characters used for plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotSymbols {
    /// Block elements and geometric shapes.
    Unicode,
    Ascii,
}

/// Most conditions in a plot; those with the largest maxima are drawn.
const MOST_CONDITIONS: usize = 12;

/// A condition's result with its name.
struct NamedOutcome<'a> {
    name: String,
    outcome: &'a Outcome,
}

/// Histograms and percentile curves of a recording; empty without measurements.
pub fn plots(analysis: &Analysis, width: usize, symbols: PlotSymbols) -> String {
    let mut outcomes: Vec<&Outcome> =
        analysis.outcomes().iter().filter(|outcome| !outcome.latency().is_empty()).collect();
    let measured = outcomes.len();
    let mut by_max: Vec<usize> = (0..measured).collect();
    by_max.sort_by_key(|place| std::cmp::Reverse(outcomes[*place].latency().max()));
    by_max.truncate(MOST_CONDITIONS);
    by_max.sort_unstable();
    outcomes = by_max.into_iter().map(|place| outcomes[place]).collect();
    let (Some(least), Some(most)) = (lowest(&outcomes), highest(&outcomes)) else { return String::new() };
    let names = beside_one_another(&outcomes);
    let series: Vec<NamedOutcome<'_>> =
        names.into_iter().zip(&outcomes).map(|(name, outcome)| NamedOutcome { name, outcome }).collect();
    let latencies = Scale::logarithmic(least, most);
    let mut text =
        format!("{} · {}\n", paint(HEADING, "Wake-ups by latency"), paint(DIM, "heights are logarithmic"));
    text.push_str(&histogram::histogram(&series, latencies, width, symbols));
    text.push_str(&format!("\n{}\n", paint(HEADING, "Latency by percentile")));
    text.push_str(&curve::curves(&series, latencies, width, symbols));
    if series.iter().any(|named| named.outcome.has_missed()) {
        let missed = "Missed periods are counted, with the latency they would have had.";
        text.push_str(&format!("{}\n", wrapped(missed, width, 0)));
    }
    if measured > series.len() {
        let more = measured - series.len();
        let more = format!("{more} more conditions with smaller maxima are not drawn.");
        text.push_str(&format!("{}\n", wrapped(&more, width, 0)));
    }
    if symbols == PlotSymbols::Ascii { in_ascii(&text) } else { text }
}

fn lowest(outcomes: &[&Outcome]) -> Option<f64> {
    let least = outcomes.iter().filter_map(|outcome| outcome.latency().min()).min()?;
    Some(least.as_nanos().max(1) as f64)
}

fn highest(outcomes: &[&Outcome]) -> Option<f64> {
    let most = outcomes.iter().filter_map(|outcome| outcome.latency().max()).max()?;
    Some(most.as_nanos().max(1) as f64)
}

/// Replaces non-ASCII characters of the text.
fn in_ascii(text: &str) -> String {
    text.replace('µ', "u").replace('·', "-").replace('→', "->").replace(['–', '−'], "-")
}

/// A line of labels, each centred at its column where there is room.
pub(crate) fn line_of_words(labels: &[(usize, String)], width: usize) -> String {
    let mut line = String::new();
    for (place, label) in labels {
        let begin = place.saturating_sub(text_width(label) / 2).min(width.saturating_sub(text_width(label)));
        let end = text_width(&line);
        if begin >= end + usize::from(end > 0) {
            line.push_str(&" ".repeat(begin - end));
            line.push_str(label);
        }
    }
    line
}

/// The column of a position between 0 and 1.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn column(place: f64, columns: usize) -> usize {
    ((place * columns as f64) as usize).min(columns.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_out_of_each_others_way() {
        let labels_at = |places: &[usize]| -> Vec<(usize, String)> {
            places.iter().map(|place| (*place, "10 µs".to_owned())).collect()
        };
        assert_eq!(line_of_words(&labels_at(&[2, 10]), 20), "10 µs   10 µs");
        assert_eq!(line_of_words(&labels_at(&[2, 5]), 20), "10 µs");
        assert_eq!(line_of_words(&labels_at(&[20]), 20).chars().count(), 20);
    }
}
