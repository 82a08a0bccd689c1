//! Colours, each with one meaning. Nothing is told by its colour alone.
//!
//! Only colours that every terminal has and lets people choose, and no background: so that it is legible on dark and on light ones,
//! and with none at all (`NO_COLOR`).

use ratatui::style::{Color, Modifier, Style};

use crate::screenful::Tone;
use crate::symbols::{ASCII, Symbols, UNICODE};

/// How things look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Theme {
    has_colours: bool,
    /// What pictures are made of.
    pub(crate) symbols: &'static Symbols,
}

impl Theme {
    /// As the user wants it: `NO_COLOR`, whatever it says, is none.
    pub(crate) fn from_environment(may_show_unicode: bool) -> Self {
        let has_colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self::new(has_colours, may_show_unicode)
    }

    pub(crate) fn new(has_colours: bool, may_show_unicode: bool) -> Self {
        Self { has_colours, symbols: if may_show_unicode { &UNICODE } else { &ASCII } }
    }

    /// Whether the terminal shows nothing but ASCII.
    pub(crate) fn is_ascii(self) -> bool {
        self.symbols.are_ascii()
    }

    const fn coloured(self, colour: Color) -> Style {
        if self.has_colours { Style::new().fg(colour) } else { Style::new() }
    }

    /// What stands above a table or a picture.
    pub(crate) const fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::UNDERLINED)
    }

    /// The same of the panel that keys are for.
    pub(crate) const fn heading_in_focus(self) -> Style {
        Style::new().add_modifier(Modifier::UNDERLINED).add_modifier(Modifier::BOLD)
    }

    /// The worst of what stands together.
    pub(crate) const fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// What only explains.
    pub(crate) const fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// What is selected.
    pub(crate) const fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// How bad it is.
    pub(crate) const fn tone(self, tone: Tone) -> Style {
        match tone {
            Tone::Plain => Style::new(),
            Tone::Dim => self.dim(),
            Tone::Warn => self.warn(),
            Tone::Bad => self.stop(),
        }
    }

    /// What is to be minded.
    pub(crate) const fn warn(self) -> Style {
        self.coloured(Color::Yellow)
    }

    /// What is missing, and the worst.
    pub(crate) const fn stop(self) -> Style {
        self.coloured(Color::Red)
    }

    /// What is measured: pictures.
    pub(crate) const fn picture(self) -> Style {
        self.coloured(Color::Cyan)
    }

    /// A second kind in one picture.
    pub(crate) const fn picture_of_maxima(self) -> Style {
        self.coloured(Color::Magenta)
    }
}
