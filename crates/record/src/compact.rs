//! Joining neighbouring blocks of long recordings, so that reading stays fast.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use howlate_model::{Block, Line};

use crate::Reader;
use crate::rewrite::{Rewriting, Rewritten};

/// Rewrites the recording at `path` with pairs of blocks joined.
pub(crate) fn in_place(path: &Path) -> io::Result<Rewritten> {
    let reader = Reader::open(path).map_err(io::Error::other)?;
    let mut joining = Joining { out: Rewriting::begin(path, reader.header())?, waiting: HashMap::new() };
    for line in reader {
        joining.line(line.map_err(io::Error::other)?)?;
    }
    joining.flush_waiting()?;
    joining.out.replace(path)
}

/// Writes lines, but each block together with the next of the same condition and round.
struct Joining {
    out: Rewriting,
    waiting: HashMap<(u32, u32), Box<Block>>,
}

impl Joining {
    fn line(&mut self, line: Line) -> io::Result<()> {
        match &line {
            Line::Block(block) => return self.block(block),
            Line::Finished(finished) => {
                if let Some(block) = self.waiting.remove(&(finished.condition, finished.round)) {
                    self.out.write(&Line::Block(block))?;
                }
            }
            Line::End(_) => self.flush_waiting()?,
            _ => {}
        }
        self.out.write(&line)
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
                self.out.write(&Line::Block(earlier))
            }
        }
    }

    fn flush_waiting(&mut self) -> io::Result<()> {
        let mut waiting: Vec<_> = self.waiting.drain().map(|(_, block)| block).collect();
        waiting.sort_by_key(|block| block.from_ns);
        waiting.into_iter().try_for_each(|block| self.out.write(&Line::Block(block)))
    }
}
