//! Debian's kernels, fetched with apt and kept.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use howlate_safe_path::{Folder, Temporary};

use crate::architecture::Architecture;
use crate::checksum::sha256;
use crate::error::GuestError;
use crate::kernel_spec::Flavour;
use crate::modules::MODULES;

/// Checksums of what is in a folder of the cache, as `sha256sum -c` reads them.
const SUMS: &str = "SHA256SUMS";
/// The package that the rest was unpacked from.
const PACKAGE: &str = "package.deb";

/// A package, and its version.
#[derive(Debug, PartialEq, Eq)]
struct Package {
    name: String,
    version: String,
}

/// The folder with `vmlinuz` and the modules needed; fetched the first time.
pub(crate) fn provide(
    flavour: Flavour,
    architecture: Architecture,
    say: &mut dyn FnMut(&str),
) -> Result<PathBuf, GuestError> {
    let cache = cache()?;
    let apt = Apt::of(architecture, &cache, say)?;
    let package = apt.newest(flavour, architecture)?;
    let signed = apt.checksum(&package, architecture)?;
    let folder = cache.join(format!("{}_{}", package.name, package.version.replace(':', "%")));
    if !is_as_signed(&folder, &signed) {
        say(&format!("Fetching {} {} with apt …\n", package.name, package.version));
        apt.fetch(&package, architecture, &cache, &folder)?;
    }
    if is_as_signed(&folder, &signed) { Ok(folder) } else { Err(GuestError::CacheDamaged { folder }) }
}

/// `$XDG_CACHE_HOME/howlate/kernels`, or below `~/.cache`.
fn cache() -> Result<PathBuf, GuestError> {
    let home =
        || Some(PathBuf::from(std::env::var_os("HOME").filter(|home| !home.is_empty())?).join(".cache"));
    let caches = std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let folder = caches.or_else(home).ok_or(GuestError::NoCache)?.join("howlate/kernels");
    let folder = Folder::make(&folder)?.path().to_owned();
    howlate_safe_path::sweep(&folder);
    Ok(folder)
}

/// apt, and what it is told so that it leaves the machine's own lists of packages alone.
struct Apt {
    options: Vec<String>,
}

/// Lists of another architecture are fetched anew after a day.
const LISTS_LAST: std::time::Duration = std::time::Duration::from_secs(24 * 3_600);

impl Apt {
    /// This machine's own lists, or lists of `architecture` kept in the cache: no right is needed
    /// for them, and nothing of the machine is changed.
    fn of(architecture: Architecture, cache: &Path, say: &mut dyn FnMut(&str)) -> Result<Self, GuestError> {
        if architecture == Architecture::HERE {
            return Ok(Self { options: Vec::new() });
        }
        let debian = architecture.debian();
        let (lists, archives) =
            (cache.join(format!("apt-{debian}/lists")), cache.join(format!("apt-{debian}")));
        for folder in [lists.join("partial"), archives.join("archives/partial")] {
            std::fs::create_dir_all(&folder).map_err(|source| GuestError::Write { path: folder, source })?;
        }
        let settings = [
            format!("APT::Architecture={debian}"),
            format!("APT::Architectures={debian}"),
            format!("Dir::State::lists={}", lists.display()),
            format!("Dir::Cache={}", archives.display()),
        ];
        let apt = Self { options: settings.into_iter().flat_map(|one| ["-o".to_owned(), one]).collect() };
        if !are_fresh(&lists) {
            say(&format!("Fetching Debian's list of packages for {debian} with apt …\n"));
            apt.run("apt-get", &["update", "-qq"], None)?;
        }
        Ok(apt)
    }

    fn run(&self, program: &str, arguments: &[&str], folder: Option<&Path>) -> Result<String, GuestError> {
        let options = self.options.iter().map(String::as_str);
        output(program, &options.chain(arguments.iter().copied()).collect::<Vec<_>>(), folder)
    }

    /// The package that Debian's `linux-image-…` stands for at present.
    fn newest(&self, flavour: Flavour, architecture: Architecture) -> Result<Package, GuestError> {
        let debian = architecture.debian();
        let stands_for = format!("linux-image-{}{debian}:{debian}", flavour.in_package());
        let shown = self.run("apt-cache", &["show", "--no-all-versions", &stands_for], None)?;
        dependency(&shown).ok_or(GuestError::NoSuchPackage { package: stands_for })
    }

    /// What Debian has signed: apt checks the signature of the release file, that names the checksum of the
    /// list of packages, which names that of each package.
    fn checksum(&self, package: &Package, architecture: Architecture) -> Result<String, GuestError> {
        let name = format!("{}:{}={}", package.name, architecture.debian(), package.version);
        let shown = self.run("apt-cache", &["show", "--no-all-versions", &name], None)?;
        let sum = shown.lines().find_map(|line| line.strip_prefix("SHA256: "));
        sum.map(|sum| sum.trim().to_owned()).ok_or(GuestError::NoSuchPackage { package: name })
    }

    /// Fetches into a folder of its own first, so that one that is there is complete.
    fn fetch(
        &self,
        package: &Package,
        architecture: Architecture,
        cache: &Path,
        folder: &Path,
    ) -> Result<(), GuestError> {
        let failed = |source| GuestError::Write { path: cache.to_owned(), source };
        let temporary = Temporary::folder_in(cache).map_err(failed)?;
        let fetched = temporary.path().join("fetched");
        std::fs::create_dir(&fetched).map_err(failed)?;
        let name = format!("{}:{}={}", package.name, architecture.debian(), package.version);
        self.run("apt-get", &["download", "--quiet", &name], Some(&fetched))?;
        let downloaded = only_file(&fetched).map_err(failed)?;
        let unpacked = temporary.path().join("unpacked");
        std::fs::create_dir(&unpacked).map_err(failed)?;
        unpack(&downloaded, &unpacked)?;
        let complete = temporary.path().join("complete");
        collect(&downloaded, &unpacked, &complete).map_err(failed)?;
        // What is there is not what it should be; it goes with the temporary folder.
        drop(std::fs::rename(folder, temporary.path().join("spoiled")));
        std::fs::rename(&complete, folder).map_err(failed)
    }
}

fn are_fresh(lists: &Path) -> bool {
    let packages = |path: &Path| path.to_string_lossy().contains("_Packages");
    let fresh = |path: &Path| {
        let changed = std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
        changed.and_then(|changed| changed.elapsed().ok()).is_some_and(|age| age < LISTS_LAST)
    };
    files_below(lists).is_ok_and(|files| files.iter().any(|path| packages(path)) && fresh(lists))
}

/// `Depends: linux-image-6.1.0-56-amd64 (= 6.1.192-2)`
fn dependency(shown: &str) -> Option<Package> {
    let depends = shown.lines().find_map(|line| line.strip_prefix("Depends: "))?;
    depends.split(", ").find_map(|one| {
        let (name, version) = one.split_once(" (= ")?;
        let version = version.trim_end_matches(')').to_owned();
        name.starts_with("linux-image-").then(|| Package { name: name.to_owned(), version })
    })
}

fn only_file(folder: &Path) -> std::io::Result<PathBuf> {
    let first = std::fs::read_dir(folder)?.next().ok_or(std::io::ErrorKind::NotFound)??;
    Ok(first.path())
}

/// Takes the kernel and the modules needed out of the package, which has thousands.
fn unpack(package: &Path, into: &Path) -> Result<(), GuestError> {
    let failed = |source| GuestError::Start { program: "dpkg-deb".into(), source };
    let mut reader = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let archive = reader.stdout.take().map_or_else(Stdio::null, Stdio::from);
    let mut tar = Command::new("tar");
    tar.args(["-x", "--wildcards", "-C"]).arg(into).arg("./boot/vmlinuz-*");
    tar.args(MODULES.map(|name| format!("*/{name}.ko*"))).stdin(archive).stderr(Stdio::null());
    // A module that is built in is missing, which tar calls a failure.
    tar.status().map_err(|source| GuestError::Start { program: "tar".into(), source })?;
    reader.wait().map_err(failed)?;
    Ok(())
}

/// Puts the package and the files from it side by side, with their checksums.
fn collect(package: &Path, unpacked: &Path, into: &Path) -> std::io::Result<()> {
    DirBuilder::new().mode(0o700).create(into)?;
    let mut sums = String::new();
    for path in std::iter::once(package.to_owned()).chain(files_below(unpacked)?) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = match &*name {
            _ if path == package => PACKAGE.to_owned(),
            name if name.starts_with("vmlinuz-") => "vmlinuz".to_owned(),
            name => name.to_owned(),
        };
        let content = std::fs::read(&path)?;
        sums.push_str(&format!("{}  {name}\n", sha256(&content)));
        std::fs::write(into.join(name), content)?;
    }
    std::fs::write(into.join(SUMS), sums)
}

fn files_below(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            files.extend(files_below(&entry.path())?);
        } else {
            files.push(entry.path());
        }
    }
    Ok(files)
}

/// Whether a folder of the cache is ours alone, its package the one with the `signed` checksum, and
/// everything in it as it was unpacked from that.
fn is_as_signed(folder: &Path, signed: &str) -> bool {
    let Ok(sums) = std::fs::read_to_string(folder.join(SUMS)) else { return false };
    let as_unpacked = |line: &str| {
        let Some((sum, name)) = line.split_once("  ") else { return false };
        std::fs::read(folder.join(name)).is_ok_and(|content| sha256(&content) == sum)
    };
    let is_of_package = sums.lines().any(|line| line == format!("{signed}  {PACKAGE}"));
    let private = howlate_safe_path::check(folder).is_ok();
    private && is_of_package && sums.contains("  vmlinuz\n") && sums.lines().all(as_unpacked)
}

/// Runs a program of Debian's; returns what it printed.
fn output(program: &str, arguments: &[&str], folder: Option<&Path>) -> Result<String, GuestError> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let output = command.output().map_err(|source| GuestError::Start { program: program.into(), source })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().find(|line| line.starts_with("E:")).unwrap_or("no reason given");
    let command = format!("{program} {}", arguments.join(" "));
    Err(GuestError::Apt { command, said: said.trim_start_matches("E: ").to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_package_is_what_the_other_depends_on() {
        let shown = "Package: linux-image-rt-amd64\nDepends: linux-image-6.1.0-56-rt-amd64 (= 6.1.192-2)\n";
        let wanted = Package { name: "linux-image-6.1.0-56-rt-amd64".into(), version: "6.1.192-2".into() };
        assert_eq!(dependency(shown), Some(wanted));
        assert_eq!(dependency("Package: x\n"), None);
    }

    #[test]
    fn a_file_that_changed_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let (unpacked, kept) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::create_dir_all(unpacked.join("boot")).unwrap();
        std::fs::write(unpacked.join("boot/vmlinuz-6.1"), "kernel").unwrap();
        std::fs::write(unpacked.join("virtio.ko"), "module").unwrap();
        let package = folder.path().join("linux.deb");
        std::fs::write(&package, "package").unwrap();
        collect(&package, &unpacked, &kept).unwrap();
        let signed = sha256(b"package");
        assert!(is_as_signed(&kept, &signed));
        assert!(
            !is_as_signed(&kept, &sha256(b"a newer package")),
            "sums beside the files do not vouch for them"
        );
        std::fs::write(kept.join("virtio.ko"), "modulf").unwrap();
        assert!(!is_as_signed(&kept, &signed));
        std::fs::write(kept.join("virtio.ko"), "module").unwrap();
        std::fs::write(kept.join(PACKAGE), "other").unwrap();
        assert!(!is_as_signed(&kept, &signed));
        std::fs::write(kept.join(PACKAGE), "package").unwrap();
        assert!(is_as_signed(&kept, &signed));
        std::fs::set_permissions(&kept, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        assert!(!is_as_signed(&kept, &signed), "others may have written it");
    }
}
