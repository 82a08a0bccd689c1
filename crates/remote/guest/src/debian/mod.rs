//! Debian's kernels, fetched with apt and kept.

mod apt;
mod mirror;
mod package;
mod package_cache;
mod suites;
mod version;

use std::path::{Path, PathBuf};

use howlate_safe_path::{PrivateFolder, TemporaryFolder};

use self::apt::Apt;
use self::package::{Package, packages};
use self::suites::{Fetchable, newest_package, of_suite, of_version};
use crate::architecture::Architecture;
use crate::error::GuestError;
use crate::kernel_spec::{DebianKernel, DebianOrigin, Flavour};

/// A kernel on the mirror.
#[derive(Clone, Debug)]
pub struct ListedKernel {
    /// As Debian calls the suite, such as `trixie`.
    pub suite: String,
    /// As `uname -r` will print it.
    pub release: String,
    /// Which of Debian's kernels.
    pub flavour: Flavour,
    /// The package of its image.
    pub package: String,
    /// The package's version.
    pub version: String,
    /// What to type for it.
    pub requested: DebianKernel,
    /// Whether it has been fetched.
    pub is_cached: bool,
}

/// The folder with `vmlinuz` and the modules needed; fetched the first time.
pub(crate) fn provide(
    requested: &DebianKernel,
    architecture: Architecture,
    say: &mut dyn FnMut(&str),
) -> Result<PathBuf, GuestError> {
    let cache = cache()?;
    let (apt, kernel) = choose(requested, architecture, &cache, say)?;
    let folder = package_cache::folder(&cache, &kernel);
    if !package_cache::is_as_signed(&folder, &kernel) {
        let Package { name, version, .. } = &kernel.image;
        say(&format!("Fetching {name} {} with apt …\n", version.0));
        fetch(&apt, &kernel, architecture, &cache, &folder)?;
    }
    if package_cache::is_as_signed(&folder, &kernel) {
        Ok(folder)
    } else {
        Err(GuestError::CacheDamaged { folder })
    }
}

/// All of Debian's kernels on this machine's mirror.
///
/// # Errors
///
/// When the mirror cannot be read, or there is none.
pub fn debian_kernels(
    architecture: Architecture,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<ListedKernel>, GuestError> {
    let cache = cache()?;
    let suites = Apt::of_all_suites(architecture, &cache, say)?.suites()?;
    let listed = |suite: &suites::Suite, kernel: &Fetchable| {
        let release = kernel.image.release(architecture)?;
        // The whole version: suites may have the same one of the kernel.
        let origin = DebianOrigin::Version(kernel.image.version.0.clone());
        Some(ListedKernel {
            suite: suite.name().to_owned(),
            release: release.name.to_owned(),
            flavour: release.flavour,
            package: kernel.image.name.clone(),
            version: kernel.image.version.0.clone(),
            requested: DebianKernel { origin, flavour: release.flavour },
            is_cached: package_cache::is_of(&package_cache::folder(&cache, kernel), kernel),
        })
    };
    let of = |suite: &suites::Suite| -> Vec<_> {
        suite.kernels(architecture).iter().filter_map(|kernel| listed(suite, kernel)).collect()
    };
    Ok(suites.iter().flat_map(of).collect())
}

/// `$XDG_CACHE_HOME/howlate/kernels`, or below `~/.cache`.
fn cache() -> Result<PathBuf, GuestError> {
    let home =
        || Some(PathBuf::from(std::env::var_os("HOME").filter(|home| !home.is_empty())?).join(".cache"));
    let caches = std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let folder = caches.or_else(home).ok_or(GuestError::NoCache)?.join("howlate/kernels");
    let folder = PrivateFolder::create(&folder)?.path().to_owned();
    howlate_safe_path::sweep(&folder);
    Ok(folder)
}

/// The kernel that is meant, and the apt that knows it.
fn choose(
    requested: &DebianKernel,
    architecture: Architecture,
    cache: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<(Apt, Fetchable), GuestError> {
    let flavour = requested.flavour;
    let apt = |say: &mut dyn FnMut(&str)| Apt::of_all_suites(architecture, cache, say);
    match &requested.origin {
        DebianOrigin::Machine => {
            let apt = Apt::with_lists_of(architecture, cache, say)?;
            candidate(&apt, flavour, architecture).map(|kernel| (apt, kernel))
        }
        DebianOrigin::Suite(name) => {
            let apt = apt(say)?;
            of_suite(&apt.suites()?, name, flavour, architecture).map(|kernel| (apt, kernel))
        }
        DebianOrigin::Version(version) => {
            let apt = apt(say)?;
            of_version(&apt.suites()?, version, flavour, architecture).map(|kernel| (apt, kernel))
        }
    }
}

/// The kernel that apt would install here.
fn candidate(apt: &Apt, flavour: Flavour, architecture: Architecture) -> Result<Fetchable, GuestError> {
    let debian = architecture.debian();
    let stands_for = format!("{}:{debian}", newest_package(flavour, architecture));
    let unknown = || GuestError::NoSuchPackage { package: stands_for.clone() };
    let show = |name: &str, version: &version::Version| {
        let exact = format!("{name}:{debian}={}", version.0);
        packages(&apt.show(&["--no-all-versions", &exact]).ok()?).into_iter().next()
    };
    let newest = packages(&apt.show(&["--no-all-versions", &stands_for])?);
    let (name, version) = newest.first().and_then(Package::stands_for).ok_or_else(unknown)?;
    let image = show(name, version).ok_or_else(unknown)?;
    Fetchable::from_image(&image, show).ok_or_else(unknown)
}

/// Fetches into a folder of its own first, so that one that is there is complete.
fn fetch(
    apt: &Apt,
    kernel: &Fetchable,
    architecture: Architecture,
    cache: &Path,
    folder: &Path,
) -> Result<(), GuestError> {
    let failed = |source| GuestError::Write { path: cache.to_owned(), source };
    let temporary = TemporaryFolder::create_in(cache).map_err(failed)?;
    let mut downloaded = Vec::new();
    for file in &kernel.files {
        let fetched = temporary.path().join(&file.name);
        std::fs::create_dir(&fetched).map_err(failed)?;
        apt.download(&file.asked_of_apt(architecture), &fetched)?;
        downloaded.push(only_file(&fetched).map_err(failed)?);
    }
    let complete = temporary.path().join("complete");
    package_cache::keep(kernel, &downloaded, &complete)?;
    // What is there is not what it should be; it goes with the temporary folder.
    drop(std::fs::rename(folder, temporary.path().join("spoiled")));
    std::fs::rename(&complete, folder).map_err(failed)
}

fn only_file(folder: &Path) -> std::io::Result<PathBuf> {
    let first = std::fs::read_dir(folder)?.next().ok_or(std::io::ErrorKind::NotFound)??;
    Ok(first.path())
}
