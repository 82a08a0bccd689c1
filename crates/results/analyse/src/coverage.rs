//! How slow a change a run can say anything of.
//!
//! Whatever is said of one run with a confidence is taken from how much its stretches differ. Of a state that lasts longer than the run
//! none of them knows: a machine that is now fast and now slow, for a minute each, looks steady to most runs of ten seconds, and no rule
//! that reads only such a run can tell it from one that is. So what is said is said of changes that the run saw often enough, and of no
//! others.

use howlate_model::Span;

/// What changes is to be seen so many times. Found by simulation (`cargo xtask bench statistics`): of the statements that are made of a level that wanders over
/// a thirtieth of the run, one in six of those about p99 is wrong, of a hundredth one in twenty.
const TIMES: u64 = 100;

/// The slowest change that is covered by what is said of a run that lasted so long.
pub const fn slowest_covered(run: Span) -> Span {
    Span::from_nanos(run.as_nanos() / TIMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_says_nothing_of_what_lasts_for_seconds() {
        assert_eq!(slowest_covered(Span::from_secs(60)), Span::from_millis(600));
        assert_eq!(slowest_covered(Span::ZERO), Span::ZERO);
    }
}
