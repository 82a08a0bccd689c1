//! How long turns really take. A plan does not know how long loads and threads take to start and to stop.

use howlate_model::Span;

/// Planned and actual time of all finished turns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    planned: Span,
    took: Span,
}

impl Pace {
    /// Adds a finished turn. A skipped turn is ignored.
    pub(crate) fn turn_took(&mut self, planned: Span, took: Span) {
        if took.times(2) >= planned {
            (self.planned, self.took) = (self.planned.plus(planned), self.took.plus(took));
        }
    }

    /// How long `planned` will take at the pace so far.
    pub(crate) fn takes(self, planned: Span) -> Span {
        let product = u128::from(planned.as_nanos()) * u128::from(self.took.as_nanos());
        match product.checked_div(u128::from(self.planned.as_nanos())) {
            Some(nanos) => Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)),
            None => planned,
        }
    }

    /// Actual time of all finished turns.
    pub(crate) const fn took(self) -> Span {
        self.took
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_takes_as_much_longer_as_what_is_over_did() {
        let mut pace = Pace::default();
        let seconds = Span::from_secs;
        assert_eq!(pace.takes(seconds(10)), seconds(10), "nothing is known yet");
        pace.turn_took(seconds(2), seconds(3));
        assert_eq!((pace.takes(seconds(10)), pace.took()), (seconds(15), seconds(3)));
        pace.turn_took(seconds(2), Span::ZERO);
        assert_eq!(pace.takes(seconds(10)), seconds(15), "one that was left out tells nothing");
    }
}
