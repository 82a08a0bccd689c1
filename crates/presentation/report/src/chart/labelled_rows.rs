//! Frame of ridgeline and forest plots: groups of rows on one axis, with a name on the left and a value on the right.

use howlate_render::wrapped;
use maud::{Markup, html};

use super::path::rounded;
use super::{Area, Axis, Room};

pub(crate) struct LabelledRows<'a> {
    pub(crate) axis: &'a Axis,
    /// Height of a row's drawing.
    pub(crate) height: f64,
    pub(crate) groups: Vec<RowGroup>,
    /// Vertical lines through all rows: value and label.
    pub(crate) rules: Vec<(f64, String)>,
}

/// Rows with a heading, which may be empty.
#[derive(Clone, Debug)]
pub(crate) struct RowGroup {
    pub(crate) heading: String,
    pub(crate) rows: Vec<RowLabel>,
}

/// Texts of a row.
#[derive(Clone, Debug)]
pub(crate) struct RowLabel {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) tooltip: String,
}

/// Heights: of a heading, between rows, above all for labels of rules, below for the axis.
const HEADING: f64 = 28.0;
const GAP: f64 = 6.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 44.0;
/// Height of the text above a row of a narrow picture.
const WORDS: f64 = 18.0;
/// Widths of names and values in a wide picture.
const NAMES: f64 = 200.0;
const VALUES: f64 = 206.0;
/// Approximate width of a letter.
const LETTER: f64 = 6.4;

struct RowPosition<'a> {
    top: f64,
    label: &'a RowLabel,
}

impl LabelledRows<'_> {
    pub(crate) fn height(&self, room: Room) -> f64 {
        self.places(room).1
    }

    const fn each(&self, room: Room) -> f64 {
        match room {
            Room::Wide => self.height + GAP,
            Room::Narrow => self.height + GAP + WORDS,
        }
    }

    /// Rows with their tops, total height, headings with their tops.
    fn places(&self, room: Room) -> (Vec<RowPosition<'_>>, f64, Vec<(f64, &str)>) {
        let (mut rows, mut headings, mut top) = (Vec::new(), Vec::new(), TOP);
        for group in &self.groups {
            if !group.heading.is_empty() {
                headings.push((top, group.heading.as_str()));
                top += HEADING;
            }
            for label in &group.rows {
                rows.push(RowPosition { top, label });
                top += self.each(room);
            }
        }
        (rows, top + BOTTOM, headings)
    }

    /// SVG of the frame; `draw` draws the row with this index into the area.
    pub(crate) fn svg(&self, room: Room, name: &str, draw: impl Fn(&Area<'_>, usize) -> Markup) -> Markup {
        let (rows, height, headings) = self.places(room);
        let nothing = Axis::new(self.axis.scale, "", |_| String::new());
        let (left, right) = match room {
            Room::Wide => (NAMES + 12.0, room.width() - VALUES),
            Room::Narrow => (10.0, room.width() - 12.0),
        };
        let area = |top: f64, bottom: f64| Area {
            left,
            right,
            top,
            bottom,
            horizontal: self.axis,
            vertical: &nothing,
        };
        let whole = area(TOP, height - BOTTOM);
        html! {
            svg xmlns="http://www.w3.org/2000/svg" class={ "chart " (room.class()) } role="img" aria-label=(name)
                viewBox=(format!("0 0 {} {}", room.width(), rounded(height))) {
                (super::axes::draw_horizontal(&whole, room))
                @for (at, text) in &self.rules { (rule(&whole, *at, text)) }
                @for (top, text) in &headings {
                    text class="heading" x="0" y=(rounded(top + 19.0)) { (text) }
                }
                @for (number, row) in rows.iter().enumerate() {
                    g class="row" data-tip=(format!("{}: {}", row.label.name, row.label.tooltip)) {
                        rect class="hit" x="0" y=(rounded(row.top)) width=(rounded(room.width())) height=(rounded(self.each(room))) {}
                        (self.row(room, row, &area, |area| draw(area, number)))
                    }
                }
            }
        }
    }

    fn row<'a>(
        &self,
        room: Room,
        row: &RowPosition<'_>,
        area: &impl Fn(f64, f64) -> Area<'a>,
        draw: impl Fn(&Area<'_>) -> Markup,
    ) -> Markup {
        match room {
            Room::Wide => {
                let bottom = row.top + self.height;
                html! {
                    (row_name(&row.label.name, bottom))
                    text class="value" x=(rounded(room.width() - VALUES + 14.0)) y=(rounded(bottom - 4.0)) { (row.label.value) }
                    (draw(&area(row.top, bottom)))
                }
            }
            Room::Narrow => {
                let top = row.top + WORDS;
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a handful of letters"
                )]
                let left =
                    ((room.width() / LETTER) as usize).saturating_sub(row.label.value.chars().count() + 3);
                html! {
                    text class="row-name" x="0" y=(rounded(row.top + 13.0)) { (cut(&row.label.name, left)) }
                    text class="value" x=(rounded(room.width())) y=(rounded(row.top + 13.0)) text-anchor="end" { (row.label.value) }
                    (draw(&area(top, top + self.height)))
                }
            }
        }
    }
}

/// Name of a row, in two lines if needed.
fn row_name(name: &str, bottom: f64) -> Markup {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a handful of letters")]
    let room = (NAMES / LETTER) as usize;
    let text = wrapped(name, room, 0);
    let lines: Vec<&str> = text.lines().collect();
    let line = |text: &str, up: f64| {
        html! { text class="row-name" x=(rounded(NAMES)) y=(rounded(bottom - 4.0 - up)) text-anchor="end" { (cut(text, room)) } }
    };
    match lines.as_slice() {
        [] => html! {},
        [only] => line(only, 0.0),
        [first, rest @ ..] => html! { (line(first, 15.0)) (line(&rest.join(" "), 0.0)) },
    }
}

/// `text` cut to `room` characters, with an ellipsis.
pub(super) fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

fn rule(area: &Area<'_>, at: f64, text: &str) -> Markup {
    let x = area.x(at);
    let anchor = if x > area.right - 60.0 { "end" } else { "middle" };
    html! {
        path class="rule" d=(format!("M{} {}V{}", rounded(x), rounded(area.bottom), rounded(area.top - 4.0))) {}
        text class="rule-name" x=(rounded(x)) y=(rounded(area.top - 7.0)) text-anchor=(anchor) { (text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_bears_a_sign() {
        assert_eq!(cut("fifo:80", 7), "fifo:80");
        assert_eq!(cut("fifo:80 · load cpu", 9), "fifo:80 …");
    }
}
