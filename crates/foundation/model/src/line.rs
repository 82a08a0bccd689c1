//! The conditions, turns and times that each kind of line refers to. No match has a wildcard, so that a new kind of line is not
//! forgotten.

use std::slice::from_ref;

use crate::{Line, MonotonicTime};

/// A number in a line that is only meaningful within its recording.
#[derive(Debug)]
pub enum Reference<'a> {
    /// The index of a condition.
    Condition(&'a mut u32),
    /// Number of a condition's turn.
    Round(&'a mut u32),
    /// Number of the run's boot.
    Boot(&'a mut u32),
    /// A reading of the recording's clock.
    Time(&'a mut MonotonicTime),
    /// Offset added to another clock's readings, nanoseconds.
    Moved(&'a mut i64),
}

/// JSON is read and written here rather than in each crate: serde's code for all kinds of lines is a third of a megabyte, and would
/// be instantiated in each crate.
impl Line {
    /// Parses a line of a recording.
    ///
    /// # Errors
    ///
    /// If it is not JSON, or not a line of a recording.
    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Appends it to `text` as JSON, without a line break.
    ///
    /// # Errors
    ///
    /// If a value cannot be represented in JSON.
    pub fn to_json(&self, text: &mut Vec<u8>) -> serde_json::Result<()> {
        serde_json::to_writer(text, self)
    }
}

impl Line {
    /// Indices of the conditions that it belongs to; for a load, of all conditions measured meanwhile.
    pub fn conditions(&self) -> &[u32] {
        match self {
            Self::Started(started) => from_ref(&started.condition),
            Self::Block(block) => from_ref(&block.condition),
            Self::Load(load) => &load.conditions,
            Self::Why(why) => from_ref(&why.condition),
            Self::Watched(watched) => from_ref(&watched.condition),
            Self::Finished(finished) => from_ref(&finished.condition),
            Self::Header(_)
            | Self::Condition(_)
            | Self::Program(_)
            | Self::Caveat(_)
            | Self::Resumed(_)
            | Self::Mark(_)
            | Self::Snap(_)
            | Self::Timeline(_)
            | Self::Source(_)
            | Self::Boot(_)
            | Self::BootEnded(_)
            | Self::Incident(_)
            | Self::Minute(_)
            | Self::End(_) => &[],
        }
    }

    /// The round that it belongs to; `None` if it belongs to the whole run.
    pub const fn round(&self) -> Option<u32> {
        match self {
            Self::Started(started) => Some(started.round),
            Self::Block(block) => Some(block.round),
            Self::Load(load) => Some(load.round),
            Self::Why(why) => Some(why.round),
            Self::Finished(finished) => Some(finished.round),
            Self::Header(_)
            | Self::Condition(_)
            | Self::Watched(_)
            | Self::Program(_)
            | Self::Caveat(_)
            | Self::Resumed(_)
            | Self::Mark(_)
            | Self::Snap(_)
            | Self::Timeline(_)
            | Self::Source(_)
            | Self::Boot(_)
            | Self::BootEnded(_)
            | Self::Incident(_)
            | Self::Minute(_)
            | Self::End(_) => None,
        }
    }

    /// The turns that it belongs to, as condition and round; empty if it belongs to the whole run.
    pub fn turns(&self) -> impl Iterator<Item = (u32, u32)> {
        let of = |round| self.conditions().iter().map(move |condition| (*condition, round));
        self.round().into_iter().flat_map(of)
    }

    /// Calls `change` for every reference.
    pub fn visit_mut(&mut self, change: &mut impl FnMut(Reference<'_>)) {
        use Reference::{Boot, Condition, Moved, Round, Time};
        match self {
            Self::Header(header) => change(Time(&mut header.at)),
            Self::Started(started) => {
                change(Condition(&mut started.condition));
                change(Round(&mut started.round));
                change(Time(&mut started.at));
            }
            Self::Block(block) => {
                change(Condition(&mut block.condition));
                change(Round(&mut block.round));
                change(Time(&mut block.from));
                change(Time(&mut block.until));
                block.worst.iter_mut().for_each(|worst| change(Time(&mut worst.at)));
            }
            Self::Load(load) => {
                load.conditions.iter_mut().for_each(|condition| change(Condition(condition)));
                change(Round(&mut load.round));
                change(Time(&mut load.from));
                change(Time(&mut load.until));
            }
            Self::Why(why) => {
                change(Condition(&mut why.condition));
                change(Round(&mut why.round));
                change(Round(&mut why.beside));
                change(Time(&mut why.from));
                change(Time(&mut why.until));
                why.ledger.shift(|time| change(Time(time)));
            }
            Self::Watched(watched) => {
                change(Condition(&mut watched.condition));
                change(Time(&mut watched.from));
                change(Time(&mut watched.until));
                let event_loop = watched.event_loop.iter_mut();
                event_loop
                    .flat_map(|of| &mut of.longest)
                    .for_each(|iteration| change(Time(&mut iteration.at)));
                watched.ledgers().for_each(|ledger| ledger.shift(|time| change(Time(time))));
            }
            Self::Finished(finished) => {
                change(Condition(&mut finished.condition));
                change(Round(&mut finished.round));
                change(Time(&mut finished.at));
            }
            Self::Mark(mark) => change(Time(&mut mark.at)),
            Self::Snap(snap) => change(Time(&mut snap.at_ns)),
            Self::Timeline(timeline) => {
                change(Time(&mut timeline.from));
                change(Time(&mut timeline.until));
                for late in &mut timeline.late {
                    change(Condition(&mut late.condition));
                    change(Time(&mut late.wakeup.at));
                    late.wakeup.parts.iter_mut().for_each(|part| change(Time(&mut part.from)));
                }
            }
            Self::Resumed(resumed) => change(Time(&mut resumed.at)),
            Self::Source(source) => {
                change(Time(&mut source.at));
                change(Moved(&mut source.moved_by_ns));
            }
            Self::Boot(boot) => {
                change(Boot(&mut boot.boot));
                change(Round(&mut boot.first_round));
                change(Time(&mut boot.at));
                change(Moved(&mut boot.moved_by_ns));
            }
            Self::BootEnded(ended) => change(Boot(&mut ended.boot)),
            Self::Incident(incident) => {
                change(Time(&mut incident.at_ns));
                incident.parts.iter_mut().for_each(|part| change(Time(&mut part.from)));
            }
            Self::Minute(minute) => {
                change(Time(&mut minute.from));
                change(Time(&mut minute.until));
            }
            Self::End(end) => change(Time(&mut end.at)),
            Self::Condition(_) | Self::Program(_) | Self::Caveat(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Latency, LoadBlock, TurnFinished, WorstWakeup};

    fn load(conditions: &[u32]) -> Line {
        let (conditions, at) = (conditions.to_vec(), MonotonicTime::from_nanos(5));
        let (from, until, round) = (at, at, 3);
        Line::Load(LoadBlock {
            conditions,
            round,
            from,
            until,
            parts: vec![],
            context_switches: None,
            interrupts: None,
            idle_entries: Vec::new(),
        })
    }

    #[test]
    fn a_load_belongs_to_the_turns_of_all_conditions_beside_it() {
        assert_eq!(load(&[4, 7]).turns().collect::<Vec<_>>(), [(4, 3), (7, 3)]);
        assert_eq!(load(&[]).turns().next(), None);
    }

    #[test]
    fn what_is_changed_is_what_is_referred_to() {
        let worst = vec![WorstWakeup { at: MonotonicTime::from_nanos(5), latency: Latency::default() }];
        let at = MonotonicTime::from_nanos(5);
        let finished = TurnFinished {
            condition: 1,
            round: 2,
            at,
            usage: None,
            unfinished: false,
            load: None,
            error: None,
        };
        let block = Block { condition: 1, round: 2, worst, ..Block::default() };
        for (mut line, times) in
            [(Line::Block(Box::new(block)), 3), (Line::Finished(finished), 1), (load(&[1]), 2)]
        {
            let mut seen = 0;
            line.visit_mut(&mut |reference| match reference {
                Reference::Condition(condition) => *condition += 10,
                Reference::Round(round) => *round += 20,
                Reference::Time(_) => seen += 1,
                Reference::Boot(_) | Reference::Moved(_) => panic!("no line on a machine"),
            });
            assert_eq!((line.conditions(), seen), (&[11][..], times), "{line:?}");
            assert!(line.round() >= Some(22));
        }
    }
}
