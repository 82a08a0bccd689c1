//! Kernels as they are asked for.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A kernel that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelSpec {
    /// The image in a file.
    File(PathBuf),
    /// The one that runs here.
    Host,
    /// One of Debian's.
    Debian(Flavour),
}

/// Which of Debian's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// For everybody.
    Standard,
    /// For guests in data centres.
    Cloud,
    /// With `PREEMPT_RT`.
    Rt,
}

impl Flavour {
    const ALL: [Self; 3] = [Self::Standard, Self::Cloud, Self::Rt];

    const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Cloud => "cloud",
            Self::Rt => "rt",
        }
    }

    /// What stands before the architecture in the name of its package.
    pub(crate) const fn in_package(self) -> &'static str {
        match self {
            Self::Standard => "",
            Self::Cloud => "cloud-",
            Self::Rt => "rt-",
        }
    }
}

impl FromStr for KernelSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "host" {
            return Ok(Self::Host);
        }
        let Some(name) = text.strip_prefix("debian:") else {
            return Ok(Self::File(PathBuf::from(text)));
        };
        let flavour = Flavour::ALL.into_iter().find(|flavour| flavour.name() == name);
        let known = Flavour::ALL.map(|flavour| format!("debian:{}", flavour.name())).join(", ");
        flavour
            .map(Self::Debian)
            .ok_or_else(|| format!("`{text}` is no kernel known here; choose from {known}"))
    }
}

impl fmt::Display for KernelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Host => f.write_str("host"),
            Self::Debian(flavour) => write!(f, "debian:{}", flavour.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_read_back_as_typed() {
        for text in ["host", "debian:rt", "debian:standard", "debian:cloud", "./bzImage"] {
            assert_eq!(text.parse::<KernelSpec>().unwrap().to_string(), text);
        }
        let error = "debian:realtime".parse::<KernelSpec>().unwrap_err();
        assert!(error.contains("choose from debian:standard, debian:cloud, debian:rt"), "{error}");
    }
}
