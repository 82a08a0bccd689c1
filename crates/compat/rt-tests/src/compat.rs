//! Versions of rt-tests whose command lines and output are reproduced.

use std::fmt;
use std::str::FromStr;

/// The version of rt-tests whose output is written and whose defaults apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Compat {
    /// rt-tests 2.4, as in Debian 12: binds threads to CPUs by default.
    V2_4,
    /// rt-tests 2.6, as in Debian 13 and Ubuntu 24.04: the text of 2.4, threads unbound as in 2.10. The default: scripts for
    /// 2.4 and for 2.10 work with it.
    #[default]
    V2_6,
    /// rt-tests 2.10, as in Debian's unstable distribution.
    V2_10,
    /// rt-tests 2.11 of October 2026, as far as its changelog describes it: the text of 2.10, clocks by name, auxiliary clocks.
    V2_11,
}

impl Compat {
    /// As printed in JSON and usage: 2.4 writes its version with two decimals.
    pub const fn version(self) -> &'static str {
        match self {
            Self::V2_4 => "2.40",
            Self::V2_6 => "2.60",
            Self::V2_10 => "2.10",
            Self::V2_11 => "2.11",
        }
    }

    /// The version that oslat, hwlatdetect and cyclicdeadline print: their output did not change in 2.11.
    pub const fn version_without_cyclictest(self) -> &'static str {
        match self {
            Self::V2_11 => Self::V2_10.version(),
            earlier => earlier.version(),
        }
    }

    /// The unit of oslat's counter frequency.
    pub(crate) const fn megahertz(self) -> &'static str {
        match self {
            Self::V2_4 => "Mhz",
            Self::V2_6 | Self::V2_10 | Self::V2_11 => "MHz",
        }
    }

    /// Whether oslat has `--bucket-width`.
    pub(crate) fn has_bucket_width(self) -> bool {
        self > Self::V2_4
    }

    /// Whether cyclicdeadline describes its threads only with `--verbose` and `--debug`, on standard error.
    pub fn is_silent(self) -> bool {
        self > Self::V2_4
    }

    /// Indentation of a thread's lines in the JSON of cyclicdeadline.
    pub(crate) const fn json_indent(self) -> &'static str {
        match self {
            Self::V2_4 | Self::V2_6 => "\t ",
            Self::V2_10 | Self::V2_11 => "      ",
        }
    }

    /// The version in the name of the executable: `cyclictest-2.4`.
    pub fn from_program_name(name: &str) -> Option<Self> {
        name.strip_prefix("cyclictest-")?.parse().ok()
    }

    /// Whether histogram rows without any count are printed.
    pub(crate) fn prints_empty_rows(self) -> bool {
        self <= Self::V2_6
    }

    /// Whether a `# Total:` line follows the rows.
    pub(crate) fn prints_totals(self) -> bool {
        self <= Self::V2_6
    }

    /// Whether `-H` has a sum column for a single thread too.
    pub(crate) fn sums_one_thread(self) -> bool {
        self >= Self::V2_10
    }

    /// Whether JSON has a `histogram` object even without a histogram.
    pub(crate) fn always_has_histogram(self) -> bool {
        self <= Self::V2_6
    }

    /// Whether threads are bound to CPUs without `-a`.
    pub(crate) fn binds_by_default(self) -> bool {
        self == Self::V2_4
    }
}

impl fmt::Display for Compat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::V2_4 => "2.4",
            Self::V2_6 => "2.6",
            Self::V2_10 => "2.10",
            Self::V2_11 => "2.11",
        })
    }
}

/// The text is not a supported version of rt-tests.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is no version whose output is known; write 2.4, 2.6, 2.10 or 2.11")]
pub struct UnknownCompat {
    found: String,
}

impl FromStr for Compat {
    type Err = UnknownCompat;

    fn from_str(text: &str) -> Result<Self, UnknownCompat> {
        match text.trim() {
            "2.4" | "2.40" => Ok(Self::V2_4),
            "2.6" | "2.60" => Ok(Self::V2_6),
            "2.10" => Ok(Self::V2_10),
            "2.11" => Ok(Self::V2_11),
            found => Err(UnknownCompat { found: found.to_owned() }),
        }
    }
}
