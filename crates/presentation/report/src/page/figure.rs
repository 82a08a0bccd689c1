//! A picture on the page: title, explanation, drawings, table, CSV.

use maud::{Markup, html};

use crate::chart::{Room, legend};
use crate::document::data_uri;
use crate::pictures::{Chart, ChartPanel, Picture};
use crate::prose;

pub(crate) fn figure(picture: &Picture) -> Markup {
    figure_named(picture, picture.kind.name())
}

/// A figure with another id, where the page has two of a kind.
pub(crate) fn figure_named(picture: &Picture, id: &str) -> Markup {
    let strips = picture.kind == Chart::Time;
    let layout = if strips || picture.panels.len() == 1 { "panels" } else { "panels grid" };
    html! {
        figure id=(id) {
            figcaption {
                h3 { (prose::plain(&picture.title)) }
                p class="quiet" { (prose::plain(&picture.about)) }
            }
            div class=(layout) {
                @for (number, shown) in picture.panels.iter().enumerate() {
                    (panel(picture, shown, number, layout == "panels"))
                }
            }
            @if let Some(left_out) = &picture.left_out { p class="quiet" { (prose::html(left_out)) } }
            @if let Some(numbers) = &picture.numbers {
                details {
                    summary { "The numbers behind this picture" }
                    (numbers.html())
                }
            }
        }
    }
}

/// One drawing. A panel of the page's full width is shown for wide and for narrow pages.
fn panel(picture: &Picture, panel: &ChartPanel, number: usize, has_whole_width: bool) -> Markup {
    let name = match panel.heading.as_str() {
        "" => picture.title.clone(),
        heading => format!("{heading}. {}", picture.title),
    };
    html! {
        div class="panel" {
            div class="head" {
                @if !panel.heading.is_empty() { h4 { (prose::plain(&panel.heading)) } }
                @if !panel.data.is_empty() {
                    p class="data" {
                        a download=(format!("{}-{}.csv", picture.kind, number + 1)) href=(data_uri(&panel.data))
                            aria-label=(format!("data (CSV) of {name}")) { "data (CSV)" }
                    }
                }
            }
            p class="tip" role="status" {}
            @if has_whole_width {
                (panel.drawing.svg(Room::Wide, &name))
                (panel.drawing.svg(Room::Narrow, &name))
            } @else {
                (panel.drawing.svg(Room::Narrow, &name))
            }
            @if !panel.legend.is_empty() { (legend(&panel.legend)) }
        }
    }
}
