//! Colours, each with one meaning; none carries information that the text lacks.
//!
//! Only the terminal's own palette and no background colour: readable on dark and on light terminals, and without colours (`NO_COLOR`).

use ratatui::style::{Color, Modifier, Style};

use crate::screenful::Tone;
use crate::symbols::{ASCII, ScreenSymbols, UNICODE};

/// Styles of the screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiveTheme {
    has_colours: bool,
    pub(crate) symbols: &'static ScreenSymbols,
}

impl LiveTheme {
    /// From the environment: any non-empty `NO_COLOR` turns colours off.
    pub(crate) fn from_environment(may_show_unicode: bool) -> Self {
        let has_colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self::new(has_colours, may_show_unicode)
    }

    pub(crate) fn new(has_colours: bool, may_show_unicode: bool) -> Self {
        Self { has_colours, symbols: if may_show_unicode { &UNICODE } else { &ASCII } }
    }

    pub(crate) fn is_ascii(self) -> bool {
        self.symbols.are_ascii()
    }

    const fn coloured(self, colour: Color) -> Style {
        if self.has_colours { Style::new().fg(colour) } else { Style::new() }
    }

    /// Above a table or a picture.
    pub(crate) const fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::UNDERLINED)
    }

    /// Heading of the focused panel.
    pub(crate) const fn heading_in_focus(self) -> Style {
        Style::new().add_modifier(Modifier::UNDERLINED).add_modifier(Modifier::BOLD)
    }

    /// The worst value of a column.
    pub(crate) const fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(crate) const fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(crate) const fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Style of a row's severity.
    pub(crate) const fn tone(self, tone: Tone) -> Style {
        match tone {
            Tone::Plain => Style::new(),
            Tone::Dim => self.dim(),
            Tone::Warn => self.warn(),
            Tone::Bad => self.bad(),
        }
    }

    pub(crate) const fn warn(self) -> Style {
        self.coloured(Color::Yellow)
    }

    /// Missing data and the worst severity.
    pub(crate) const fn bad(self) -> Style {
        self.coloured(Color::Red)
    }

    /// Measured values in pictures.
    pub(crate) const fn picture(self) -> Style {
        self.coloured(Color::Cyan)
    }

    /// Maxima in a picture that shows typical values too.
    pub(crate) const fn picture_of_maxima(self) -> Style {
        self.coloured(Color::Magenta)
    }
}
