//! How long turns really take: with the time that loads and threads need to begin and to end, which no plan knows.

use howlate_model::Span;

/// The turns that are over: what was planned for them, and what they took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    planned: Span,
    took: Span,
}

impl Pace {
    /// A turn is over. One that was left out tells nothing.
    pub(crate) fn turn_took(&mut self, planned: Span, took: Span) {
        if took.times(2) >= planned {
            (self.planned, self.took) = (self.planned.plus(planned), self.took.plus(took));
        }
    }

    /// What `planned` takes at the pace of the turns so far.
    pub(crate) fn takes(self, planned: Span) -> Span {
        let product = u128::from(planned.as_nanos()) * u128::from(self.took.as_nanos());
        match product.checked_div(u128::from(self.planned.as_nanos())) {
            Some(nanos) => Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)),
            None => planned,
        }
    }

    /// What the turns that are over took.
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
