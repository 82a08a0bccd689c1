//! Joins neighbouring blocks and ledgers of long recordings, so that reading stays fast.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;

use howlate_model::{Block, CauseBlock, Line, LoadBlock};

use crate::Reader;
use crate::rewrite::{Rewrite, RewrittenFile};

/// Rewrites the recording at `path` with pairs of blocks joined.
pub(crate) fn in_place(path: &Path) -> io::Result<RewrittenFile> {
    let reader = Reader::open(path).map_err(io::Error::other)?;
    let mut joiner = BlockJoiner {
        out: Rewrite::begin(path, reader.header())?,
        waiting: HashMap::new(),
        waiting_why: BTreeMap::new(),
        waiting_load: None,
    };
    for line in reader {
        joiner.line(line.map_err(io::Error::other)?)?;
    }
    joiner.flush_waiting()?;
    joiner.out.replace(path)
}

/// Joins each block and ledger with the next of the same condition and round.
struct BlockJoiner {
    out: Rewrite,
    waiting: HashMap<(u32, u32), Box<Block>>,
    waiting_why: BTreeMap<(u32, u32), Box<CauseBlock>>,
    waiting_load: Option<LoadBlock>,
}

impl BlockJoiner {
    fn line(&mut self, line: Line) -> io::Result<()> {
        match &line {
            Line::Block(block) => return self.block(block),
            Line::Load(load) => return self.load(load),
            Line::Why(why) => return self.why(why),
            // The order of lines tells the last turn, so write ledgers first.
            Line::Started(_) => self.flush_why()?,
            Line::Finished(finished) => {
                if let Some(block) = self.waiting.remove(&(finished.condition, finished.round)) {
                    self.out.write(&Line::Block(block))?;
                }
            }
            Line::End(_) | Line::BootEnded(_) => self.flush_waiting()?,
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

    fn why(&mut self, why: &CauseBlock) -> io::Result<()> {
        match self.waiting_why.remove(&(why.condition, why.round)) {
            None => {
                self.waiting_why.insert((why.condition, why.round), Box::new(why.clone()));
                Ok(())
            }
            Some(mut earlier) => {
                earlier.ledger.merge(&why.ledger);
                earlier.until = why.until;
                self.out.write(&Line::Why(earlier))
            }
        }
    }

    fn flush_why(&mut self) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.waiting_why);
        waiting.into_values().try_for_each(|why| self.out.write(&Line::Why(why)))
    }

    /// Joins load blocks of one turn.
    fn load(&mut self, load: &LoadBlock) -> io::Result<()> {
        let same_turn = |other: &LoadBlock| other.conditions == load.conditions && other.round == load.round;
        match self.waiting_load.take() {
            Some(mut earlier) if same_turn(&earlier) => {
                earlier.merge(load);
                self.out.write(&Line::Load(earlier))
            }
            earlier => {
                self.waiting_load = Some(load.clone());
                earlier.map_or(Ok(()), |earlier| self.out.write(&Line::Load(earlier)))
            }
        }
    }

    fn flush_waiting(&mut self) -> io::Result<()> {
        if let Some(load) = self.waiting_load.take() {
            self.out.write(&Line::Load(load))?;
        }
        self.flush_why()?;
        let mut waiting: Vec<_> = self.waiting.drain().map(|(_, block)| block).collect();
        waiting.sort_by_key(|block| block.from);
        waiting.into_iter().try_for_each(|block| self.out.write(&Line::Block(block)))
    }
}
