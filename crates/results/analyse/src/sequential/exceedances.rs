//! How often late wake-ups come, where those that come together count once.

use howlate_model::{Block, Latency, MonotonicTime, Span, WORST_KEPT};

/// Late wake-ups are counted in spells of at least this: longer than what one cause usually keeps busy, and the blocks that
/// are recorded, which name no more than the worst.
const SHORTEST: Span = Span::from_secs(1);
/// However rare events are to be, what is further apart than this has not come together.
const LONGEST: Span = Span::from_secs(60);
/// How many spells fit into the time in which one event is allowed: so many that who is late all the time is found out soon, so few
/// that a machine that wanders for a while is not counted again and again. In simulation, decisions hold where it forgets within a
/// 10th of that time; with spells of a 20th they do not.
const SPELLS: u64 = 8;

/// The shortest time in which one event may be allowed: spells of less would be shorter than many disturbances.
pub(crate) const LEAST_INTERVAL: Span = Span::from_secs(20);

/// How long a spell is, where one event is allowed in so much time.
pub(crate) fn spell(interval: Span) -> Span {
    Span::from_nanos(interval.as_nanos() / SPELLS).clamp(SHORTEST, LONGEST)
}

/// Spells in which wake-ups were later than a limit, in the time that was measured. A spell begins with a late wake-up and
/// lasts for as long as it always does: who is late all the time has one spell after the other.
#[derive(Clone, Debug)]
pub(crate) struct Exceedances {
    limit: Latency,
    spell: Span,
    began: Option<MonotonicTime>,
    /// Spells that were seen.
    pub(crate) seen: u64,
    /// Spells that there may have been besides: among wake-ups that were lost, or whose times are not told.
    pub(crate) hidden: u64,
    /// The time that was measured.
    pub(crate) covered: Span,
}

impl Exceedances {
    /// Of wake-ups later than `limit`, in spells of this length.
    pub(crate) fn later_than(limit: Span, spell: Span) -> Self {
        let limit = Latency::from_nanos(i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX));
        Self { limit, spell, began: None, seen: 0, hidden: 0, covered: Span::ZERO }
    }

    /// Takes in the next block.
    pub(crate) fn add(&mut self, block: &Block) {
        let lasted = block.until.since(block.from);
        self.covered = self.covered.plus(lasted);
        let mut late: Vec<MonotonicTime> =
            block.worst.iter().filter(|one| one.latency > self.limit).map(|one| one.at).collect();
        late.sort_unstable();
        // Blocks name the worst only. In one that is no longer than a spell it makes no difference.
        if late.len() >= WORST_KEPT {
            self.hide(lasted.as_nanos() / self.spell.plus(Span::from_nanos(1)).as_nanos());
        }
        late.into_iter().for_each(|at| self.late_at(at));
        self.hide(u64::from(block.lost > 0));
    }

    const fn hide(&mut self, spells: u64) {
        self.hidden = self.hidden.saturating_add(spells);
    }

    fn late_at(&mut self, at: MonotonicTime) {
        if self.began.is_none_or(|began| at.since(began) >= self.spell) {
            self.began = Some(at);
            self.seen = self.seen.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::WorstWakeup;

    const MILLI: i64 = 1_000_000;

    /// A block of a second whose wake-ups at these milliseconds were so many microseconds late.
    fn block(second: i64, late: &[(i64, i64)]) -> Block {
        let from = MonotonicTime::from_nanos(second * 1_000 * MILLI);
        let worst = |(at, micros): &(i64, i64)| WorstWakeup {
            at: MonotonicTime::from_nanos((second * 1_000 + at) * MILLI),
            latency: Latency::from_nanos(micros * 1_000),
        };
        let mut worst: Vec<WorstWakeup> = late.iter().map(worst).collect();
        worst.sort_by_key(|one| std::cmp::Reverse(one.latency));
        Block { from, until: from.plus(Span::from_secs(1)), worst, ..Block::default() }
    }

    fn counted(blocks: &[Block]) -> Exceedances {
        let mut all = Exceedances::later_than(Span::from_micros(100), SHORTEST);
        for one in blocks {
            all.add(one);
        }
        all
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
        let all = counted(&blocks);
        assert_eq!((all.seen, all.hidden, all.covered), (2, 0, Span::from_secs(4)));
    }

    /// Never a second apart, and no single event for all that.
    #[test]
    fn who_is_late_all_the_time_has_one_spell_after_the_other() {
        let blocks: Vec<Block> = (0..100).map(|second| block(second, &[(0, 200), (900, 200)])).collect();
        assert_eq!(counted(&blocks).seen, 100);
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
        let all = counted(&[lost, block(5, &[(5, 200)])]);
        assert_eq!((all.seen, all.hidden), (1, 1));
    }

    #[test]
    fn a_long_block_that_names_only_the_worst_may_hide_events() {
        let many: Vec<(i64, i64)> = (0..10).map(|at| (at, 200)).collect();
        assert_eq!(counted(&[block(0, &many)]).hidden, 0);
        let mut long = block(0, &many);
        long.until = long.from.plus(Span::from_secs(60));
        assert_eq!((counted(&[long.clone()]).seen, counted(&[long]).hidden), (1, 59));
    }
}
