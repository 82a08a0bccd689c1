//! Joining neighbouring blocks of long recordings, so that reading stays fast.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use howlate_model::{Block, Line};
use tempfile::NamedTempFile;

use crate::Reader;

/// The new state of a recording.
pub(crate) struct Compacted {
    pub(crate) file: File,
    pub(crate) length: u64,
    pub(crate) blocks: usize,
}

/// Rewrites the recording at `path` with pairs of blocks joined. The old file stays
/// until the new one is complete, so a crash loses nothing.
pub(crate) fn in_place(path: &Path) -> io::Result<Compacted> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut out = Joining::new(NamedTempFile::new_in(folder)?);
    let reader = Reader::open(path).map_err(io::Error::other)?;
    out.line(&Line::Header(Box::new(reader.header().clone())))?;
    for line in reader {
        out.line(&line.map_err(io::Error::other)?)?;
    }
    let (temporary, blocks) = out.finish()?;
    let permissions = std::fs::metadata(path)?.permissions();
    temporary.as_file().set_permissions(permissions)?;
    let mut file = temporary.persist(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    Ok(Compacted { file, length, blocks })
}

/// Writes lines, but each block together with the next of the same condition and round.
struct Joining {
    out: BufWriter<NamedTempFile>,
    waiting: HashMap<(u32, u32), Box<Block>>,
    blocks: usize,
}

impl Joining {
    fn new(file: NamedTempFile) -> Self {
        Self { out: BufWriter::new(file), waiting: HashMap::new(), blocks: 0 }
    }

    fn line(&mut self, line: &Line) -> io::Result<()> {
        match line {
            Line::Block(block) => self.block(block),
            Line::Finished(finished) => {
                if let Some(block) = self.waiting.remove(&(finished.condition, finished.round)) {
                    self.write_block(block)?;
                }
                self.write(line)
            }
            Line::End(_) => {
                self.flush_waiting()?;
                self.write(line)
            }
            Line::Header(_) | Line::Started(_) | Line::Caveat(_) => self.write(line),
        }
    }

    fn block(&mut self, block: &Block) -> io::Result<()> {
        let key = (block.condition, block.round);
        match self.waiting.remove(&key) {
            None => {
                self.waiting.insert(key, Box::new(block.clone()));
                Ok(())
            }
            Some(mut earlier) => {
                earlier.merge(block);
                self.write_block(earlier)
            }
        }
    }

    fn flush_waiting(&mut self) -> io::Result<()> {
        let mut waiting: Vec<_> = self.waiting.drain().map(|(_, block)| block).collect();
        waiting.sort_by_key(|block| block.from_ns);
        waiting.into_iter().try_for_each(|block| self.write_block(block))
    }

    fn write_block(&mut self, block: Box<Block>) -> io::Result<()> {
        self.blocks += 1;
        self.write(&Line::Block(block))
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")
    }

    fn finish(mut self) -> io::Result<(NamedTempFile, usize)> {
        self.flush_waiting()?;
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_data()?;
        Ok((file, self.blocks))
    }
}
