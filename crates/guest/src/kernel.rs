//! Kernels to boot: from a file, this machine's own, or Debian's.

use std::path::{Path, PathBuf};

use crate::architecture::Architecture;
use crate::checksum::sha256;
use crate::error::GuestError;
use crate::kernel_spec::KernelSpec;
use crate::modules::modules_in;
use crate::{debian, image};

/// A kernel that can be booted.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// As it was asked for.
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

impl Kernel {
    /// Finds what was asked for, or fetches it; tells `say` what takes long.
    ///
    /// # Errors
    ///
    /// When it is not there, cannot be read or fetched, or is no kernel for `architecture`.
    pub fn find(
        asked: &KernelSpec,
        architecture: Architecture,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, GuestError> {
        match asked {
            KernelSpec::File(path) => Self::from_file(asked, path, architecture),
            KernelSpec::Host => {
                let release = rustix::system::uname().release().to_string_lossy().into_owned();
                Self::from_file(asked, &PathBuf::from(format!("/boot/vmlinuz-{release}")), architecture)
            }
            KernelSpec::Debian(flavour) => {
                let folder = debian::provide(*flavour, architecture, say)?;
                let mut kernel = Self::from_file(asked, &folder.join("vmlinuz"), architecture)?;
                kernel.modules = modules_in(&[folder]);
                Ok(kernel)
            }
        }
    }

    fn from_file(asked: &KernelSpec, path: &Path, architecture: Architecture) -> Result<Self, GuestError> {
        let bytes =
            std::fs::read(path).map_err(|source| GuestError::Image { path: path.to_owned(), source })?;
        let release = image::release(&bytes, path, architecture)?;
        let installed = PathBuf::from(format!("/lib/modules/{release}/kernel/drivers"));
        let modules = modules_in(&[installed.join("virtio"), installed.join("char")]);
        Ok(Self { asked: asked.clone(), release, sha256: sha256(&bytes), image: path.to_owned(), modules })
    }
}
