//! `howlate_VERSION_ARCHITECTURE.deb`: an `ar` archive as in deb(5), written here so that its bytes do not depend on the machine's
//! tools. Not cargo-deb: it would have to be built first, for two archives and a few small files.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::files::PackageFile;
use super::tar::{append, append_folder, gzip};
use super::{VERSION, commit_time};

/// The fields of a package's control file.
struct DebianPackage {
    name: &'static str,
    architecture: &'static str,
    /// More fields, before the description.
    fields: &'static str,
    description: &'static str,
}

const PROGRAM: DebianPackage = DebianPackage {
    name: "howlate",
    architecture: "amd64",
    fields: "Section: utils\nSuggests: stress-ng, rt-tests, qemu-system-x86\n",
    description: "tells how late Linux runs your code, and why\n \
        Measures how late sleeps return, how late periodic threads wake, and how long\n \
        one process takes to notify another; explains the lateness it found; and takes\n \
        the command line of cyclictest. One static program, no set-up.\n",
};

const DEVELOPMENT: DebianPackage = DebianPackage {
    name: "howlate-dev",
    architecture: "all",
    fields: "Section: devel\nMulti-Arch: foreign\nSuggests: howlate\n",
    description: "marks periodic loops for howlate (C and C++ header)\n \
        One header, with files for pkg-config and CMake. A program that includes it and\n \
        marks its loop has each iteration measured by howlate; it needs no library, and\n \
        costs next to nothing where nobody watches.\n",
};

/// Whether a file belongs to `howlate-dev`.
fn is_development_file(path: &str) -> bool {
    ["include/", "share/cmake/", "share/pkgconfig/"].iter().any(|folder| path.starts_with(folder))
}

/// Writes the package `howlate`; returns its path.
pub(crate) fn write(out: &Path, architecture: &str, files: &[PackageFile]) -> io::Result<PathBuf> {
    let architecture = if architecture == "x86_64" { "amd64" } else { "arm64" };
    let files: Vec<PackageFile> =
        files.iter().filter(|file| !is_development_file(&file.path)).cloned().collect();
    write_package(out, &DebianPackage { architecture, ..PROGRAM }, &files)
}

/// Writes the package `howlate-dev`; returns its path.
pub(crate) fn write_development(out: &Path, files: &[PackageFile]) -> io::Result<PathBuf> {
    let files: Vec<PackageFile> =
        files.iter().filter(|file| is_development_file(&file.path)).cloned().collect();
    write_package(out, &DEVELOPMENT, &files)
}

fn write_package(out: &Path, package: &DebianPackage, files: &[PackageFile]) -> io::Result<PathBuf> {
    let time = commit_time()?;
    // Debian wants manual pages compressed, and licences in the file `copyright`.
    let files = files.iter().filter(|file| !file.path.contains("/LICENSE-"));
    let mut files: Vec<PackageFile> = files.map(compress_manual_page).collect::<io::Result<_>>()?;
    files.extend(debian_files(package, time)?);
    files.sort_by(|file, other| file.path.cmp(&other.path));
    let control = control(package, &files, time)?;
    let data = data(&files, time)?;
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in
        [("debian-binary", b"2.0\n".to_vec()), ("control.tar.gz", control), ("data.tar.gz", data)]
    {
        append_member(&mut bytes, name, &content, time);
    }
    let path = out.join(format!("{}_{VERSION}_{}.deb", package.name, package.architecture));
    fs::write(&path, bytes)?;
    Ok(path)
}

/// Files that Debian requires: copyright, changelog, overrides for lintian.
fn debian_files(package: &DebianPackage, time: u64) -> io::Result<Vec<PackageFile>> {
    let name = package.name;
    let date = date(time)?;
    let changelog = format!(
        "howlate ({VERSION}) unstable; urgency=medium\n\n  * What has changed is in CHANGELOG.md of the program's package.\n\n \
         -- {MAINTAINER}  {date}\n"
    );
    let mut files = vec![
        PackageFile::text(
            format!("share/doc/{name}/copyright"),
            include_bytes!("../../../packaging/debian/copyright").to_vec(),
        ),
        PackageFile::text(format!("share/doc/{name}/changelog.gz"), gzip(changelog.as_bytes())?),
    ];
    if name == PROGRAM.name {
        let overrides = "# It has to run in containers and initramfs that have nothing else.\nhowlate: statically-linked-binary [usr/bin/howlate]\n";
        files.push(PackageFile::text("share/lintian/overrides/howlate", overrides.as_bytes().to_vec()));
    }
    Ok(files)
}

/// As in changelogs: `Tue, 24 Nov 2026 22:00:00 +0000`.
fn date(time: u64) -> io::Result<String> {
    let seconds = i64::try_from(time).map_err(io::Error::other)?;
    let time = jiff::Timestamp::from_second(seconds).map_err(io::Error::other)?;
    Ok(time.strftime("%a, %d %b %Y %H:%M:%S +0000").to_string())
}

const MAINTAINER: &str = "The howlate authors <howlate@users.noreply.github.com>";

/// Compresses the file if it is a manual page.
fn compress_manual_page(file: &PackageFile) -> io::Result<PackageFile> {
    if !file.path.starts_with("share/man/") {
        return Ok(file.clone());
    }
    Ok(PackageFile::text(format!("{}.gz", file.path), gzip(&file.bytes)?))
}

/// Appends a file to an `ar` archive: a header of 60 bytes, then the content, padded to an even length.
fn append_member(archive: &mut Vec<u8>, name: &str, content: &[u8], time: u64) {
    archive.extend(
        format!("{name:<16}{time:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", content.len()).bytes(),
    );
    archive.extend(content);
    if content.len() % 2 == 1 {
        archive.push(b'\n');
    }
}

/// `control.tar.gz`
fn control(package: &DebianPackage, files: &[PackageFile], time: u64) -> io::Result<Vec<u8>> {
    let DebianPackage { name, architecture, fields, description } = package;
    let kibibytes = files.iter().map(|file| file.bytes.len().div_ceil(1_024)).sum::<usize>();
    let control = format!(
        "Package: {name}\nVersion: {VERSION}\nArchitecture: {architecture}\nMaintainer: {MAINTAINER}\nInstalled-Size: {kibibytes}\n\
         Priority: optional\nHomepage: https://github.com/howlate/howlate\n{fields}Description: {description}"
    );
    let mut archive = tar::Builder::new(Vec::new());
    append_folder(&mut archive, "./", time)?;
    let file = PackageFile::text("control", control.into_bytes());
    append(&mut archive, "./control", &file, time)?;
    gzip(&archive.into_inner()?)
}

/// `data.tar.gz`
fn data(files: &[PackageFile], time: u64) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for path in folders(files) {
        append_folder(&mut archive, &path, time)?;
    }
    for file in files {
        append(&mut archive, &format!("./usr/{}", file.path), file, time)?;
    }
    gzip(&archive.into_inner()?)
}

/// All folders of the files, outermost first.
fn folders(files: &[PackageFile]) -> BTreeSet<String> {
    let mut folders = BTreeSet::from(["./".to_owned()]);
    for file in files {
        let path = format!("./usr/{}", file.path);
        let ends = path.char_indices().filter(|(_, letter)| *letter == '/').map(|(place, _)| place);
        folders.extend(ends.map(|end| path[..=end].to_owned()));
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::super::files;
    use super::*;
    use std::process::Command;

    /// Errors only: a package with warnings is usable.
    #[test]
    fn lintian_finds_no_error() {
        if Command::new("lintian").arg("--version").output().is_err() {
            return howlate_testing::skip("lintian is not installed");
        }
        let folder = tempfile::tempdir().unwrap();
        let root = crate::cross::root().unwrap();
        let howlate = crate::cross::target_folder(&root).join("debug/howlate");
        if !howlate.exists() {
            return howlate_testing::skip("the program is not built: cargo build --package howlate");
        }
        // Stands for howlate: any statically linked program will do.
        let source = folder.path().join("p.c");
        fs::write(&source, "int main(void) { return 0; }\n").unwrap();
        let program = folder.path().join("p");
        let built =
            Command::new("cc").args(["-static", "-s", "-O2", "-o"]).args([&program, &source]).status();
        if !built.is_ok_and(|status| status.success()) {
            return howlate_testing::skip("no static program can be built");
        }
        let installed = files::installed(&root, &howlate).unwrap();
        let files = files::all(&root, &installed, fs::read(program).unwrap()).unwrap();
        let packages = [
            write(folder.path(), "x86_64", &files).unwrap(),
            write_development(folder.path(), &files).unwrap(),
        ];
        for package in packages {
            let mut lintian = Command::new("lintian");
            lintian.args(["--fail-on", "error", "--no-tag-display-limit", "--allow-root"]).arg(&package);
            let output = lintian.output().unwrap();
            let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(
                output.status.success(),
                "{}: {stdout}{}",
                package.display(),
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }

    #[test]
    fn dpkg_reads_it() {
        if Command::new("dpkg-deb").arg("--version").output().is_err() {
            return howlate_testing::skip("dpkg-deb is not installed");
        }
        let folder = tempfile::tempdir().unwrap();
        let files = [
            PackageFile { path: "bin/howlate".into(), bytes: b"#!/bin/sh\n".to_vec(), is_program: true },
            PackageFile::text("share/man/man1/howlate.1", b".TH howlate\n".to_vec()),
        ];
        let path = write(folder.path(), "x86_64", &files).unwrap();
        let print = |option: &str| {
            let output = Command::new("dpkg-deb").arg(option).arg(&path).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        assert!(print("--info").contains("Architecture: amd64"));
        let contents = print("--contents");
        assert!(contents.contains(" ./usr/bin/\n"), "{contents}");
        assert!(contents.contains("-rwxr-xr-x") && contents.contains(" ./usr/bin/howlate\n"), "{contents}");
        assert!(contents.contains(" ./usr/share/man/man1/howlate.1.gz\n"), "{contents}");
        assert_eq!(write(folder.path(), "x86_64", &files).unwrap(), path);
    }
}
