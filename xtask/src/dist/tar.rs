//! `howlate-VERSION-ARCHITECTURE-linux.tar.gz`: unpack it anywhere, or below `/usr/local`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::files::File;
use super::{VERSION, moment};

/// Writes it; returns where.
pub(crate) fn write(out: &Path, architecture: &str, files: &[File]) -> io::Result<PathBuf> {
    let name = format!("howlate-{VERSION}-{architecture}-linux");
    let at = moment()?;
    let mut archive = tar::Builder::new(Vec::new());
    for file in files {
        append(&mut archive, &format!("{name}/{}", file.path), file, at)?;
    }
    let path = out.join(format!("{name}.tar.gz"));
    fs::write(&path, gzip(&archive.into_inner()?)?)?;
    Ok(path)
}

/// Adds a file that belongs to root and is of `at`.
pub(crate) fn append(
    archive: &mut tar::Builder<Vec<u8>>,
    path: &str,
    file: &File,
    at: u64,
) -> io::Result<()> {
    let mut header = header(path, at)?;
    header.set_size(file.bytes.len() as u64);
    header.set_mode(if file.is_program { 0o755 } else { 0o644 });
    header.set_entry_type(tar::EntryType::Regular);
    header.set_cksum();
    archive.append(&header, file.bytes.as_slice())
}

/// Adds a folder.
pub(crate) fn folder(archive: &mut tar::Builder<Vec<u8>>, path: &str, at: u64) -> io::Result<()> {
    let mut header = header(path, at)?;
    header.set_size(0);
    header.set_mode(0o755);
    header.set_entry_type(tar::EntryType::Directory);
    header.set_cksum();
    archive.append(&header, io::empty())
}

/// With the path as it is written: the library would leave out the `./` that Debian's packages begin their paths with.
fn header(path: &str, at: u64) -> io::Result<tar::Header> {
    let mut header = tar::Header::new_gnu();
    header.set_mtime(at);
    let name = &mut header.as_old_mut().name;
    let place = name.get_mut(..path.len()).ok_or_else(|| io::Error::other(format!("{path} is too long")))?;
    place.copy_from_slice(path.as_bytes());
    Ok(header)
}

/// Compressed, without the name and the time that a gzip file may hold.
pub(crate) fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    out.write_all(bytes)?;
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_give_the_same_bytes() {
        let file = File { path: "bin/howlate".into(), bytes: b"program".to_vec(), is_program: true };
        let once = || {
            let mut archive = tar::Builder::new(Vec::new());
            append(&mut archive, "a/bin/howlate", &file, 7).unwrap();
            gzip(&archive.into_inner().unwrap()).unwrap()
        };
        assert_eq!(once(), once());
        let unpacked = flate2::read::GzDecoder::new(io::Cursor::new(once()));
        let mut archive = tar::Archive::new(unpacked);
        let entry = archive.entries().unwrap().next().unwrap().unwrap();
        assert_eq!((entry.header().mode().unwrap(), entry.header().mtime().unwrap()), (0o755, 7));
    }
}
