//! Kernels to boot: from a file, this machine's own, or Debian's.

use std::path::{Path, PathBuf};

use crate::architecture::Architecture;
use crate::checksum::sha256;
use crate::error::GuestError;
use crate::kernel_spec::KernelSpec;
use crate::modules::modules_in;
use crate::{debian, image};

/// The first kernel that the programs of tracer `bpf` load on: docs/why.md, "The tracer".
const FIRST_FOR_BPF: (u32, u32) = (5, 18);

/// A kernel that can be booted.
#[derive(Clone, Debug)]
pub struct GuestKernel {
    /// As it was requested for.
    pub asked: KernelSpec,
    /// As `uname -r` will print it.
    pub release: String,
    /// SHA-256 of the image.
    pub sha256: String,
    pub(crate) image: PathBuf,
    /// Modules that the results' port needs, in the order in which they are loaded; those that
    /// are not there are taken to be built in.
    pub(crate) modules: Vec<PathBuf>,
}

impl GuestKernel {
    /// Finds the requested kernel, or fetches it; `say` gets progress messages.
    ///
    /// # Errors
    ///
    /// When it is not there, cannot be read or fetched, or is no kernel for `architecture`.
    pub fn find(
        requested: &KernelSpec,
        architecture: Architecture,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, GuestError> {
        match requested {
            KernelSpec::File(path) => Self::from_file(requested, path, architecture),
            KernelSpec::Host => {
                let release = rustix::system::uname().release().to_string_lossy().into_owned();
                Self::from_file(requested, &PathBuf::from(format!("/boot/vmlinuz-{release}")), architecture)
            }
            KernelSpec::Debian(kernel) => {
                let folder = debian::provide(kernel, architecture, say)?;
                let mut kernel = Self::from_file(requested, &folder.join("vmlinuz"), architecture)?;
                kernel.modules = modules_in(&[folder]);
                Ok(kernel)
            }
        }
    }

    /// The file that is booted.
    pub fn image(&self) -> &Path {
        &self.image
    }

    /// What cannot be traced in it, because it is older than the tracer's programs know.
    pub fn traced_with_less(&self) -> Option<String> {
        let version = version(&self.release)?;
        (version < FIRST_FOR_BPF).then(|| {
            let (major, minor) = FIRST_FOR_BPF;
            format!(
                "Linux {} is older than {major}.{minor}, which tracer `bpf` needs: `--why` and `selfcheck` take `tracefs` there, which names less, and `top` \
                 sees states only. `howlate guest --list` shows newer kernels.\n",
                self.release
            )
        })
    }

    fn from_file(
        requested: &KernelSpec,
        path: &Path,
        architecture: Architecture,
    ) -> Result<Self, GuestError> {
        let bytes =
            std::fs::read(path).map_err(|source| GuestError::Image { path: path.to_owned(), source })?;
        let release = image::release(&bytes, path, architecture)?;
        let installed = PathBuf::from(format!("/lib/modules/{release}/kernel/drivers"));
        let modules = modules_in(&[installed.join("virtio"), installed.join("char")]);
        Ok(Self {
            asked: requested.clone(),
            release,
            sha256: sha256(&bytes),
            image: path.to_owned(),
            modules,
        })
    }
}

/// The first two numbers of a release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_older_kernel_lacks_is_said() {
        let warning = |release: &str| {
            let (asked, sha256) = (KernelSpec::Host, String::new());
            GuestKernel {
                asked,
                release: release.to_owned(),
                sha256,
                image: PathBuf::new(),
                modules: Vec::new(),
            }
            .traced_with_less()
        };
        assert!(warning("5.10.0-32-amd64").unwrap().contains("older than 5.18"));
        assert!(warning("4.19.0").is_some() && warning("5.17.15+").is_some());
        for release in ["5.18.0-1-amd64", "6.1.0-56-rt-amd64", "7.3.4+deb13-amd64", "7.3", "10.0.1", "next"] {
            assert_eq!(warning(release), None, "{release}");
        }
    }
}
