//! Writing a recording anew. The old file stays until the new one is complete, so a crash
//! loses nothing.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use howlate_model::{Header, Line};
use tempfile::NamedTempFile;

/// Bytes that are written at a time.
const BUFFER: usize = 1 << 18;

/// What was late in a stretch, by cause, is as long as so many blocks: up to 300 kB.
pub(crate) const BLOCKS_OF_LEDGER: usize = 16;

/// For how many blocks a line counts.
pub(crate) const fn blocks_of(line: &Line) -> usize {
    match line {
        Line::Block(_) => 1,
        Line::Why(_) => BLOCKS_OF_LEDGER,
        _ => 0,
    }
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The new state of a recording, locked as the old one was.
pub(crate) struct Rewritten {
    pub(crate) file: File,
    pub(crate) length: u64,
    pub(crate) blocks: usize,
}

/// A recording that is to take the place of another.
pub(crate) struct Rewriting {
    out: BufWriter<NamedTempFile>,
    /// The line that is written.
    line: Vec<u8>,
    blocks: usize,
}

impl Rewriting {
    /// Begins one beside `path`.
    pub(crate) fn begin(path: &Path, header: &Header) -> io::Result<Self> {
        let folder = folder_of(path);
        let mut new = Self {
            out: BufWriter::with_capacity(BUFFER, howlate_safe_path::partial_in(folder)?),
            line: Vec::new(),
            blocks: 0,
        };
        new.write(&Line::Header(Box::new(header.clone())))?;
        Ok(new)
    }

    pub(crate) fn write(&mut self, line: &Line) -> io::Result<()> {
        self.blocks = self.blocks.saturating_add(blocks_of(line));
        self.line.clear();
        line.to_json(&mut self.line)?;
        self.line.push(b'\n');
        self.out.write_all(&self.line)
    }

    /// Puts it in the place of `path`.
    pub(crate) fn replace(self, path: &Path) -> io::Result<Rewritten> {
        let temporary = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        temporary.as_file().sync_data()?;
        temporary.as_file().set_permissions(std::fs::metadata(path)?.permissions())?;
        let mut file = temporary.persist(path)?;
        let length = file.seek(SeekFrom::End(0))?;
        Ok(Rewritten { file, length, blocks: self.blocks })
    }
}
