//! How wide pictures are drawn.

/// How much room there is: each picture is drawn for wide pages and for narrow ones, because
/// text that shrinks with its picture cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// A whole page on a screen, or paper.
    Wide,
    /// A telephone, or half a page.
    Narrow,
}

impl Room {
    /// The width in the picture's own units, about a pixel each.
    pub(crate) const fn width(self) -> f64 {
        match self {
            Self::Wide => 900.0,
            Self::Narrow => 400.0,
        }
    }

    /// The class that shows the picture where it fits.
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Wide => "wide",
            Self::Narrow => "narrow",
        }
    }

    /// Values that can be named along the horizontal axis.
    pub(crate) const fn ticks(self) -> usize {
        match self {
            Self::Wide => 10,
            Self::Narrow => 5,
        }
    }
}
