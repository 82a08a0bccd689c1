//! One picture as PNG: the SVG, in pixels.

#[cfg(feature = "png")]
mod raster;

use std::fmt;

use crate::ReportInput;
use crate::chart::ChartTheme;
use crate::pictures::Chart;
use crate::svg::{NoPicture, svg};

/// Why there is no picture as PNG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoPng {
    /// The recordings hold nothing to draw it from.
    NoPicture(NoPicture),
    /// This program was built without what draws pixels.
    NotBuiltIn,
    /// No font of this machine has the letters.
    NoFont,
    /// What draws pixels failed.
    NotDrawn(String),
}

impl fmt::Display for NoPng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPicture(none) => write!(f, "no data for chart `{}`", none.kind),
            Self::NotBuiltIn => f.write_str("this program was built without PNG"),
            Self::NoFont => f.write_str("no font here has the letters of the picture"),
            Self::NotDrawn(reason) => write!(f, "the picture could not be drawn: {reason}"),
        }
    }
}

impl NoPng {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoPicture(none) => Some(none.hint()),
            Self::NotBuiltIn => Some(
                "write `--format svg`, and make pixels of it: `rsvg-convert -z 2 picture.svg -o picture.png` (`sudo apt-get install \
                 librsvg2-bin`); from source, `cargo run --release --features png -- …` writes PNG itself"
                    .into(),
            ),
            Self::NoFont => Some("install one: `sudo apt-get install fonts-dejavu-core`; `--format svg` needs none".into()),
            Self::NotDrawn(_) => Some("`--format svg` is the same picture".into()),
        }
    }
}

/// The picture of this kind; light if no theme is given, as pixels do not change with who looks at them.
///
/// # Errors
///
/// When the recordings hold nothing to draw it from, no font has its letters, or PNG is not built in.
pub fn png(subject: &ReportInput<'_>, kind: Chart, theme: Option<ChartTheme>) -> Result<Vec<u8>, NoPng> {
    let theme = theme.unwrap_or(ChartTheme::Light);
    pixels(&svg(subject, kind, Some(theme)).map_err(NoPng::NoPicture)?)
}

#[cfg(feature = "png")]
fn pixels(svg: &str) -> Result<Vec<u8>, NoPng> {
    raster::png(svg, raster::fonts())
}

#[cfg(not(feature = "png"))]
const fn pixels(_svg: &str) -> Result<Vec<u8>, NoPng> {
    Err(NoPng::NotBuiltIn)
}
