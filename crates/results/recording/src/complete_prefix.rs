//! Complete lines of a recording that another process truncated.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Read buffer in bytes.
const PIECE: usize = 1 << 16;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CompletePrefix {
    pub(crate) lines: u64,
    /// Their length in bytes.
    pub(crate) length: u64,
}

impl CompletePrefix {
    /// Complete lines within the first `until` bytes.
    pub(crate) fn read(file: &File, until: u64) -> io::Result<Self> {
        let (mut prefix, mut at, mut piece) = (Self::default(), 0, vec![0; PIECE]);
        while at < until {
            let most =
                usize::try_from(until.saturating_sub(at)).map_or(PIECE, |remaining| remaining.min(PIECE));
            let bytes = file.read_at(&mut piece[..most], at)?;
            if bytes == 0 {
                break;
            }
            for end in piece[..bytes]
                .iter()
                .zip(at.saturating_add(1)..)
                .filter(|(byte, _)| **byte == b'\n')
                .map(|(_, end)| end)
            {
                prefix = Self { lines: prefix.lines.saturating_add(1), length: end };
            }
            at = at.saturating_add(bytes as u64);
        }
        Ok(prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_lines_count() {
        let long = "x".repeat(2 * PIECE);
        for (text, until, lines, length) in [
            ("", 10, 0, 0),
            ("half", 4, 0, 0),
            ("one\ntwo\nhalf", 12, 2, 8),
            ("one\ntwo\n", 7, 1, 4),
            (&format!("{long}\n{long}"), u64::MAX, 1, 2 * PIECE as u64 + 1),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a");
            std::fs::write(&path, text).unwrap();
            let found = CompletePrefix::read(&File::open(path).unwrap(), until).unwrap();
            assert_eq!(found, CompletePrefix { lines, length });
        }
    }
}
