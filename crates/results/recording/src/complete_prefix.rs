//! What is left of a recording that somebody else has cut while it was written.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes that are read at a time.
const PIECE: usize = 1 << 16;

/// The complete lines at the beginning of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remains {
    /// How many there are.
    pub(crate) lines: u64,
    /// How long they are together.
    pub(crate) length: u64,
}

impl Remains {
    /// Those of the first `until` bytes.
    pub(crate) fn read(file: &File, until: u64) -> io::Result<Self> {
        let (mut remains, mut at, mut piece) = (Self::default(), 0, vec![0; PIECE]);
        while at < until {
            let most = usize::try_from(until.saturating_sub(at)).map_or(PIECE, |left| left.min(PIECE));
            let got = file.read_at(&mut piece[..most], at)?;
            if got == 0 {
                break;
            }
            for end in piece[..got]
                .iter()
                .zip(at.saturating_add(1)..)
                .filter(|(byte, _)| **byte == b'\n')
                .map(|(_, end)| end)
            {
                remains = Self { lines: remains.lines.saturating_add(1), length: end };
            }
            at = at.saturating_add(got as u64);
        }
        Ok(remains)
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
            let found = Remains::read(&File::open(path).unwrap(), until).unwrap();
            assert_eq!(found, Remains { lines, length });
        }
    }
}
