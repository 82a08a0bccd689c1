//! `howlate_VERSION_ARCHITECTURE.deb`: an archive of `ar`, as deb(5) has it, written here so that its bytes do not
//! depend on the machine's tools. Not cargo-deb: it would have to be built first, and this is two archives and a few small files.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::files::File;
use super::tar::{append, folder, gzip};
use super::{VERSION, moment};

/// A package, and what its control file says of it.
struct Package {
    name: &'static str,
    architecture: &'static str,
    /// Fields between those that all have and the description.
    fields: &'static str,
    description: &'static str,
}

const PROGRAM: Package = Package {
    name: "howlate",
    architecture: "amd64",
    fields: "Section: utils\nSuggests: stress-ng, rt-tests, qemu-system-x86\n",
    description: "tells how late Linux runs your code, and why\n \
        Measures how late sleeps return, how late periodic threads wake, and how long\n \
        one process takes to notify another; explains the lateness it found; and takes\n \
        the command line of cyclictest. One static program, no set-up.\n",
};

const DEVELOPMENT: Package = Package {
    name: "howlate-dev",
    architecture: "all",
    fields: "Section: devel\nMulti-Arch: foreign\nSuggests: howlate\n",
    description: "marks periodic loops for howlate (C and C++ header)\n \
        One header, with files for pkg-config and CMake. A program that includes it and\n \
        marks its loop has each iteration measured by howlate; it needs no library, and\n \
        costs next to nothing where nobody watches.\n",
};

/// What of `files` is for building programs, and in a package of its own.
fn is_for_programs(path: &str) -> bool {
    ["include/", "share/cmake/", "share/pkgconfig/"].iter().any(|folder| path.starts_with(folder))
}

/// Writes the program's package; returns where.
pub(crate) fn write(out: &Path, architecture: &str, files: &[File]) -> io::Result<PathBuf> {
    let architecture = if architecture == "x86_64" { "amd64" } else { "arm64" };
    let files: Vec<File> = files.iter().filter(|file| !is_for_programs(&file.path)).cloned().collect();
    package(out, &Package { architecture, ..PROGRAM }, &files)
}

/// Writes the package with the header; returns where.
pub(crate) fn write_development(out: &Path, files: &[File]) -> io::Result<PathBuf> {
    let files: Vec<File> = files.iter().filter(|file| is_for_programs(&file.path)).cloned().collect();
    package(out, &DEVELOPMENT, &files)
}

fn package(out: &Path, package: &Package, files: &[File]) -> io::Result<PathBuf> {
    let at = moment()?;
    // Debian wants manual pages compressed, and has licences in one file.
    let kept = files.iter().filter(|file| !file.path.contains("/LICENSE-"));
    let mut files: Vec<File> = kept.map(debian).collect::<io::Result<_>>()?;
    files.extend(of_debian(package, at)?);
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let control = control(package, &files, at)?;
    let data = data(&files, at)?;
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in
        [("debian-binary", b"2.0\n".to_vec()), ("control.tar.gz", control), ("data.tar.gz", data)]
    {
        member(&mut bytes, name, &content, at);
    }
    let path = out.join(format!("{}_{VERSION}_{}.deb", package.name, package.architecture));
    fs::write(&path, bytes)?;
    Ok(path)
}

/// What each package has for Debian: who may do what, what has changed, and why a check does not apply.
fn of_debian(package: &Package, at: u64) -> io::Result<Vec<File>> {
    let name = package.name;
    let of = |path: String, bytes: Vec<u8>| File { path, bytes, is_program: false };
    let date = date(at)?;
    let changelog = format!(
        "howlate ({VERSION}) unstable; urgency=medium\n\n  * What has changed is in CHANGELOG.md of the program's package.\n\n \
         -- {MAINTAINER}  {date}\n"
    );
    let mut files = vec![
        of(
            format!("share/doc/{name}/copyright"),
            include_bytes!("../../../packaging/debian/copyright").to_vec(),
        ),
        of(format!("share/doc/{name}/changelog.gz"), gzip(changelog.as_bytes())?),
    ];
    if name == PROGRAM.name {
        let why = "# It has to run in containers and initramfs that have nothing else.\nhowlate: statically-linked-binary [usr/bin/howlate]\n";
        files.push(of("share/lintian/overrides/howlate".to_owned(), why.as_bytes().to_vec()));
    }
    Ok(files)
}

/// `Tue, 24 Nov 2026 22:00:00 +0000`
fn date(at: u64) -> io::Result<String> {
    let seconds = i64::try_from(at).map_err(io::Error::other)?;
    let at = jiff::Timestamp::from_second(seconds).map_err(io::Error::other)?;
    Ok(at.strftime("%a, %d %b %Y %H:%M:%S +0000").to_string())
}

const MAINTAINER: &str = "The howlate authors <howlate@users.noreply.github.com>";

fn debian(file: &File) -> io::Result<File> {
    if !file.path.starts_with("share/man/") {
        return Ok(file.clone());
    }
    Ok(File { path: format!("{}.gz", file.path), bytes: gzip(&file.bytes)?, is_program: false })
}

/// A file of the archive: a line of 60 letters, then its bytes, padded to an even number.
fn member(archive: &mut Vec<u8>, name: &str, content: &[u8], at: u64) {
    archive
        .extend(format!("{name:<16}{at:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", content.len()).bytes());
    archive.extend(content);
    if content.len() % 2 == 1 {
        archive.push(b'\n');
    }
}

fn control(package: &Package, files: &[File], at: u64) -> io::Result<Vec<u8>> {
    let Package { name, architecture, fields, description } = package;
    let kibibytes = files.iter().map(|file| file.bytes.len().div_ceil(1_024)).sum::<usize>();
    let control = format!(
        "Package: {name}\nVersion: {VERSION}\nArchitecture: {architecture}\nMaintainer: {MAINTAINER}\nInstalled-Size: {kibibytes}\n\
         Priority: optional\nHomepage: https://github.com/howlate/howlate\n{fields}Description: {description}"
    );
    let mut archive = tar::Builder::new(Vec::new());
    folder(&mut archive, "./", at)?;
    let file = File { path: "control".into(), bytes: control.into_bytes(), is_program: false };
    append(&mut archive, "./control", &file, at)?;
    gzip(&archive.into_inner()?)
}

fn data(files: &[File], at: u64) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for path in folders(files) {
        folder(&mut archive, &path, at)?;
    }
    for file in files {
        append(&mut archive, &format!("./usr/{}", file.path), file, at)?;
    }
    gzip(&archive.into_inner()?)
}

/// Every folder that the files are in, outermost first.
fn folders(files: &[File]) -> BTreeSet<String> {
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

    /// As `apt` and Debian's archive would have it: without an error of lintian. A warning is no reason for not having a package.
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
        // A program that is linked statically: any will do.
        let source = folder.path().join("p.c");
        fs::write(&source, "int main(void) { return 0; }\n").unwrap();
        let program = folder.path().join("p");
        let built =
            Command::new("cc").args(["-static", "-s", "-O2", "-o"]).args([&program, &source]).status();
        if !built.is_ok_and(|status| status.success()) {
            return howlate_testing::skip("no static program can be built");
        }
        let beside = files::beside(&root, &howlate).unwrap();
        let files = files::all(&root, &beside, fs::read(program).unwrap()).unwrap();
        let packages = [
            write(folder.path(), "x86_64", &files).unwrap(),
            write_development(folder.path(), &files).unwrap(),
        ];
        for package in packages {
            let mut lintian = Command::new("lintian");
            lintian.args(["--fail-on", "error", "--no-tag-display-limit", "--allow-root"]).arg(&package);
            let output = lintian.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(
                output.status.success(),
                "{}: {said}{}",
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
            File { path: "bin/howlate".into(), bytes: b"#!/bin/sh\n".to_vec(), is_program: true },
            File {
                path: "share/man/man1/howlate.1".into(),
                bytes: b".TH howlate\n".to_vec(),
                is_program: false,
            },
        ];
        let path = write(folder.path(), "x86_64", &files).unwrap();
        let said = |option: &str| {
            let output = Command::new("dpkg-deb").arg(option).arg(&path).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        assert!(said("--info").contains("Architecture: amd64"));
        let contents = said("--contents");
        assert!(contents.contains(" ./usr/bin/\n"), "{contents}");
        assert!(contents.contains("-rwxr-xr-x") && contents.contains(" ./usr/bin/howlate\n"), "{contents}");
        assert!(contents.contains(" ./usr/share/man/man1/howlate.1.gz\n"), "{contents}");
        assert_eq!(write(folder.path(), "x86_64", &files).unwrap(), path);
    }
}
