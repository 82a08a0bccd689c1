//! `howlate_VERSION_ARCHITECTURE.deb`: an archive of `ar`, as deb(5) has it, written here so that its bytes do not
//! depend on the machine's tools. Not cargo-deb: it would have to be built first, and this is two archives and five small files.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::files::File;
use super::tar::{append, folder, gzip};
use super::{VERSION, moment};

/// Writes it; returns where.
pub(crate) fn write(out: &Path, architecture: &str, files: &[File]) -> io::Result<PathBuf> {
    let architecture = if architecture == "x86_64" { "amd64" } else { "arm64" };
    let at = moment()?;
    // Debian wants manual pages compressed.
    let files: Vec<File> = files.iter().map(debian).collect::<io::Result<_>>()?;
    let control = control(architecture, &files, at)?;
    let data = data(&files, at)?;
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in
        [("debian-binary", b"2.0\n".to_vec()), ("control.tar.gz", control), ("data.tar.gz", data)]
    {
        member(&mut bytes, name, &content, at);
    }
    let path = out.join(format!("howlate_{VERSION}_{architecture}.deb"));
    fs::write(&path, bytes)?;
    Ok(path)
}

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

fn control(architecture: &str, files: &[File], at: u64) -> io::Result<Vec<u8>> {
    let kibibytes = files.iter().map(|file| file.bytes.len().div_ceil(1_024)).sum::<usize>();
    let control = format!(
        "Package: howlate\nVersion: {VERSION}\nArchitecture: {architecture}\nMaintainer: The howlate authors <howlate@users.noreply.github.com>\n\
         Installed-Size: {kibibytes}\nSection: utils\nPriority: optional\nHomepage: https://github.com/howlate/howlate\n\
         Suggests: stress-ng, rt-tests, qemu-system-x86\n\
         Description: tells how late Linux runs your code, and why\n \
         Measures how late sleeps return, how late periodic threads wake, and how long\n \
         one process takes to notify another; explains the lateness it found; and takes\n \
         the command line of cyclictest. One static program, no set-up.\n"
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
    use super::*;
    use std::process::Command;

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
