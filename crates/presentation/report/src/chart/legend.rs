//! Legend of a picture.

use maud::{Markup, html};

use super::Hue;
use super::path::rounded;
use crate::prose;

#[derive(Clone, Debug)]
pub(crate) struct LegendEntry {
    pub(crate) hue: Hue,
    pub(crate) text: String,
    pub(crate) symbol: LegendSymbol,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LegendSymbol {
    Line,
    Dots,
    Bars,
}

fn sample(entry: &LegendEntry, x: f64, y: f64) -> Markup {
    let hue = entry.hue;
    let (x, y) = (rounded(x), rounded(y));
    match entry.symbol {
        LegendSymbol::Line => html! {
            path class={ "line " (hue.class()) } stroke-dasharray=[hue.dashes()] d=(format!("M{x} {y}h26")) {}
        },
        LegendSymbol::Dots => html! {
            path class={ "dots " (hue.class()) } stroke-width="4" d=(format!("M{x} {y}m4 0h0m9 0h0m9 0h0")) {}
        },
        LegendSymbol::Bars => html! {
            path class={ "piece " (hue.class()) } d=(format!("M{x} {y}m0 -5h26v10h-26z")) {}
        },
    }
}

/// Legend as HTML list.
pub(crate) fn legend(series: &[LegendEntry]) -> Markup {
    html! {
        ul class="legend" {
            @for entry in series {
                li data-series=(entry.hue.class()) {
                    svg class="sample" viewBox="0 0 28 10" aria-hidden="true" { (sample(entry, 1.0, 5.0)) }
                    span { (prose::plain(&entry.text)) }
                }
            }
        }
    }
}

/// Legend within a standalone SVG, from `top` down, and its height.
pub(crate) fn legend_svg(series: &[LegendEntry], top: f64) -> (Markup, f64) {
    const LINE: f64 = 18.0;
    let line = |number: usize| top + LINE * (number as f64 + 0.5);
    let markup = html! {
        @for (number, entry) in series.iter().enumerate() {
            (sample(entry, 4.0, line(number)))
            text x="38" y=(rounded(line(number) + 4.0)) { (entry.text) }
        }
    };
    (markup, line(series.len()) - top)
}
