//! A recording as comparisons need it: the distribution of every block, in order.

use howlate_model::{Block, Distribution, Header, Line, MonotonicTime, Span, WorstWakeup};

use crate::Analysis;

/// A recording with its blocks.
#[derive(Clone, Debug)]
pub struct Track {
    pub analysis: Analysis,
    /// The blocks of each condition, in the order in which they were recorded.
    pieces: Vec<Vec<Piece>>,
    /// Sum of all finished turns, and the end of the last one.
    turns_took: Span,
    last_end: Option<MonotonicTime>,
}

/// The parts of a block that comparisons need.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Number of the condition's turn that it belongs to.
    pub round: u32,
    pub from: MonotonicTime,
    pub until: MonotonicTime,
    /// Wake-ups that happened; the rest of `latency` was swallowed by late ones.
    pub happened: u64,
    /// Corrected for coordinated omission, like the values that limits are about.
    pub latency: Distribution,
    /// Only those that happened, if that differs.
    ran: Option<Distribution>,
    pub(crate) worst: Vec<WorstWakeup>,
}

impl Piece {
    fn from_block(block: &Block) -> Self {
        let mut latency = block.latency.packed();
        block.swallowed.iter().for_each(|swallowed| latency.merge(swallowed));
        Self {
            round: block.round,
            from: block.from,
            until: block.until,
            happened: block.latency.count(),
            latency,
            ran: block.swallowed.as_ref().map(|_| block.latency.packed()),
            worst: block.worst.clone(),
        }
    }

    /// The latencies of wake-ups that happened.
    pub(crate) fn ran(&self) -> &Distribution {
        self.ran.as_ref().unwrap_or(&self.latency)
    }
}

impl Track {
    /// Begins with a recording's first line.
    pub fn new(header: Header) -> Self {
        let pieces = vec![Vec::new(); header.conditions.len()];
        Self { analysis: Analysis::new(header), pieces, turns_took: Span::ZERO, last_end: None }
    }

    /// Length of all finished turns, with what lies between them; not the time in which a run was interrupted.
    pub const fn duration(&self) -> Span {
        self.turns_took
    }

    fn measure_time(&mut self, line: &Line) {
        match line {
            Line::Started(started) => self.last_end = self.last_end.or(Some(started.at)),
            Line::Finished(finished) => {
                let since = self.last_end.replace(finished.at).unwrap_or(finished.at);
                self.turns_took = self.turns_took.plus(finished.at.since(since));
            }
            Line::Resumed(_) => self.last_end = None,
            _ => {}
        }
    }

    /// Takes in one line.
    pub fn add(&mut self, line: &Line) {
        self.analysis.add(line);
        self.measure_time(line);
        self.pieces.resize(self.analysis.header.conditions.len(), Vec::new());
        let Line::Block(block) = line else { return };
        if let Some(pieces) = self.pieces.get_mut(block.condition as usize) {
            pieces.push(Piece::from_block(block));
        }
    }

    /// The blocks of each condition, in the header's order.
    pub fn blocks(&self) -> impl Iterator<Item = &[Piece]> {
        self.pieces.iter().map(Vec::as_slice)
    }

    /// The blocks of these conditions together, in order of time.
    pub(crate) fn pieces(&self, conditions: &[usize]) -> Vec<Piece> {
        let blocks_of = |condition: &usize| self.pieces.get(*condition).into_iter().flatten().cloned();
        let mut pieces: Vec<Piece> = conditions.iter().flat_map(blocks_of).collect();
        pieces.sort_by_key(|piece| piece.from);
        pieces
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::{Resumption, TurnFinished};

    use super::*;

    fn finished(at: i64) -> Line {
        let at_ns = MonotonicTime::from_nanos(at);
        let (condition, round) = (0, 0);
        Line::Finished(TurnFinished {
            condition,
            round,
            at: at_ns,
            usage: None,
            unfinished: false,
            load: None,
            error: None,
        })
    }

    // 100      130   150  resumed 9000   9010
    // |--turn--|-----|                   |    turns took 50; the begin of the first turn after an interruption is not recorded
    #[test]
    fn the_time_in_which_a_run_was_interrupted_is_not_that_of_its_turns() {
        let mut track = Track::new(crate::testing::analysis_of(&[]).header);
        [100, 130, 150].into_iter().for_each(|at| track.add(&finished(at)));
        assert_eq!(track.duration(), Span::from_nanos(50));
        let at_ns = MonotonicTime::from_nanos(9_000);
        track.add(&Line::Resumed(Resumption { at: at_ns, started: String::new() }));
        track.add(&finished(9_010));
        assert_eq!(track.duration(), Span::from_nanos(50));
        track.add(&finished(9_030));
        assert_eq!(track.duration(), Span::from_nanos(70));
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use howlate_model::Wakeup;

    /// A block of `round` that begins at `second` and lasts a second.
    pub(crate) fn piece(round: u32, second: u32, late: &[i64]) -> Piece {
        let at = |nanos: i64| MonotonicTime::from_nanos(i64::from(second) * 1_000_000_000 + nanos);
        let mut block = Block { round, from: at(0), until: at(1_000_000_000), ..Block::default() };
        late.iter().for_each(|late| block.record(Wakeup { expected: at(0), ran: at(*late) }, None));
        Piece::from_block(&block)
    }
}
