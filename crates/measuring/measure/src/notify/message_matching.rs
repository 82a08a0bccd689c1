//! Matches arrivals with messages.

use std::collections::HashSet;

use howlate_model::IrregularMessages;

/// Tracks the message numbers that arrive; messages are numbered from 1.
#[derive(Default)]
pub(crate) struct MessageMatching {
    /// The highest number that arrived.
    highest: u64,
    /// Lower numbers that have not arrived.
    missing: HashSet<u64>,
    irregular: IrregularMessages,
}

impl MessageMatching {
    /// Records an arrival; `sent` messages exist. Returns whether it arrived in order and for
    /// the first time, so that its stamp is a measurement.
    pub(crate) fn record(&mut self, number: u64, sent: u64) -> bool {
        if number > self.highest && number <= sent {
            self.missing.extend(self.highest + 1..number);
            self.highest = number;
            return true;
        }
        if self.missing.remove(&number) {
            self.irregular.messages_reordered += 1;
        } else {
            self.irregular.messages_duplicated += 1;
        }
        false
    }

    /// Final counts of irregular messages, given that `sent` messages exist.
    pub(crate) fn irregular(&self, sent: u64) -> IrregularMessages {
        let lost = self.missing.len() as u64 + sent.saturating_sub(self.highest);
        IrregularMessages { messages_lost: lost, ..self.irregular }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arrivals: &[u64], matched: &[u64], lost: u64, duplicated: u64, reordered: u64) {
        let mut matching = MessageMatching::default();
        let sent = 5;
        let accepted: Vec<u64> =
            arrivals.iter().copied().filter(|number| matching.record(*number, sent)).collect();
        assert_eq!(accepted, matched);
        let expected = IrregularMessages {
            messages_lost: lost,
            messages_duplicated: duplicated,
            messages_reordered: reordered,
        };
        assert_eq!(matching.irregular(sent), expected);
    }

    #[test]
    fn irregular_arrivals_are_counted_and_not_matched() {
        check(&[1, 2, 3, 4, 5], &[1, 2, 3, 4, 5], 0, 0, 0);
        check(&[1, 2, 4, 5], &[1, 2, 4, 5], 1, 0, 0);
        check(&[1, 2, 3], &[1, 2, 3], 2, 0, 0);
        check(&[1, 2, 2, 3, 4, 5, 5], &[1, 2, 3, 4, 5], 0, 2, 0);
        check(&[1, 3, 2, 4, 5], &[1, 3, 4, 5], 0, 0, 1);
        check(&[3, 1, 1, 9, 5], &[3, 5], 2, 2, 1);
        check(&[], &[], 5, 0, 0);
    }
}
