//! The dialects.

use howlate_cyclictest::Compat;

/// Whose output to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// rt-tests 2.4, as in Debian 12.
    V2_4,
    /// rt-tests 2.6, as in Debian 13.
    V2_6,
    /// rt-tests 2.10, and later ones as far as their changelogs tell.
    V2_10,
}

impl From<Compat> for Dialect {
    fn from(compat: Compat) -> Self {
        match compat {
            Compat::V2_4 => Self::V2_4,
            Compat::V2_6 => Self::V2_6,
            Compat::V2_10 | Compat::V2_11 => Self::V2_10,
        }
    }
}

impl Dialect {
    /// As printed in JSON and in the first line.
    pub const fn version(self) -> &'static str {
        match self {
            Self::V2_4 => "2.40",
            Self::V2_6 => "2.60",
            Self::V2_10 => "2.10",
        }
    }

    /// The unit of the frequency of oslat's counter.
    pub(crate) const fn megahertz(self) -> &'static str {
        match self {
            Self::V2_4 => "Mhz",
            Self::V2_6 | Self::V2_10 => "MHz",
        }
    }

    /// Whether buckets of oslat may have another width than a microsecond.
    pub(crate) fn has_widths(self) -> bool {
        self > Self::V2_4
    }

    /// Whether cyclicdeadline is silent about its threads unless it is asked, on standard error then.
    pub fn is_silent(self) -> bool {
        self > Self::V2_4
    }

    /// What each line of a thread begins with in the JSON of cyclicdeadline.
    pub(crate) const fn indent(self) -> &'static str {
        match self {
            Self::V2_4 | Self::V2_6 => "\t ",
            Self::V2_10 => "      ",
        }
    }
}
