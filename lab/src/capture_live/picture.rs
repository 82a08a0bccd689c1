//! Captures of a terminal as one picture. It has a background of its own, so that it is legible on pages that are light and dark.

use std::fmt::Write as _;

use super::styled::{StyledText, TextStyle};

/// A captured screen.
pub(super) struct Capture {
    /// The command line.
    pub(super) arguments: String,
    pub(super) lines: Vec<Vec<StyledText>>,
}

/// Width and height of a character, in units of the picture.
const WIDTH: f64 = 6.6;
const HEIGHT: f64 = 13.0;
/// Margin around a terminal, and height of the line above it, in units of the picture.
const MARGIN: f64 = 10.0;
const TITLE: f64 = 20.0;
const BACKGROUND: &str = "#16181d";
const INK: &str = "#d6d9df";
/// Black to white, on that background: the eight colours of terminals.
const COLOURS: [&str; 8] =
    ["#555b66", "#ff7b72", "#7ee787", "#e3b341", "#79a8ff", "#d2a8ff", "#56c8d8", "#e6e9ee"];

/// Two beside each other, two below them.
pub(super) fn svg(captures: &[Capture], [columns, rows]: [u16; 2]) -> String {
    let (width, height) =
        (f64::from(columns) * WIDTH + 2.0 * MARGIN, f64::from(rows) * HEIGHT + TITLE + 2.0 * MARGIN);
    let lines = captures.len().div_ceil(2) as f64;
    let (all_wide, all_high) = (2.0 * width + MARGIN, lines * height + (lines - 1.0) * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {all_wide:.0} {all_high:.0}\" font-family=\"ui-monospace, \
         'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"11\" shape-rendering=\"crispEdges\" xml:space=\"preserve\">\n"
    );
    for (number, capture) in captures.iter().enumerate() {
        let (x, y) = ((number % 2) as f64 * (width + MARGIN), (number / 2) as f64 * (height + MARGIN));
        // Writing to a string does not fail.
        let _ = write!(
            svg,
            "<g transform=\"translate({x:.1} {y:.1})\"><rect width=\"{width:.0}\" height=\"{height:.0}\" rx=\"6\" \
             fill=\"{BACKGROUND}\"/>\n<text x=\"{MARGIN}\" y=\"{:.1}\" fill=\"{}\">$ howlate {}</text>\n",
            MARGIN + 8.0,
            COLOURS[2],
            escaped(&capture.arguments)
        );
        for (row, runs) in capture.lines.iter().take(usize::from(rows)).enumerate() {
            line(runs, MARGIN + TITLE + row as f64 * HEIGHT, &mut svg);
        }
        svg.push_str("</g>\n");
    }
    svg + "</svg>\n"
}

fn line(runs: &[StyledText], y: f64, svg: &mut String) {
    let mut column = 0;
    for run in runs {
        let letters = run.text.chars().count();
        if run.style.reversed {
            rect([MARGIN + column as f64 * WIDTH, y, letters as f64 * WIDTH, HEIGHT], ink(run.style), svg);
        }
        for (start, text) in stretches(&run.text) {
            let x = MARGIN + (column + start) as f64 * WIDTH;
            match text.chars().next().and_then(block) {
                Some(block) => blocks(text, block, [x, y], ink(run.style), svg),
                None => letters_of(text, [x, y], run.style, svg),
            }
        }
        column += letters;
    }
}

/// Equal letters of pictures, and texts between spaces, each with where it begins.
fn stretches(text: &str) -> Vec<(usize, &str)> {
    let mut found: Vec<(usize, &str)> = Vec::new();
    let mut begin = None;
    let letters: Vec<(usize, char)> = text.char_indices().collect();
    for (place, (at, letter)) in letters.iter().enumerate() {
        let goes_on = begin.is_some_and(|first: usize| {
            let before = letters[first].1;
            if block(before).is_some() {
                *letter == before
            } else {
                block(*letter).is_none() && !ends_here(&letters, place)
            }
        });
        if goes_on {
            continue;
        }
        if let Some(first) = begin.take() {
            found.push((first, &text[letters[first].0..*at]));
        }
        begin = (*letter != ' ').then_some(place);
    }
    if let Some(first) = begin {
        found.push((first, &text[letters[first].0..]));
    }
    found
}

/// Two spaces end a text: what follows stands in another column.
fn ends_here(letters: &[(usize, char)], place: usize) -> bool {
    let is_space = |place: usize| letters.get(place).is_none_or(|(_, letter)| *letter == ' ');
    is_space(place) && is_space(place + 1)
}

/// The part of a cell, from its bottom, that a letter of a picture fills, and how dense.
fn block(letter: char) -> Option<(f64, f64)> {
    match letter {
        '▁'..='█' => Some((f64::from(u32::from(letter) - 0x2580) / 8.0, 1.0)),
        '░' => Some((1.0, 0.25)),
        '▒' => Some((1.0, 0.5)),
        '▓' => Some((1.0, 0.75)),
        '▌' => Some((1.0, 0.5)),
        _ => None,
    }
}

fn blocks(text: &str, (part, dense): (f64, f64), [x, y]: [f64; 2], ink: &str, svg: &mut String) {
    let is_half = text.starts_with('▌');
    let width = text.chars().count() as f64 * WIDTH * if is_half { 0.5 } else { 1.0 };
    let height = HEIGHT * part;
    let dense = if is_half { 1.0 } else { dense };
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{ink}\" opacity=\"{dense}\"/>",
        y + HEIGHT - height
    );
}

fn rect([x, y, width, height]: [f64; 4], fill: &str, svg: &mut String) {
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"/>"
    );
}

fn letters_of(text: &str, [x, y]: [f64; 2], style: TextStyle, svg: &mut String) {
    let width = text.chars().count() as f64 * WIDTH;
    let fill = if style.reversed { BACKGROUND } else { ink(style) };
    let bold = if style.bold { " font-weight=\"bold\"" } else { "" };
    let line = if style.underlined { " text-decoration=\"underline\"" } else { "" };
    let dim = if style.dim && !style.reversed { " opacity=\"0.65\"" } else { "" };
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{fill}\"{bold}{line}{dim}>{}</text>",
        y + HEIGHT - 3.0,
        escaped(text)
    );
}

fn ink(style: TextStyle) -> &'static str {
    style.colour.and_then(|colour| COLOURS.get(usize::from(colour)).copied()).unwrap_or(INK)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(' ', "\u{a0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_and_pictures_keep_their_places() {
        let found = stretches("name of it   12 ██▂ <b>");
        assert_eq!(found, [(0, "name of it"), (13, "12 "), (16, "██"), (18, "▂"), (20, "<b>")]);
    }

    #[test]
    fn a_picture_is_whole_and_holds_no_markup_of_others() {
        let run = StyledText { text: "<script> ▂█".to_owned(), style: TextStyle::default() };
        let svg = svg(&[Capture { arguments: "top & all".to_owned(), lines: vec![vec![run]] }], [20, 2]);
        assert!(svg.contains("&lt;script&gt;") && !svg.contains("<script"), "{svg}");
        assert!(svg.contains("top\u{a0}&amp;\u{a0}all") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("<rect").count(), 3, "the terminal and two bars: {svg}");
    }
}
