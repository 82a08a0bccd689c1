//! One picture as a file of its own.

use howlate_render::{legible_lines, wrapped};
use maud::{Markup, PreEscaped, html};

use crate::Subject;
use crate::chart::{Room, Theme, legend_svg, style};
use crate::entry::Entry;
use crate::fleet::Fleet;
use crate::pictures::{Chart, Panel, Picture, Source, picture};

/// Recordings in which there is nothing of the kind that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPicture {
    /// What was asked for.
    pub kind: Chart,
    /// What there is.
    there_are: [Option<Chart>; Chart::ALL.len()],
}

impl NoPicture {
    fn new(kind: Chart, source: Source<'_>) -> Self {
        Self { kind, there_are: Chart::ALL.map(|kind| picture(kind, source).map(|_| kind)) }
    }

    /// The pictures that these recordings have.
    pub fn there_are(&self) -> impl Iterator<Item = Chart> + '_ {
        self.there_are.iter().flatten().copied()
    }

    /// What to do.
    pub fn hint(&self) -> String {
        let there_are: Vec<&str> = self.there_are().map(Chart::name).collect();
        match there_are.as_slice() {
            [] => "nothing was measured".into(),
            some => format!("choose `--chart` from {}", some.join(", ")),
        }
    }
}

/// The picture of this kind; in the colours of whoever looks at it if no theme is given.
///
/// # Errors
///
/// When the recordings hold nothing to draw it from.
pub fn svg(subject: &Subject<'_>, kind: Chart, theme: Option<Theme>) -> Result<String, NoPicture> {
    let entries = Entry::all(subject.recordings);
    let fleets = Fleet::all(subject.recordings);
    let source = Source { entries: &entries, comparison: subject.comparison, fleets: &fleets };
    let picture = picture(kind, source).ok_or_else(|| NoPicture::new(kind, source))?;
    Ok(draw(&picture, theme))
}

/// A picture as the text of a file.
pub(crate) fn draw(picture: &Picture, theme: Option<Theme>) -> String {
    legible_lines(&document(picture, theme).into_string()).into_owned()
}

/// Letters of the title in a line, and how high a line is.
const TITLE: usize = 92;
const LINE: f64 = 22.0;
/// Room around everything, pixels.
const MARGIN: f64 = 16.0;

fn document(picture: &Picture, theme: Option<Theme>) -> Markup {
    let title = wrapped(&picture.title, TITLE, 0);
    let mut top = MARGIN;
    let lines: Vec<Markup> = title.lines().map(|line| title_line(line, &mut top)).collect();
    top += MARGIN;
    let panels: Vec<Markup> = picture.panels.iter().map(|one| panel(one, &picture.title, &mut top)).collect();
    let (width, height) = (Room::Wide.width() + 2.0 * MARGIN, top);
    html! {
        svg xmlns="http://www.w3.org/2000/svg" class="chart page" width=(width) height=(height)
            viewBox=(format!("-{MARGIN} 0 {width} {height}")) {
            title { (picture.title) }
            desc { (picture.about) }
            style { (PreEscaped(style(theme))) }
            rect class="paper" x=(-MARGIN) width=(width) height=(height) {}
            @for line in &lines { (line) }
            @for panel in &panels { (panel) }
        }
    }
}

fn title_line(text: &str, top: &mut f64) -> Markup {
    *top += LINE;
    html! { text class="title" x="0" y=(*top - 6.0) { (text) } }
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
