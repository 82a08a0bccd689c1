//! The cache of fetched kernels, with checksums.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::package::Package;
use super::suites::Fetchable;
use crate::checksum::sha256;
use crate::error::GuestError;
use crate::modules::MODULES;

/// Checksums of what is in a folder, as `sha256sum -c` reads them.
const SUMS: &str = "SHA256SUMS";
/// Checksums of the packages that it was unpacked from, as Debian has signed them.
const PACKAGES: &str = "PACKAGES";

/// The folder for a kernel.
pub(crate) fn folder(cache: &Path, kernel: &Fetchable) -> PathBuf {
    let Package { name, version, .. } = &kernel.image;
    cache.join(format!("{name}_{}", version.0.replace(':', "%")))
}

/// Compares downloaded packages with what is signed, takes the kernel and the modules needed out of them, and puts
/// these into a new folder.
pub(crate) fn keep(kernel: &Fetchable, downloaded: &[PathBuf], into: &Path) -> Result<(), GuestError> {
    let failed = |source| GuestError::Write { path: into.to_owned(), source };
    let unpacked = tempfile::tempdir_in(into.parent().unwrap_or(into)).map_err(failed)?;
    for (package, file) in kernel.files.iter().zip(downloaded) {
        check(package, file)?;
        unpack(file, unpacked.path())?;
    }
    collect(kernel, unpacked.path(), into).map_err(failed)
}

/// Whether the package is what Debian has signed.
fn check(package: &Package, file: &Path) -> Result<(), GuestError> {
    let content = std::fs::read(file).map_err(|source| GuestError::Read { path: file.to_owned(), source })?;
    let found = sha256(&content);
    if found == package.sha256 {
        return Ok(());
    }
    let (package, expected) = (format!("{} {}", package.name, package.version.0), package.sha256.clone());
    Err(GuestError::PackageDamaged { package, bytes: content.len(), found, expected })
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
    tar.args(["-x", "--wildcards", "-C"]).arg(into).args(["./boot/vmlinuz-*", "*/lib/modules/*/vmlinuz"]);
    tar.args(MODULES.map(|name| format!("*/{name}.ko*"))).stdin(archive).stderr(Stdio::null());
    // What is in the other package, or built in, is missing, which tar calls a failure.
    tar.status().map_err(|source| GuestError::Start { program: "tar".into(), source })?;
    reader.wait().map_err(failed)?;
    Ok(())
}

/// Puts the files side by side, with their checksums.
fn collect(kernel: &Fetchable, unpacked: &Path, into: &Path) -> std::io::Result<()> {
    DirBuilder::new().mode(0o700).create(into)?;
    let mut sums = String::new();
    for path in files_below(unpacked)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = if name.starts_with("vmlinuz") { "vmlinuz".to_owned() } else { name };
        let content = std::fs::read(&path)?;
        sums.push_str(&format!("{}  {name}\n", sha256(&content)));
        std::fs::write(into.join(name), content)?;
    }
    std::fs::write(into.join(PACKAGES), signed(kernel))?;
    std::fs::write(into.join(SUMS), sums)
}

fn signed(kernel: &Fetchable) -> String {
    kernel.files.iter().map(|file| format!("{}  {}\n", file.sha256, file.name)).collect()
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

/// Whether a folder is ours alone, from the packages that are signed for this kernel, and everything in it as it was
/// unpacked from those.
pub(crate) fn is_as_signed(folder: &Path, kernel: &Fetchable) -> bool {
    let Ok(sums) = std::fs::read_to_string(folder.join(SUMS)) else { return false };
    let as_unpacked = |line: &str| {
        let Some((sum, name)) = line.split_once("  ") else { return false };
        std::fs::read(folder.join(name)).is_ok_and(|content| sha256(&content) == sum)
    };
    is_of(folder, kernel) && sums.contains("  vmlinuz\n") && sums.lines().all(as_unpacked)
}

/// Whether a folder is ours alone, and from the packages that are signed for this kernel.
pub(crate) fn is_of(folder: &Path, kernel: &Fetchable) -> bool {
    let private = howlate_safe_path::check(folder).is_ok();
    private && std::fs::read_to_string(folder.join(PACKAGES)).is_ok_and(|found| found == signed(kernel))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::package::packages;
    use super::*;

    /// Makes a package with these files, as `dpkg-deb` does.
    fn package(folder: &Path, name: &str, files: &[(&str, &str)]) -> PathBuf {
        let tree = folder.join(name);
        std::fs::create_dir_all(tree.join("DEBIAN")).unwrap();
        let control = format!(
            "Package: {name}\nVersion: 7.3-1\nArchitecture: amd64\nMaintainer: x <x@example.org>\nDescription: x\n"
        );
        std::fs::write(tree.join("DEBIAN/control"), control).unwrap();
        for (file, content) in files {
            let file = tree.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, content).unwrap();
        }
        let made = folder.join(format!("{name}.deb"));
        let status = Command::new("dpkg-deb")
            .args(["--root-owner-group", "-Znone", "--build"])
            .args([&tree, &made])
            .stdout(Stdio::null())
            .status();
        assert!(status.unwrap().success());
        made
    }

    /// The kernel whose parts are these files.
    fn kernel(files: &[&Path]) -> Fetchable {
        let stanza = |file: &&Path| {
            let name = file.file_stem().unwrap().to_str().unwrap();
            format!("Package: {name}\nVersion: 7.3-1\nSHA256: {}\n", sha256(&std::fs::read(file).unwrap()))
        };
        let files = packages(&files.iter().map(stanza).collect::<Vec<_>>().join("\n"));
        Fetchable { image: files[0].clone(), files }
    }

    /// `None`, with the reason said, where no packages can be made.
    fn folder() -> Option<tempfile::TempDir> {
        if Command::new("dpkg-deb").arg("--version").output().is_err() {
            eprintln!("skipped: needs dpkg-deb");
            return None;
        }
        Some(tempfile::tempdir().unwrap())
    }

    #[test]
    fn a_kernel_that_was_split_is_put_together() {
        let Some(folder) = folder() else { return };
        let at = |name| format!("usr/lib/modules/7.3-amd64/{name}");
        let binary = package(folder.path(), "linux-binary-7.3-amd64", &[(&at("vmlinuz"), "kernel")]);
        let driver = at("kernel/drivers/char/virtio_console.ko.xz");
        let modules = package(
            folder.path(),
            "linux-modules-7.3-amd64",
            &[(&driver, "driver"), (&at("kernel/net/other.ko.xz"), "other")],
        );
        let (kernel, cached) = (kernel(&[&binary, &modules]), folder.path().join("kept"));
        keep(&kernel, &[binary, modules], &cached).unwrap();
        assert!(is_as_signed(&cached, &kernel));
        assert_eq!(std::fs::read_to_string(cached.join("vmlinuz")).unwrap(), "kernel");
        assert_eq!(std::fs::read_to_string(cached.join("virtio_console.ko.xz")).unwrap(), "driver");
        assert!(!cached.join("other.ko.xz").exists());
    }

    #[test]
    fn a_file_that_changed_is_noticed() {
        let Some(folder) = folder() else { return };
        let files = [("boot/vmlinuz-6.1", "kernel"), ("lib/modules/6.1/virtio.ko", "module")];
        let whole = package(folder.path(), "linux-image-6.1-amd64", &files);
        let (kernel, cached) = (kernel(&[&whole]), folder.path().join("kept"));
        keep(&kernel, &[whole], &cached).unwrap();
        assert!(is_as_signed(&cached, &kernel));
        let mut newer = kernel.clone();
        newer.files[0].sha256 = sha256(b"a newer package");
        assert!(!is_as_signed(&cached, &newer), "sums beside the files do not vouch for them");
        for (file, is) in [("virtio.ko", "module"), ("vmlinuz", "kernel")] {
            std::fs::write(cached.join(file), "changed").unwrap();
            assert!(!is_as_signed(&cached, &kernel), "{file}");
            std::fs::write(cached.join(file), is).unwrap();
            assert!(is_as_signed(&cached, &kernel));
        }
        std::fs::set_permissions(&cached, PermissionsExt::from_mode(0o777)).unwrap();
        assert!(!is_as_signed(&cached, &kernel), "others may have written it");
    }

    #[test]
    fn a_package_that_was_cut_off_is_refused() {
        let Some(folder) = folder() else { return };
        let whole = package(folder.path(), "linux-image-6.1-amd64", &[("boot/vmlinuz-6.1", "kernel")]);
        let (kernel, cached) = (kernel(&[&whole]), folder.path().join("kept"));
        std::fs::File::options().write(true).open(&whole).unwrap().set_len(100).unwrap();
        let error = keep(&kernel, &[whole], &cached).unwrap_err();
        assert!(
            error.to_string().contains("linux-image-6.1-amd64 7.3-1 is damaged: found 100 bytes"),
            "{error}"
        );
        assert!(error.hint().is_some() && !cached.exists());
    }
}
