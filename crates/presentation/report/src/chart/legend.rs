//! What the series of a picture are.

use maud::{Markup, html};

use super::Hue;
use super::path::rounded;
use crate::prose;

/// A series and its name.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) hue: Hue,
    pub(crate) text: String,
    pub(crate) marks: Marks,
}

/// What a series is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marks {
    Line,
    Dots,
    Bars,
}

fn sample(one: &Named, x: f64, y: f64) -> Markup {
    let hue = one.hue;
    let (x, y) = (rounded(x), rounded(y));
    match one.marks {
        Marks::Line => html! {
            path class={ "line " (hue.class()) } stroke-dasharray=[hue.dashes()] d=(format!("M{x} {y}h26")) {}
        },
        Marks::Dots => html! {
            path class={ "dots " (hue.class()) } stroke-width="4" d=(format!("M{x} {y}m4 0h0m9 0h0m9 0h0")) {}
        },
        Marks::Bars => html! {
            path class={ "piece " (hue.class()) } d=(format!("M{x} {y}m0 -5h26v10h-26z")) {}
        },
    }
}

/// A list for the page.
pub(crate) fn legend(series: &[Named]) -> Markup {
    html! {
        ul class="legend" {
            @for one in series {
                li data-series=(one.hue.class()) {
                    svg class="sample" viewBox="0 0 28 10" aria-hidden="true" { (sample(one, 1.0, 5.0)) }
                    span { (prose::plain(&one.text)) }
                }
            }
        }
    }
}

/// The same within a picture that stands alone, from `top` on; and how high it is.
pub(crate) fn legend_svg(series: &[Named], top: f64) -> (Markup, f64) {
    const LINE: f64 = 18.0;
    let line = |number: usize| top + LINE * (number as f64 + 0.5);
    let drawn = html! {
        @for (number, one) in series.iter().enumerate() {
            (sample(one, 4.0, line(number)))
            text x="38" y=(rounded(line(number) + 4.0)) { (one.text) }
        }
    };
    (drawn, line(series.len()) - top)
}
