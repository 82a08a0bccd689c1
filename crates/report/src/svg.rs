//! One picture as a file of its own.

use maud::{Markup, PreEscaped, html};

use crate::Recording;
use crate::chart::{COLOURS, Room, STYLE, legend_svg};
use crate::entry::Entry;
use crate::pictures::{Kind, Panel, Picture, picture};

/// Recordings in which there is nothing of the kind that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPicture {
    /// What was asked for.
    pub kind: Kind,
    /// What there is.
    there_are: [Option<Kind>; Kind::ALL.len()],
}

impl NoPicture {
    fn new(kind: Kind, entries: &[Entry<'_>]) -> Self {
        Self { kind, there_are: Kind::ALL.map(|kind| picture(kind, entries).map(|_| kind)) }
    }

    /// The pictures that these recordings have.
    pub fn there_are(&self) -> impl Iterator<Item = Kind> + '_ {
        self.there_are.iter().flatten().copied()
    }
}

/// The picture of this kind.
///
/// # Errors
///
/// When the recordings hold nothing to draw it from.
pub fn svg(recordings: &[Recording<'_>], kind: Kind) -> Result<String, NoPicture> {
    let entries = Entry::all(recordings);
    let picture = picture(kind, &entries).ok_or_else(|| NoPicture::new(kind, &entries))?;
    Ok(document(&picture).into_string())
}

fn document(picture: &Picture) -> Markup {
    let width = Room::Wide.width();
    let mut top = 44.0;
    let panels: Vec<Markup> = picture.panels.iter().map(|one| panel(one, &picture.title, &mut top)).collect();
    html! {
        svg xmlns="http://www.w3.org/2000/svg" class="chart page" width=(width) height=(top) viewBox=(format!("0 0 {width} {top}")) {
            title { (picture.title) }
            desc { (picture.about) }
            style { (PreEscaped(COLOURS)) (PreEscaped(STYLE)) }
            rect class="paper" width=(width) height=(top) {}
            text class="title" x="0" y="24" { (picture.title) }
            @for panel in &panels { (panel) }
        }
    }
}

/// A panel with its heading and its legend; `top` moves below it.
fn panel(panel: &Panel, name: &str, top: &mut f64) -> Markup {
    let heading = *top;
    *top += if panel.heading.is_empty() { 0.0 } else { 22.0 };
    let drawing = *top;
    let height = panel.drawing.height(Room::Wide);
    *top += height;
    let (legend, legend_height) = legend_svg(&panel.legend, *top + 4.0);
    *top += legend_height + 18.0;
    html! {
        @if !panel.heading.is_empty() { text class="row-name" x="0" y=(heading + 14.0) { (panel.heading) } }
        svg y=(drawing) width=(Room::Wide.width()) height=(height) { (panel.drawing.svg(Room::Wide, name)) }
        (legend)
    }
}
