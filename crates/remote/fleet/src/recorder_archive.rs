//! The folder of a recorder, as a node hands it over: a tar archive. Nothing of it is trusted.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use tar::Archive;

/// Where the recording's lock and list of threads are; other names that begin with a dot are not its.
const HIDDEN: &str = ".howlate-record";

/// Puts the plain files of the archive's top into `folder`; whatever else it has is left out: folders, links, devices, and names
/// that lead elsewhere.
///
/// # Errors
///
/// When it is no archive, or a file cannot be written.
pub(crate) fn unpack(archive: impl Read, folder: &Path) -> io::Result<()> {
    for entry in Archive::new(archive).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let Some(name) = name(&path).filter(|_| entry.header().entry_type().is_file()) else { continue };
        let mut file = File::create_new(folder.join(name))?;
        io::copy(&mut entry, &mut file)?;
    }
    Ok(())
}

/// The name of a file at the top that can be a recorder's.
fn name(path: &Path) -> Option<&str> {
    let name = path.strip_prefix(".").unwrap_or(path).to_str()?;
    (name == HIDDEN || !name.starts_with('.') && !name.contains('/')).then_some(name)
}

/// Puts what a node's recorder has left where `place` says, as a whole or not at all; what was there is replaced.
///
/// # Errors
///
/// As [`unpack`] says.
pub(crate) fn keep(archive: &Path, place: &Path) -> io::Result<()> {
    let beside = place.parent().unwrap_or(Path::new("."));
    let new = tempfile::tempdir_in(beside)?;
    unpack(File::open(archive)?, new.path())?;
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::rename(new.keep(), place)
}

#[cfg(test)]
mod tests {
    use tar::{Builder, EntryType, Header};

    use super::*;

    fn entry(archive: &mut Builder<Vec<u8>>, name: &str, kind: EntryType, text: &str) {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(text.len() as u64);
        header.set_mode(0o4777);
        // The path as it is: the library would refuse to write such ones.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        if kind == EntryType::Symlink {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        archive.append(&header, text.as_bytes()).unwrap();
    }

    fn archive(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
        let mut archive = Builder::new(Vec::new());
        entries.iter().for_each(|(name, kind, text)| entry(&mut archive, name, *kind, text));
        archive.into_inner().unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_kept_and_nothing_leads_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let file = EntryType::Regular;
        let hostile = archive(&[
            ("./", EntryType::Directory, ""),
            ("./1.jsonl", file, "{}"),
            ("./.howlate-record", file, ""),
            ("../../up.jsonl", file, "x"),
            ("/abs.jsonl", file, "x"),
            ("./.bashrc", file, "x"),
            ("./link.jsonl", EntryType::Symlink, ""),
            ("./below/2.jsonl", file, "x"),
        ]);
        unpack(hostile.as_slice(), folder.path()).unwrap();
        assert_eq!(names(folder.path()), [".howlate-record", "1.jsonl"]);
        assert!(folder.path().join("1.jsonl").metadata().unwrap().is_file());
    }

    #[test]
    fn half_an_archive_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (sent, place) = (folder.path().join("sent"), folder.path().join("n1"));
        let whole =
            archive(&[("1.jsonl", EntryType::Regular, "{}"), ("1.jsonl.x", EntryType::Regular, "long")]);
        fs::write(&sent, &whole).unwrap();
        keep(&sent, &place).unwrap();
        assert_eq!(names(&place), ["1.jsonl", "1.jsonl.x"]);
        fs::write(&sent, &whole[..1_300]).unwrap();
        assert!(keep(&sent, &place).is_err());
        assert_eq!(
            (names(&place).len(), names(folder.path())),
            (2, vec!["n1".to_owned(), "sent".to_owned()])
        );
    }
}
