//! Reading of untrusted input with limits.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

/// Maximum bytes of a line: ten thousand conditions, or a turn's hundred thousand wake-ups in order, take three MiB.
pub(crate) const LONGEST_LINE: usize = 8 << 20;

/// Result of reading a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineRead {
    End,
    /// A line, with its newline unless the file ends without one.
    Line,
    /// The line exceeds the limit; its beginning was read.
    TooLong,
}

/// Appends the next line to `into`, up to `most` bytes including its newline.
///
/// # Errors
///
/// The kernel's.
pub fn read_line_within(from: &mut impl BufRead, most: usize, into: &mut Vec<u8>) -> io::Result<LineRead> {
    let read = from.take(most as u64).read_until(b'\n', into)?;
    Ok(match read {
        0 => LineRead::End,
        _ if read == most && into.last() != Some(&b'\n') => LineRead::TooLong,
        _ => LineRead::Line,
    })
}

/// Reads a text file of at most `most` bytes, without blocking on endless devices.
///
/// # Errors
///
/// The kernel's; [`io::ErrorKind::FileTooLarge`] when there is more, [`io::ErrorKind::InvalidData`] when
/// it is not UTF-8.
pub fn read_text_within(path: &Path, most: u64) -> io::Result<String> {
    text_within(File::open(path)?, most)
}

/// [`read_text_within`] of an open file.
pub(crate) fn text_within(file: File, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let message = format!("it is longer than {}, the most that is read", size(most));
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// `8 MiB`, `64 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{} KiB", bytes >> 10),
        mebibytes => format!("{mebibytes} MiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_up_to_their_limit() {
        let mut text: &[u8] = b"four\n12345\n123456\nend";
        let mut next = || {
            let mut line = Vec::new();
            let read = read_line_within(&mut text, 6, &mut line).unwrap();
            (read, String::from_utf8(line).unwrap())
        };
        assert_eq!(next(), (LineRead::Line, "four\n".into()));
        assert_eq!(next(), (LineRead::Line, "12345\n".into()));
        assert_eq!(next(), (LineRead::TooLong, "123456".into()));
        assert_eq!(next(), (LineRead::Line, "\n".into()));
        assert_eq!(next(), (LineRead::Line, "end".into()));
        assert_eq!(next(), (LineRead::End, String::new()));
    }

    #[test]
    fn a_device_that_never_ends_is_not_read_for_ever() {
        let error = read_text_within(Path::new("/dev/zero"), 1 << 20).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert!(error.to_string().contains("longer than 1 MiB"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "four").unwrap();
        assert_eq!(read_text_within(&path, 4).unwrap(), "four");
        assert!(read_text_within(&path, 3).is_err());
    }
}
