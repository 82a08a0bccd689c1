//! Counts late wake-ups, where those that come together count once.

use howlate_model::{Block, Latency, MonotonicTime, Span, WORST_KEPT};

/// Shortest spell in which late wake-ups count once: longer than one cause usually lasts, and than recorded blocks, which list only
/// their largest latencies.
const SHORTEST_SPELL: Span = Span::from_secs(1);
/// Longest spell: what is further apart has not come together, however rare events are to be.
const LONGEST_SPELL: Span = Span::from_secs(60);
/// How many spells fit into the time in which one event is allowed: enough that a machine that is always late is found out soon, but
/// few enough that one that drifts for a while is not counted again and again.
const SPELLS_PER_INTERVAL: u64 = 8;

/// The slowest change of a rate that decisions cover, if one event is allowed per `interval`: two fifths of a spell. In simulation
/// (`cargo xtask bench statistics`) decisions hold where a level wanders over 5 s and spells last 12 s; where it wanders over as much as a
/// spell, one in seven is wrong.
pub fn slowest_change(interval: Span) -> Span {
    Span::from_nanos(spell(interval).as_nanos() / 5 * 2)
}

/// The shortest time in which one event may be allowed: with less, spells would be shorter than many disturbances.
pub(crate) const LEAST_INTERVAL: Span = Span::from_secs(20);

/// Length of a spell if one event is allowed per `interval`.
pub(crate) fn spell(interval: Span) -> Span {
    Span::from_nanos(interval.as_nanos() / SPELLS_PER_INTERVAL).clamp(SHORTEST_SPELL, LONGEST_SPELL)
}

/// Spells in which wake-ups were later than a limit. A spell begins with a late wake-up and has a fixed length: a machine that is
/// always late has one spell after the other.
#[derive(Clone, Debug)]
pub(crate) struct Exceedances {
    limit: Latency,
    spell: Span,
    spell_began: Option<MonotonicTime>,
    /// Spells counted.
    pub(crate) seen: u64,
    /// Spells that may have occurred besides: among lost wake-ups, or among those that blocks do not list.
    pub(crate) hidden: u64,
    /// The time that was measured.
    pub(crate) covered: Span,
}

impl Exceedances {
    /// Counts wake-ups later than `limit`, in spells of this length.
    pub(crate) fn later_than(limit: Span, spell: Span) -> Self {
        let limit = Latency::from_nanos(i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX));
        Self { limit, spell, spell_began: None, seen: 0, hidden: 0, covered: Span::ZERO }
    }

    /// Takes in the next block.
    pub(crate) fn add(&mut self, block: &Block) {
        let lasted = block.until.since(block.from);
        self.covered = self.covered.plus(lasted);
        let mut late: Vec<MonotonicTime> =
            block.worst.iter().filter(|wakeup| wakeup.latency > self.limit).map(|wakeup| wakeup.at).collect();
        late.sort_unstable();
        // Blocks list the largest latencies only, which makes no difference in a block no longer than a spell.
        if late.len() >= WORST_KEPT {
            self.add_hidden(lasted.as_nanos() / self.spell.plus(Span::from_nanos(1)).as_nanos());
        }
        late.into_iter().for_each(|at| self.add_late(at));
        self.add_hidden(u64::from(block.lost > 0));
    }

    const fn add_hidden(&mut self, spells: u64) {
        self.hidden = self.hidden.saturating_add(spells);
    }

    fn add_late(&mut self, at: MonotonicTime) {
        if self.spell_began.is_none_or(|began| at.since(began) >= self.spell) {
            self.spell_began = Some(at);
            self.seen = self.seen.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::WorstWakeup;

    const MILLI: i64 = 1_000_000;

    /// A block of a second with late wake-ups: (milliseconds in the block, microseconds late).
    fn block(second: i64, late: &[(i64, i64)]) -> Block {
        let from = MonotonicTime::from_nanos(second * 1_000 * MILLI);
        let worst = |(at, micros): &(i64, i64)| WorstWakeup {
            at: MonotonicTime::from_nanos((second * 1_000 + at) * MILLI),
            latency: Latency::from_nanos(micros * 1_000),
        };
        let mut worst: Vec<WorstWakeup> = late.iter().map(worst).collect();
        worst.sort_by_key(|wakeup| std::cmp::Reverse(wakeup.latency));
        Block { from, until: from.plus(Span::from_secs(1)), worst, ..Block::default() }
    }

    fn count(blocks: &[Block]) -> Exceedances {
        let mut all = Exceedances::later_than(Span::from_micros(100), SHORTEST_SPELL);
        for block in blocks {
            all.add(block);
        }
        all
    }

    /// Where a level wanders over 60 s, one in seven decisions about one event in 750 s is wrong.
    #[test]
    fn a_change_as_long_as_a_spell_is_not_covered() {
        for seconds in [20, 106, 750, 3_600] {
            let interval = Span::from_secs(seconds);
            assert!(slowest_change(interval) < Span::from_nanos(spell(interval).as_nanos() / 2), "{seconds}");
        }
        assert!(slowest_change(Span::from_secs(106)) > Span::from_secs(5));
    }

    #[test]
    fn late_ones_that_come_together_are_one_event() {
        // 0        1000       2000       3000      a spell is 1000
        // |    ^^^ | ^        |     ^    | ^
        //      one event            another
        let blocks = [
            block(0, &[(600, 200), (601, 900), (602, 150), (100, 99)]),
            block(1, &[(200, 101), (300, 100)]),
            block(2, &[(200, 500)]),
            block(3, &[(100, 500)]),
        ];
        let all = count(&blocks);
        assert_eq!((all.seen, all.hidden, all.covered), (2, 0, Span::from_secs(4)));
    }

    /// Never a second apart, and still no single event.
    #[test]
    fn who_is_late_all_the_time_has_one_spell_after_the_other() {
        let blocks: Vec<Block> = (0..100).map(|second| block(second, &[(0, 200), (900, 200)])).collect();
        assert_eq!(count(&blocks).seen, 100);
    }

    #[test]
    fn spells_are_short_beside_what_is_allowed() {
        for (interval, expected) in [(1, 1), (8, 1), (64, 8), (480, 60), (3_600, 60), (86_400, 60)] {
            assert_eq!(spell(Span::from_secs(interval)), Span::from_secs(expected));
        }
        assert_eq!(spell(LEAST_INTERVAL), Span::from_millis(2_500));
    }

    #[test]
    fn what_was_not_seen_may_have_been_late() {
        let lost = Block { lost: 3, ..block(0, &[(5, 20)]) };
        let all = count(&[lost, block(5, &[(5, 200)])]);
        assert_eq!((all.seen, all.hidden), (1, 1));
    }

    #[test]
    fn a_long_block_that_names_only_the_worst_may_hide_events() {
        let many: Vec<(i64, i64)> = (0..10).map(|at| (at, 200)).collect();
        assert_eq!(count(&[block(0, &many)]).hidden, 0);
        let mut long = block(0, &many);
        long.until = long.from.plus(Span::from_secs(60));
        assert_eq!((count(&[long.clone()]).seen, count(&[long]).hidden), (1, 59));
    }
}
