//! Resuming of interrupted recordings.

use std::collections::HashSet;
use std::io;
use std::mem::take;
use std::path::Path;

use howlate_model::{EndReason, Header, Line, RecordingEnd};

use crate::lock;
use crate::rewrite::{Rewrite, RewrittenFile};
use crate::{ReadError, Reader};

/// Condition index and round.
pub type TurnId = (u32, u32);

/// Completed part of a recording.
#[derive(Debug)]
pub struct RecordingProgress {
    pub header: Header,
    /// Completed turns. Turns cut at their limit count, turns during an interruption do not.
    pub finished: HashSet<TurnId>,
}

/// Reads which turns are complete.
///
/// # Errors
///
/// When it is no recording, or damaged.
pub fn progress(path: &Path) -> Result<RecordingProgress, ReadError> {
    let mut reader = Reader::open(path)?;
    let mut progress = RecordingProgress { header: reader.header().clone(), finished: HashSet::new() };
    let (mut last_turn, mut is_over) = (Vec::new(), false);
    for line in reader.by_ref() {
        match line? {
            Line::Started(started) => {
                if take(&mut is_over) {
                    last_turn.clear();
                }
                last_turn.push((started.condition, started.round));
            }
            Line::Finished(finished) => {
                is_over = true;
                progress.finished.insert((finished.condition, finished.round));
            }
            // A traced turn has no other line.
            Line::Why(why) => {
                last_turn.push((why.condition, why.round));
                progress.finished.insert((why.condition, why.round));
            }
            Line::End(RecordingEnd { how, .. }) if how != EndReason::Done => {
                progress.finished.retain(|turn| !last_turn.contains(turn));
            }
            _ => {}
        }
    }
    Ok(progress)
}

/// Rewrites the recording at `path` without its end and the turns that `keep` rejects.
pub(crate) fn in_place(path: &Path, keep: &dyn Fn(TurnId) -> bool) -> io::Result<(Header, RewrittenFile)> {
    // Held until the new file, locked itself, is in place.
    let _lock = lock::open(path)?;
    let reader = Reader::open(path).map_err(io::Error::other)?;
    let header = reader.header().clone();
    let mut out = Rewrite::begin(path, &header)?;
    for line in reader {
        let line = line.map_err(io::Error::other)?;
        if stays(&line, keep) {
            out.write(&line)?;
        }
    }
    Ok((header, out.replace(path)?))
}

fn stays(line: &Line, keep: &dyn Fn(TurnId) -> bool) -> bool {
    !matches!(line, Line::End(_)) && line.turns().all(keep)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Writer;
    use crate::reader::testing::{block, header};
    use howlate_model::{EffectiveSettings, MonotonicTime, Policy, Span, TurnFinished, TurnStarted};

    fn started(condition: u32, round: u32) -> Line {
        let in_force = EffectiveSettings {
            tid: 1,
            policy: Policy::OTHER,
            slack: Span::ZERO,
            cpus: "0".parse().unwrap(),
            memory_locked: false,
            dma_latency_us: None,
            slice: None,
        };
        let at = MonotonicTime::default();
        Line::Started(TurnStarted {
            condition,
            round,
            at,
            in_force,
            sender_in_force: None,
            runtime: None,
            warm_up: None,
            caveats: vec![],
        })
    }

    fn finished(condition: u32, round: u32, unfinished: bool) -> Line {
        let at = MonotonicTime::default();
        let finished =
            TurnFinished { condition, round, at, usage: None, unfinished, load: None, error: None };
        Line::Finished(finished)
    }

    /// Two complete turns, the second cut at its limit, and a third that ends with `ends`.
    fn interrupted(path: &Path, ends: &[Line]) {
        let mut writer = Writer::create(path, &header(3)).unwrap();
        for condition in 0..3 {
            writer.write(&started(condition, 0));
            writer.write(&Line::Block(Box::new(block(condition, 0, 50))));
            if condition < 2 {
                writer.write(&finished(condition, 0, condition == 1));
            }
        }
        ends.iter().for_each(|line| writer.write(line));
        writer.close();
    }

    fn end() -> Line {
        Line::End(RecordingEnd { at: MonotonicTime::default(), how: EndReason::Interrupted })
    }

    #[test]
    fn an_interrupted_turn_is_taken_again_and_a_cut_one_is_not() {
        for ends in [vec![], vec![finished(2, 0, false), end()]] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.jsonl");
            interrupted(&path, &ends);
            let done = progress(&path).unwrap().finished;
            assert_eq!(done, HashSet::from([(0, 0), (1, 0)]));

            let mut writer = Writer::resume(&path, &|turn| done.contains(&turn)).unwrap();
            writer.write(&Line::Block(Box::new(block(2, 0, 70))));
            writer.close();
            let lines: Vec<Line> = Reader::open(&path).unwrap().map(Result::unwrap).collect();
            let blocks =
                lines.iter().filter(|line| matches!(line, Line::Block(block) if block.condition == 2));
            assert_eq!((blocks.count(), lines.len()), (1, 7));
            assert!(!lines.iter().any(|line| matches!(line, Line::End(_))));
        }
    }
}
