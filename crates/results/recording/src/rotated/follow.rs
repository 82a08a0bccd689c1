//! Follows what a recorder appends to its folder.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use howlate_model::Line;
use howlate_safe_path::foreign;

use super::files::{RotatedFile, segments};

/// Maximum bytes of a line; recorders write shorter ones.
const LONGEST: u64 = 16 << 20;

#[derive(Debug)]
pub struct FolderFollower {
    folder: PathBuf,
    /// Number and offset of the last line read.
    at: Option<(u64, u64)>,
}

impl FolderFollower {
    /// Starts after the existing lines.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn from_now(folder: &Path) -> io::Result<Self> {
        let mut follow = Self { folder: folder.to_owned(), at: None };
        follow.read(|_| {})?;
        Ok(follow)
    }

    /// Passes new complete lines to `each`.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn read(&mut self, mut each: impl FnMut(Line)) -> io::Result<()> {
        for file in segments(&self.folder)? {
            let from = match self.at {
                Some((number, _)) if file.number < number => continue,
                Some((number, offset)) if file.number == number => offset,
                _ => 0,
            };
            match read_from(&file, from, &mut each) {
                Ok(offset) => self.at = Some((file.number, offset)),
                // Removed in the meantime.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Reads complete lines from an offset; returns the offset of the next one.
fn read_from(segment: &RotatedFile, from: u64, each: &mut impl FnMut(Line)) -> io::Result<u64> {
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
        // Damage is reported by full reads.
        if let Ok(line) = serde_json::from_slice(&line) {
            each(line);
        }
    }
}
