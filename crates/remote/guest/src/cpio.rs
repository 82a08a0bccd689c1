//! Archives in the `newc` format, which the kernel unpacks as its first file system.
//!
//! Source: `Documentation/driver-api/early-userspace/buffer-format.rst`.

/// Bits of `st_mode` that say what an entry is.
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const DEVICE: u32 = 0o020_000;

/// An archive in memory. Folders come before what is in them.
#[derive(Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    folders: Vec<String>,
    entries: u32,
}

impl Archive {
    /// Adds a file with its path from the root, and the folders that lead to it.
    pub(crate) fn file(&mut self, path: &str, permissions: u32, content: &[u8]) {
        let path = path.trim_start_matches('/');
        for (end, _) in path.match_indices('/') {
            self.folder(&path[..end]);
        }
        self.entry(path, FILE | permissions, (0, 0), content);
    }

    /// Adds an empty folder.
    pub(crate) fn folder(&mut self, path: &str) {
        let path = path.trim_start_matches('/');
        if !self.folders.iter().any(|folder| folder == path) {
            self.folders.push(path.to_owned());
            self.entry(path, FOLDER | 0o755, (0, 0), &[]);
        }
    }

    /// Adds a character device.
    pub(crate) fn device(&mut self, path: &str, number: (u32, u32)) {
        self.entry(path.trim_start_matches('/'), DEVICE | 0o600, number, &[]);
    }

    /// The whole archive.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.entries += 1;
        let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        // inode, mode, uid, gid, links, mtime, size, device major and minor, special major and
        // minor, length of the name with its end, checksum (unused)
        let fields = [
            self.entries,
            mode,
            0,
            0,
            1,
            0,
            length(content.len()),
            0,
            0,
            device.0,
            device.1,
            length(name.len() + 1),
            0,
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    /// Everything begins at a multiple of four.
    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_110_bytes_a_name_and_aligned_content() {
        let mut archive = Archive::default();
        archive.file("/init", 0o755, b"abc");
        let bytes = archive.finish();
        assert_eq!(&bytes[..6], b"070701");
        assert_eq!(&bytes[14..22], b"000081ED", "a file, rwxr-xr-x");
        assert_eq!(&bytes[54..62], b"00000003", "three bytes");
        assert_eq!(&bytes[94..102], b"00000005", "init and its end");
        assert_eq!(&bytes[110..115], b"init\0");
        assert_eq!(&bytes[116..120], b"abc\0");
        assert_eq!(&bytes[120..126], b"070701");
        assert_eq!(bytes.len() % 4, 0);
    }

    #[test]
    fn folders_come_once_and_before_their_files() {
        let mut archive = Archive::default();
        archive.file("a/b/c", 0o644, b"");
        archive.file("a/b/d", 0o644, b"");
        let text = String::from_utf8(archive.finish()).unwrap();
        let names = ["a\0", "a/b\0", "a/b/c\0", "a/b/d\0", "TRAILER!!!\0"];
        assert_eq!(text.matches("070701").count(), names.len());
        assert!(text.find("a/b\0").unwrap() < text.find("a/b/c\0").unwrap());
    }
}
