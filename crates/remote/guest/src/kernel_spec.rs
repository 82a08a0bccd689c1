//! Specifications of kernels on the command line.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use howlate_model::nearest;

/// A requested kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelSpec {
    /// The image in a file.
    File(PathBuf),
    /// The one that runs here.
    Host,
    /// One of Debian's.
    Debian(DebianKernel),
}

/// One of Debian's kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebianKernel {
    /// Where it comes from.
    pub origin: DebianOrigin,
    /// With which configuration it was built.
    pub flavour: Flavour,
}

/// Which of Debian's releases a kernel comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DebianOrigin {
    /// What this machine's apt would install.
    Machine,
    /// A suite, such as `trixie` or `backports`: the newest in it.
    Suite(String),
    /// Whichever has this version.
    Version(String),
}

/// Which of Debian's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// The one that Debian installs unasked.
    Standard,
    /// For guests in data centres.
    Cloud,
    /// With `PREEMPT_RT`: preemptible almost everywhere.
    Rt,
}

impl Flavour {
    pub(crate) const ALL: [Self; 3] = [Self::Standard, Self::Cloud, Self::Rt];

    /// As it is typed.
    pub const fn name(self) -> &'static str {
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
        name.parse()
            .map(Self::Debian)
            .map_err(|wrong: String| format!("`{text}` is no kernel known here: {wrong}"))
    }
}

impl FromStr for Flavour {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name);
        Self::ALL.into_iter().find(|flavour| flavour.name() == text).ok_or_else(|| {
            let suggestion =
                nearest(text, names).map_or_else(String::new, |name| format!("did you mean `{name}`? Or "));
            format!("there is no kind `{text}`; {suggestion}choose from {}", names.join(", "))
        })
    }
}

impl FromStr for DebianKernel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, kind) = text.split_once(':').map_or((text, None), |(first, kind)| (first, Some(kind)));
        if let (Ok(flavour), None) = (first.parse(), kind) {
            return Ok(Self { origin: DebianOrigin::Machine, flavour });
        }
        let is_plain = |character: char| character.is_ascii_alphanumeric() || ".+~-".contains(character);
        if first.is_empty() || !first.chars().all(is_plain) {
            return Err(
                "write `debian:rt`, a suite such as `debian:trixie`, or a version such as `debian:6.12:rt`"
                    .to_owned(),
            );
        }
        let is_version = first.starts_with(|first: char| first.is_ascii_digit());
        let origin = if is_version { DebianOrigin::Version } else { DebianOrigin::Suite }(first.to_owned());
        Ok(Self { origin, flavour: kind.map_or(Ok(Flavour::Standard), str::parse)? })
    }
}

impl fmt::Display for KernelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Host => f.write_str("host"),
            Self::Debian(kernel) => write!(f, "{kernel}"),
        }
    }
}

impl fmt::Display for DebianKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (DebianOrigin::Suite(name) | DebianOrigin::Version(name)) = &self.origin else {
            return write!(f, "debian:{}", self.flavour.name());
        };
        match self.flavour {
            Flavour::Standard => write!(f, "debian:{name}"),
            flavour => write!(f, "debian:{name}:{}", flavour.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_read_back_as_typed() {
        for text in [
            "host",
            "debian:rt",
            "debian:standard",
            "debian:cloud",
            "debian:trixie",
            "debian:backports:rt",
            "debian:bookworm-backports",
            "debian:7.3.4",
            "debian:6.1.0-56:cloud",
            "debian:7.3.4-1~bpo13+1",
            "./bzImage",
        ] {
            assert_eq!(text.parse::<KernelSpec>().unwrap().to_string(), text);
        }
        assert_eq!("debian:sid:standard".parse::<KernelSpec>().unwrap().to_string(), "debian:sid");
    }

    #[test]
    fn a_suite_a_version_and_a_kind_are_told_apart() {
        let origin = |text: &str| text.parse::<DebianKernel>().unwrap().origin;
        assert_eq!(origin("rt"), DebianOrigin::Machine);
        assert_eq!(origin("sid:rt"), DebianOrigin::Suite("sid".into()));
        assert_eq!(origin("7.3:rt"), DebianOrigin::Version("7.3".into()));
    }

    #[test]
    fn what_is_no_name_of_a_kernel_is_refused() {
        for (text, says) in [
            ("debian:", "a suite such as `debian:trixie`"),
            ("debian::rt", "a suite such as"),
            ("debian:../etc", "a suite such as"),
            ("debian:sid rt", "a suite such as"),
            ("debian:trixie:", "there is no kind ``; choose from standard, cloud, rt"),
            ("debian:trixie:standart", "did you mean `standard`?"),
            ("debian:trixie:rt:rt", "there is no kind `rt:rt`"),
        ] {
            let error = text.parse::<KernelSpec>().unwrap_err();
            assert!(error.contains(text) && error.contains(says), "{error}");
        }
    }
}
