//! What a recorder appends to its folder, line by line, from one look to the next.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use howlate_model::Line;
use howlate_safe_path::foreign;

use super::files::{Segment, segments};

/// Longest line that is read; no recorder writes such a one.
const LONGEST: u64 = 16 << 20;

/// Follows the recording of a folder.
#[derive(Debug)]
pub struct Follow {
    folder: PathBuf,
    /// The file that was read last, and how far.
    at: Option<(u64, u64)>,
}

impl Follow {
    /// From now on: what is in the folder already is not read.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn from_now(folder: &Path) -> io::Result<Self> {
        let mut follow = Self { folder: folder.to_owned(), at: None };
        follow.read(|_| {})?;
        Ok(follow)
    }

    /// Hands on what was appended since the last time; a line that is not whole yet comes the next time.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn read(&mut self, mut each: impl FnMut(Line)) -> io::Result<()> {
        for one in segments(&self.folder)? {
            let from = match self.at {
                Some((number, _)) if one.number < number => continue,
                Some((number, offset)) if one.number == number => offset,
                _ => 0,
            };
            match read_from(&one, from, &mut each) {
                Ok(offset) => self.at = Some((one.number, offset)),
                // It made room meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Reads whole lines from an offset on; returns where the next one begins.
fn read_from(segment: &Segment, from: u64, each: &mut impl FnMut(Line)) -> io::Result<u64> {
    let mut file = foreign::open_file_nofollow(&segment.path)?;
    let mut at = file.seek(SeekFrom::Start(from))?;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = (&mut reader).take(LONGEST).read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            return Ok(at);
        }
        at = at.saturating_add(length as u64);
        // Whoever reads all of it tells of damage.
        if let Ok(line) = serde_json::from_slice(&line) {
            each(line);
        }
    }
}
