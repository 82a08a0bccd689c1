//! Percentile curves, each with its own shape.

use howlate_model::Span;

use super::{NamedOutcome, PlotSymbols, column, line_of_words};
use crate::numbers::length;
use crate::prose::wrapped;
use crate::scale::Scale;
use crate::style::{DIM, paint};

const LINES: usize = 14;
/// Width of the labels of the vertical axis.
const LABELS: usize = 9;

const SHAPES: [char; 12] = ['●', '▲', '■', '◆', '○', '△', '□', '◇', '+', 'x', '*', '%'];
const LETTERS: [char; 12] = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'];

pub(super) fn curves(
    series: &[NamedOutcome<'_>],
    latencies: Scale,
    width: usize,
    symbols: PlotSymbols,
) -> String {
    let columns = width.saturating_sub(LABELS + 1).max(20);
    let shapes = if symbols == PlotSymbols::Unicode { SHAPES } else { LETTERS };
    let nines = nines(series);
    let mut fields = vec![vec![' '; columns]; LINES];
    for (named, shape) in series.iter().zip(shapes).rev() {
        draw(&mut fields, named, shape, latencies, nines);
    }
    let mut text: String =
        fields.iter().enumerate().map(|(line, fields)| row(line, fields, latencies)).collect();
    let labels: Vec<(usize, String)> =
        shares(nines).into_iter().map(|(place, label)| (column(place / nines, columns), label)).collect();
    let axis = format!("{:LABELS$} {}", "", line_of_words(&labels, columns));
    text.push_str(&format!("{}\n", paint(DIM, axis)));
    for (named, shape) in series.iter().zip(shapes) {
        text.push_str(&format!("{:LABELS$} {shape} {}\n", "", wrapped(&named.name, width, LABELS + 3)));
    }
    text
}

/// Right end of the axis, in nines: 3 at 99.9 %.
fn nines(series: &[NamedOutcome<'_>]) -> f64 {
    let most = series.iter().map(|named| named.outcome.planned().count()).max().unwrap_or(1);
    (most.max(10) as f64).log10()
}

/// Draws a shape in each column up to the condition's number of wake-ups.
fn draw(fields: &mut [Vec<char>], named: &NamedOutcome<'_>, shape: char, latencies: Scale, nines: f64) {
    let all = named.outcome.planned();
    let columns = fields.first().map_or(0, Vec::len);
    for place in 0..columns {
        let tail = 10_f64.powf(-nines * (place as f64 + 0.5) / columns as f64);
        if tail * (all.count() as f64) < 1.0 {
            break;
        }
        let Some(latency) = all.quantile(1.0 - tail) else { break };
        let line = column(latencies.place(latency.as_nanos() as f64), LINES);
        if let Some(field) = fields.get_mut(LINES - 1 - line).and_then(|fields| fields.get_mut(place)) {
            *field = shape;
        }
    }
}

/// A line with the axis label that belongs to it.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "latencies of an axis are above 0"
)]
fn row(line: usize, fields: &[char], latencies: Scale) -> String {
    let above = LINES - 1 - line;
    let within = |tick: &f64| column(latencies.place(*tick), LINES) == above;
    let tick = latencies.ticks(5).into_iter().find(within);
    let fields: String = fields.iter().collect();
    let Some(tick) = tick else { return format!("{:LABELS$} {fields}", "").trim_end().to_owned() + "\n" };
    let label = length(Span::from_nanos(tick.round() as u64));
    format!("{} {}", paint(DIM, format!("{label:>LABELS$}")), fields).trim_end().to_owned() + "\n"
}

fn shares(nines: f64) -> Vec<(f64, String)> {
    let mut shares = vec![(0.0, "0 %".to_owned()), (1.0, "90 %".to_owned()), (2.0, "99 %".to_owned())];
    shares.extend(
        (3..=12_u8).map(|count| (f64::from(count), format!("99.{} %", "9".repeat(usize::from(count) - 2)))),
    );
    shares.retain(|(place, _)| *place <= nines + 1e-9);
    shares
}
