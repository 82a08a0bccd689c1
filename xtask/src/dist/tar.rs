//! `howlate-VERSION-ARCHITECTURE-linux.tar.gz`, to be unpacked anywhere, or below `/usr/local`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::files::PackageFile;
use super::{VERSION, commit_time};

/// Writes the archive; returns its path.
pub(crate) fn write(out: &Path, architecture: &str, files: &[PackageFile]) -> io::Result<PathBuf> {
    let name = format!("howlate-{VERSION}-{architecture}-linux");
    let time = commit_time()?;
    let mut archive = tar::Builder::new(Vec::new());
    for file in files {
        append(&mut archive, &format!("{name}/{}", file.path), file, time)?;
    }
    let path = out.join(format!("{name}.tar.gz"));
    fs::write(&path, gzip(&archive.into_inner()?)?)?;
    Ok(path)
}

/// Adds a file that belongs to root; `time` in seconds since 1970.
pub(crate) fn append(
    archive: &mut tar::Builder<Vec<u8>>,
    path: &str,
    file: &PackageFile,
    time: u64,
) -> io::Result<()> {
    let mut header = header(path, time)?;
    header.set_size(file.bytes.len() as u64);
    header.set_mode(if file.is_program { 0o755 } else { 0o644 });
    header.set_entry_type(tar::EntryType::Regular);
    header.set_cksum();
    archive.append(&header, file.bytes.as_slice())
}

pub(crate) fn append_folder(archive: &mut tar::Builder<Vec<u8>>, path: &str, time: u64) -> io::Result<()> {
    let mut header = header(path, time)?;
    header.set_size(0);
    header.set_mode(0o755);
    header.set_entry_type(tar::EntryType::Directory);
    header.set_cksum();
    archive.append(&header, io::empty())
}

/// Copies the path verbatim: the library would drop the `./` with which paths in Debian's packages begin.
fn header(path: &str, time: u64) -> io::Result<tar::Header> {
    let mut header = tar::Header::new_gnu();
    header.set_mtime(time);
    let name = &mut header.as_old_mut().name;
    let place = name.get_mut(..path.len()).ok_or_else(|| io::Error::other(format!("{path} is too long")))?;
    place.copy_from_slice(path.as_bytes());
    Ok(header)
}

/// Compresses without file name and time, so that the bytes are reproducible.
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
        let file = PackageFile { path: "bin/howlate".into(), bytes: b"program".to_vec(), is_program: true };
        let compress = || {
            let mut archive = tar::Builder::new(Vec::new());
            append(&mut archive, "a/bin/howlate", &file, 7).unwrap();
            gzip(&archive.into_inner().unwrap()).unwrap()
        };
        assert_eq!(compress(), compress());
        let unpacked = flate2::read::GzDecoder::new(io::Cursor::new(compress()));
        let mut archive = tar::Archive::new(unpacked);
        let entry = archive.entries().unwrap().next().unwrap().unwrap();
        assert_eq!((entry.header().mode().unwrap(), entry.header().mtime().unwrap()), (0o755, 7));
    }
}
