//! Kernels to boot: from a file, this machine's own, or Debian's.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::{Architecture, GuestError, debian, image};

/// A kernel that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
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

impl FromStr for Asked {
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

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Host => f.write_str("host"),
            Self::Debian(flavour) => write!(f, "debian:{}", flavour.name()),
        }
    }
}

/// A kernel that can be booted.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// As it was asked for.
    pub asked: Asked,
    /// As `uname -r` will print it.
    pub release: String,
    /// SHA-256 of the image.
    pub sha256: String,
    pub(crate) image: PathBuf,
    /// Modules that the results' port needs, in the order in which they are loaded; those that
    /// are not there are taken to be built in.
    pub(crate) modules: Vec<PathBuf>,
}

/// What the port for results needs, each after what it depends on itself.
pub(crate) const MODULES: [&str; 6] = [
    "virtio_ring",
    "virtio",
    "virtio_pci_modern_dev",
    "virtio_pci_legacy_dev",
    "virtio_pci",
    "virtio_console",
];

impl Kernel {
    /// Finds what was asked for, or fetches it; tells `say` what takes long.
    ///
    /// # Errors
    ///
    /// When it is not there, cannot be read or fetched, or is no kernel for `architecture`.
    pub fn find(
        asked: &Asked,
        architecture: Architecture,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, GuestError> {
        match asked {
            Asked::File(path) => Self::from_file(asked, path, architecture),
            Asked::Host => {
                let release = rustix::system::uname().release().to_string_lossy().into_owned();
                Self::from_file(asked, &PathBuf::from(format!("/boot/vmlinuz-{release}")), architecture)
            }
            Asked::Debian(flavour) => {
                let folder = debian::provide(*flavour, architecture, say)?;
                let mut kernel = Self::from_file(asked, &folder.join("vmlinuz"), architecture)?;
                kernel.modules = modules_in(&[folder]);
                Ok(kernel)
            }
        }
    }

    fn from_file(asked: &Asked, path: &Path, architecture: Architecture) -> Result<Self, GuestError> {
        let bytes =
            std::fs::read(path).map_err(|source| GuestError::Image { path: path.to_owned(), source })?;
        let release = image::release(&bytes, path, architecture)?;
        let installed = PathBuf::from(format!("/lib/modules/{release}/kernel/drivers"));
        let modules = modules_in(&[installed.join("virtio"), installed.join("char")]);
        Ok(Self { asked: asked.clone(), release, sha256: sha256(&bytes), image: path.to_owned(), modules })
    }
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Those of [`MODULES`] that are in one of the folders, compressed or not.
fn modules_in(folders: &[PathBuf]) -> Vec<PathBuf> {
    let endings = ["ko", "ko.xz", "ko.zst", "ko.gz"];
    let candidates = |name: &str| -> Vec<PathBuf> {
        let files = endings.iter().map(|ending| format!("{name}.{ending}"));
        files.flat_map(|file| folders.iter().map(move |folder| folder.join(&file))).collect()
    };
    MODULES.iter().filter_map(|name| candidates(name).into_iter().find(|path| path.exists())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_read_back_as_typed() {
        for text in ["host", "debian:rt", "debian:standard", "debian:cloud", "./bzImage"] {
            assert_eq!(text.parse::<Asked>().unwrap().to_string(), text);
        }
        let error = "debian:realtime".parse::<Asked>().unwrap_err();
        assert!(error.contains("choose from debian:standard, debian:cloud, debian:rt"), "{error}");
    }

    #[test]
    fn modules_come_in_the_order_in_which_they_load() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["virtio_console.ko", "virtio.ko.xz", "virtio_ring.ko", "other.ko"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found = modules_in(&[folder.path().to_owned()]);
        let names: Vec<_> = found.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["virtio_ring.ko", "virtio.ko.xz", "virtio_console.ko"]);
    }

    #[test]
    fn checksums_are_those_of_sha256sum() {
        // printf abc | sha256sum
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
