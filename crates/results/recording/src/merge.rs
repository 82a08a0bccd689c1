//! Merging of recordings.
//!
//! Each source, such as a guest's boot or a machine of a fleet, has conditions and rounds counted from 0 and times of
//! its own clock. In the merged recording, lines refer to the merged conditions, rounds continue from source to
//! source, and times are on one clock. Pure.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use howlate_model::{Condition, Line, MonotonicTime, Policy, Reference, TurnStarted};

/// Renumbers the lines of one source after the other.
#[derive(Debug, Default)]
pub struct LineMerger {
    /// Conditions of the merged recording.
    conditions: Vec<Condition>,
    /// Indices of conditions by hash, ascending.
    places: HashMap<u64, Vec<u32>>,
    hashing: RandomState,
    /// State of each condition.
    states: Vec<MergedCondition>,
    /// Boots of all previous sources.
    boots: u32,
    source: MergeSource,
}

/// State of a merged condition.
#[derive(Clone, Copy, Debug, Default)]
struct MergedCondition {
    next_round: u32,
    /// Effective policy of the first turn: conditions with another one are kept apart.
    ran: Option<Policy>,
}

/// Renumbering of the current source.
#[derive(Clone, Debug, Default)]
struct MergeSource {
    /// Merged index of each of its conditions.
    conditions: Vec<u32>,
    first_round: u32,
    moved_by: i64,
    /// Its boots so far.
    boots: u32,
}

/// A source's condition is missing in the merged recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCondition(pub Box<Condition>);

/// Conditions of several sources, the first of each, then the second of each, so that comparable ones are neighbours.
pub fn side_by_side(sources: &[Vec<Condition>]) -> Vec<Condition> {
    let most = sources.iter().map(Vec::len).max().unwrap_or(0);
    (0..most).flat_map(|place| sources.iter().filter_map(move |source| source.get(place).cloned())).collect()
}

impl LineMerger {
    /// Starts with these conditions.
    pub fn into_conditions(conditions: Vec<Condition>) -> Self {
        let mut merge = Self::default();
        for condition in conditions {
            merge.add(condition);
        }
        merge
    }

    /// Conditions of the merged recording.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// Adds a condition, even if an equal one exists; returns its index.
    fn add(&mut self, condition: Condition) -> u32 {
        let index = u32::try_from(self.conditions.len()).unwrap_or(u32::MAX);
        self.places.entry(self.hashing.hash_one(&condition)).or_default().push(index);
        self.conditions.push(condition);
        self.states.push(MergedCondition::default());
        index
    }

    /// Indices of conditions by hash, ascending.
    fn equal_to(&self, condition: &Condition) -> impl Iterator<Item = u32> {
        let alike = self.places.get(&self.hashing.hash_one(condition)).into_iter().flatten().copied();
        alike.filter(move |place| self.conditions[*place as usize] == *condition)
    }

    /// Starts a source with these `conditions`, named as in the merged recording; `moved_by` nanoseconds are added to
    /// its times. Returns its first round.
    ///
    /// # Errors
    ///
    /// When one of them is missing in the merged recording.
    pub fn begin(&mut self, conditions: &[Condition], moved_by: i64) -> Result<u32, UnknownCondition> {
        // Number of equal conditions so far, by the first index.
        let mut seen: HashMap<Option<u32>, usize> = HashMap::new();
        let mut indices = Vec::with_capacity(conditions.len());
        for condition in conditions {
            let mut equal_conditions = self.equal_to(condition).peekable();
            let before = seen.entry(equal_conditions.peek().copied()).or_default();
            let place = equal_conditions.nth(*before);
            indices.push(place.ok_or_else(|| UnknownCondition(Box::new(condition.clone())))?);
            *before = before.saturating_add(1);
        }
        self.boots = self.boots.saturating_add(self.source.boots);
        let next_round = |place: &u32| self.states[*place as usize].next_round;
        let first_round = indices.iter().map(next_round).max().unwrap_or(0);
        self.source = MergeSource { conditions: indices, first_round, moved_by, boots: 0 };
        Ok(first_round)
    }

    /// A line of the current source renumbered, preceded by new conditions if needed. Lines without a
    /// condition stay as they are.
    pub fn lines(&mut self, line: Line) -> impl Iterator<Item = Line> + use<> {
        let before = self.conditions.len();
        let line = match line {
            Line::Condition(condition) => {
                self.add_late_condition(*condition);
                None
            }
            Line::Started(started) => {
                self.keep_apart(&started);
                Some(self.line(Line::Started(started)))
            }
            line => Some(self.line(line)),
        };
        let added: Vec<Line> = self.conditions[before..]
            .iter()
            .map(|condition| Line::Condition(Box::new(condition.clone())))
            .collect();
        added.into_iter().chain(line)
    }

    /// Adds a condition that the source's header lacked: an equal one that the source does not use yet, or a new one.
    fn add_late_condition(&mut self, condition: Condition) {
        let free = self.equal_to(&condition).find(|place| !self.source.conditions.contains(place));
        let place = free.unwrap_or_else(|| self.add(condition));
        self.source.conditions.push(place);
    }

    /// A refused policy in one source and a granted one in another are different conditions.
    fn keep_apart(&mut self, started: &TurnStarted) {
        let (index, policy) = (self.merged(started.condition), started.in_force.policy);
        let Some(condition) = self.conditions.get(index as usize).cloned() else { return };
        let suits = |state: &MergedCondition| state.ran.is_none_or(|other| other == policy);
        if !suits(&self.states[index as usize]) {
            let free = self
                .equal_to(&condition)
                .filter(|place| !self.source.conditions.contains(place))
                .find(|place| suits(&self.states[*place as usize]));
            let place = free.unwrap_or_else(|| self.add(condition));
            self.source.conditions[started.condition as usize] = place;
        }
        let place = self.merged(started.condition);
        self.states[place as usize].ran = Some(policy);
    }

    /// Renumbers a line that needs no new condition.
    pub fn line(&mut self, mut line: Line) -> Line {
        line.visit_mut(&mut |reference| match reference {
            Reference::Condition(condition) => *condition = self.merged(*condition),
            Reference::Round(round) => *round = self.round(*round),
            Reference::Boot(boot) => *boot = self.boot(*boot),
            Reference::Time(time) => *time = MonotonicTime::from_nanos(self.moved(time.as_nanos())),
            Reference::Moved(by) => *by = self.moved(*by),
        });
        for (condition, round) in line.turns() {
            if let Some(state) = self.states.get_mut(condition as usize) {
                state.next_round = state.next_round.max(round.saturating_add(1));
            }
        }
        line
    }

    /// Conditions that the source's header lacks, as in a damaged recording, get an invalid index.
    fn merged(&self, of_source: u32) -> u32 {
        self.source.conditions.get(of_source as usize).copied().unwrap_or(u32::MAX)
    }

    const fn round(&self, of_source: u32) -> u32 {
        of_source.saturating_add(self.source.first_round)
    }

    /// Boots continue from source to source.
    fn boot(&mut self, of_source: u32) -> u32 {
        self.source.boots = self.source.boots.max(of_source.saturating_add(1));
        of_source.saturating_add(self.boots)
    }

    const fn moved(&self, nanoseconds: i64) -> i64 {
        nanoseconds.saturating_add(self.source.moved_by)
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::{Block, Span, Wait, Work};

    use super::*;

    fn condition(kernel: &str, period: u64) -> Condition {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_micros(period) };
        Condition::new(work, kernel)
    }

    fn source(kernel: &str) -> Vec<Condition> {
        [1_000, 2_000].map(|period| condition(kernel, period)).into()
    }

    fn block(condition: u32, round: u32, from: i64) -> Line {
        let from_ns = MonotonicTime::from_nanos(from);
        Line::Block(Box::new(Block { condition, round, from: from_ns, until: from_ns, ..Block::default() }))
    }

    /// Condition, round and time of a line after merging.
    fn place(line: Line) -> (u32, u32, i64) {
        let Line::Block(block) = line else { panic!("a block stays a block") };
        (block.condition, block.round, block.from.as_nanos())
    }

    #[test]
    fn what_is_compared_stands_side_by_side() {
        let found: Vec<_> = side_by_side(&[source("6.1"), source("6.1-rt")])
            .into_iter()
            .map(|condition| (condition.work.length().to_string(), condition.kernel))
            .collect();
        let expected = [("1ms", "6.1"), ("1ms", "6.1-rt"), ("2ms", "6.1"), ("2ms", "6.1-rt")];
        assert_eq!(found, expected.map(|(length, kernel)| (length.to_owned(), kernel.to_owned())));
    }

    #[test]
    fn rounds_go_on_and_times_move_to_one_clock() {
        // source    6.1      6.1-rt   6.1-rt
        // moved by  9_500    19_300   29_100
        let (stock, rt) = (source("6.1"), source("6.1-rt"));
        let mut merge = LineMerger::into_conditions(side_by_side(&[stock.clone(), rt.clone()]));
        assert_eq!(merge.begin(&stock, 9_500), Ok(0));
        assert_eq!(place(merge.line(block(1, 0, 600))), (2, 0, 10_100));
        assert_eq!(place(merge.line(block(1, 1, 800))), (2, 1, 10_300));
        assert_eq!(merge.begin(&rt, 19_300), Ok(0));
        assert_eq!(place(merge.line(block(0, 0, 700))), (1, 0, 20_000));
        assert_eq!(merge.begin(&rt, 29_100), Ok(1));
        assert_eq!(place(merge.line(block(1, 0, 900))), (3, 1, 30_000));
    }

    #[test]
    fn sources_may_have_conditions_in_common_or_twice() {
        let twice = vec![condition("6.1", 1_000), condition("6.1", 1_000)];
        let mut merge = LineMerger::into_conditions(twice.clone());
        assert_eq!(merge.begin(&twice, 0), Ok(0));
        assert_eq!([0, 1].map(|condition| place(merge.line(block(condition, 0, 5))).0), [0, 1]);
        assert_eq!(merge.begin(&twice[..1], 0), Ok(1));
        assert_eq!(place(merge.line(block(0, 0, 5))), (0, 1, 5));
    }

    #[test]
    fn a_condition_that_is_nowhere_is_named() {
        let mut merge = LineMerger::into_conditions(source("6.1"));
        let other = condition("6.1", 3_000);
        assert_eq!(merge.begin(std::slice::from_ref(&other), 0), Err(UnknownCondition(Box::new(other))));
    }
}
