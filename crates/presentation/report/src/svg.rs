//! A picture as a standalone SVG file.

use howlate_render::{legible_lines, wrapped};
use maud::{Markup, PreEscaped, html};

use crate::ReportInput;
use crate::chart::{ChartTheme, Room, legend_svg, style};
use crate::entry::Entry;
use crate::fleet::FleetNodes;
use crate::pictures::{Chart, ChartPanel, Picture, PictureSource, picture};

/// Error: the recordings have no data for the requested picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPicture {
    pub kind: Chart,
    available: [Option<Chart>; Chart::ALL.len()],
}

impl NoPicture {
    fn new(kind: Chart, source: PictureSource<'_>) -> Self {
        Self { kind, available: Chart::ALL.map(|kind| picture(kind, source).map(|_| kind)) }
    }

    /// Pictures that these recordings have data for.
    pub fn available(&self) -> impl Iterator<Item = Chart> + '_ {
        self.available.iter().flatten().copied()
    }

    /// Names the available pictures.
    pub fn hint(&self) -> String {
        let available: Vec<&str> = self.available().map(Chart::name).collect();
        match available.as_slice() {
            [] => "nothing was measured".into(),
            some => format!("choose `--chart` from {}", some.join(", ")),
        }
    }
}

/// SVG of a picture; without a theme it follows the viewer's colour scheme.
///
/// # Errors
///
/// When the recordings hold nothing to draw it from.
pub fn svg(subject: &ReportInput<'_>, kind: Chart, theme: Option<ChartTheme>) -> Result<String, NoPicture> {
    let entries = Entry::all(subject.recordings);
    let fleets = FleetNodes::all(subject.recordings);
    let source = PictureSource { entries: &entries, comparison: subject.comparison, fleets: &fleets };
    let picture = picture(kind, source).ok_or_else(|| NoPicture::new(kind, source))?;
    Ok(draw(&picture, theme))
}

/// A picture as the text of a file.
pub(crate) fn draw(picture: &Picture, theme: Option<ChartTheme>) -> String {
    legible_lines(&document(picture, theme).into_string()).into_owned()
}

/// Characters per line of the title, and line height in pixels.
const TITLE: usize = 92;
const LINE: f64 = 22.0;
const MARGIN: f64 = 16.0;

fn document(picture: &Picture, theme: Option<ChartTheme>) -> Markup {
    let title = wrapped(&picture.title, TITLE, 0);
    let mut top = MARGIN;
    let lines: Vec<Markup> = title.lines().map(|line| title_line(line, &mut top)).collect();
    top += MARGIN;
    let panels: Vec<Markup> =
        picture.panels.iter().map(|shown| panel(shown, &picture.title, &mut top)).collect();
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

/// A panel with its heading and its legend; moves `top` below it.
fn panel(panel: &ChartPanel, name: &str, top: &mut f64) -> Markup {
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
