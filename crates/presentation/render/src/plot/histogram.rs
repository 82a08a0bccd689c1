//! Histograms of several conditions on one axis.

use howlate_model::{Latency, Span};

use super::{NamedOutcome, PlotSymbols, column, line_of_words};
use crate::numbers::length;
use crate::prose::{text_width, wrapped};
use crate::scale::Scale;
use crate::style::{DIM, paint};

/// Height of each histogram, by the number of conditions.
const fn lines(conditions: usize) -> usize {
    match conditions {
        1 => 8,
        2..=4 => 4,
        _ => 1,
    }
}

pub(super) fn histogram(
    series: &[NamedOutcome<'_>],
    latencies: Scale,
    width: usize,
    symbols: PlotSymbols,
) -> String {
    let names = series.iter().map(|named| text_width(&named.name)).max().unwrap_or(0);
    // Long names stand on a line above the histogram.
    let is_above = names > width / 3;
    let names = if is_above { 0 } else { names };
    let maxima = series.iter().map(|named| text_width(&max(named))).max().unwrap_or(0);
    let columns = width.saturating_sub(names + maxima + 6).max(20);
    let height = lines(series.len());
    let fullest = series.iter().flat_map(|named| counts(named, latencies, columns)).max().unwrap_or(1);
    let mut text = String::new();
    for named in series {
        let counts = counts(named, latencies, columns);
        if is_above {
            text.push_str(&format!(" {}\n", wrapped(&named.name, width, 1)));
        }
        for line in (0..height).rev() {
            let bars: String =
                counts.iter().map(|count| bar(*count, fullest, line, height, symbols)).collect();
            let name = if line == 0 && !is_above { named.name.as_str() } else { "" };
            let max = if line == 0 { format!("max {}", max(named)) } else { String::new() };
            text.push_str(format!("{name:names$} {bars} {max}").trim_end());
            text.push('\n');
        }
    }
    let labels: Vec<(usize, String)> = latencies
        .ticks(columns / 12)
        .into_iter()
        .map(|at| (column(latencies.place(at), columns), time(at)))
        .collect();
    let axis = format!("{:names$} {}", "", line_of_words(&labels, columns));
    text.push_str(&format!("{}\n", paint(DIM, axis)));
    text
}

fn max(named: &NamedOutcome<'_>) -> String {
    named.outcome.latency().max().unwrap_or_default().to_string()
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "latencies of an axis are above 0"
)]
fn time(nanos: f64) -> String {
    length(Span::from_nanos(nanos.round() as u64))
}

/// Wake-ups per column. A bucket wider than a column counts at its middle.
fn counts(named: &NamedOutcome<'_>, latencies: Scale, columns: usize) -> Vec<u64> {
    let mut counts = vec![0; columns];
    let all = named.outcome.planned();
    let ends = [all.min(), all.max()].map(|end| end.map_or(0, Latency::as_nanos).max(0).unsigned_abs());
    for bucket in all.buckets() {
        let middle = (bucket.lowest + (bucket.highest - bucket.lowest) / 2).clamp(ends[0], ends[1]);
        counts[column(latencies.place(middle as f64), columns)] += bucket.count;
    }
    counts
}

/// The character of a bar in a line; 0 is the lowest line.
fn bar(count: u64, fullest: u64, line: usize, height: usize, symbols: PlotSymbols) -> char {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const ASCII: [char; 9] = [' ', '.', '.', ':', ':', '|', '|', '#', '#'];
    const PARTS: usize = 8;
    let filled = eighths(count, fullest, height * PARTS).saturating_sub(line * PARTS).min(PARTS);
    match symbols {
        PlotSymbols::Unicode => BLOCKS[filled],
        PlotSymbols::Ascii => ASCII[filled],
    }
}

/// Height of a bar on a logarithmic scale, at least 1 for a single wake-up.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn eighths(count: u64, fullest: u64, most: usize) -> usize {
    if count == 0 {
        return 0;
    }
    let share = (count as f64).ln_1p() / (fullest as f64).ln_1p();
    ((share * most as f64).round() as usize).clamp(1, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_wake_up_can_be_seen_and_the_fullest_column_is_full() {
        assert_eq!([0, 1, 1_000_000].map(|count| eighths(count, 1_000_000, 8)), [0, 1, 8]);
        assert_eq!(bar(1_000, 1_000, 3, 4, PlotSymbols::Unicode), '█');
        assert_eq!(bar(1, 1_000_000_000, 0, 4, PlotSymbols::Unicode), '▁');
        assert_eq!((0..4).map(|line| bar(0, 10, line, 4, PlotSymbols::Ascii)).collect::<String>(), "    ");
    }
}
