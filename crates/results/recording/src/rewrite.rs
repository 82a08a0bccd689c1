//! Rewriting of a recording. The old file stays until the new one is complete, so a crash loses nothing.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use howlate_model::{Header, Line};
use tempfile::NamedTempFile;

/// Write buffer in bytes.
const BUFFER: usize = 1 << 18;

/// A ledger counts as this many blocks: up to 300 kB.
pub(crate) const BLOCKS_OF_LEDGER: usize = 16;

/// Number of blocks that a line counts as.
pub(crate) const fn blocks_of(line: &Line) -> usize {
    match line {
        Line::Block(_) => 1,
        Line::Why(_) => BLOCKS_OF_LEDGER,
        _ => 0,
    }
}

/// Folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The replaced file, locked like the old one.
pub(crate) struct RewrittenFile {
    pub(crate) file: File,
    pub(crate) length: u64,
    pub(crate) blocks: usize,
}

/// A new version of a recording, in a temporary file.
pub(crate) struct Rewrite {
    out: BufWriter<NamedTempFile>,
    /// Buffer for a line.
    line: Vec<u8>,
    blocks: usize,
}

impl Rewrite {
    /// Starts a new version of `path`.
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

    pub(crate) fn replace(self, path: &Path) -> io::Result<RewrittenFile> {
        let temporary = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        temporary.as_file().sync_data()?;
        temporary.as_file().set_permissions(std::fs::metadata(path)?.permissions())?;
        let mut file = temporary.persist(path)?;
        let length = file.seek(SeekFrom::End(0))?;
        Ok(RewrittenFile { file, length, blocks: self.blocks })
    }
}
