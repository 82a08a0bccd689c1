//! How long a turn is: long enough for the numbers that are taken of it, and short, as there are many.

use howlate_analyse::compare::Statistic;
use howlate_model::Span;

/// About so long is a turn, if it need not be longer to hold enough wake-ups.
pub(crate) const TURN: Span = Span::from_millis(150);

/// How many wake-ups that take `each` a turn of howlate's own threads has. A tenth more than the goal takes, because late
/// wake-ups may swallow others.
pub fn wakeups_per_turn(each: Span, goal: Statistic) -> u64 {
    let least = (goal.least() * 11 / 10).max(20);
    (TURN.as_nanos() / each.as_nanos().max(1)).clamp(least, 2_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_holds_enough_for_its_goal_and_is_short() {
        assert_eq!(wakeups_per_turn(Span::from_millis(1), Statistic::P99), 150);
        assert_eq!(wakeups_per_turn(Span::from_millis(10), Statistic::P99), 110);
        assert_eq!(wakeups_per_turn(Span::from_millis(10), Statistic::P50), 20);
        assert_eq!(wakeups_per_turn(Span::from_micros(10), Statistic::Max), 2_000);
    }
}
