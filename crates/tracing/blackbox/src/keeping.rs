//! Whether the disk takes what is recorded. It may refuse, and take it again, in the middle of the night.

use howlate_model::{AsText, WriteFailure};
use howlate_recording::{Account, Loss};

/// What whoever records is told as soon as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskNews {
    /// From here on lines are lost.
    Refuses(Loss),
    /// Lines reach the disk again.
    TakesAgain {
        /// How many were lost until then.
        lost: u64,
    },
}

/// What has become of all lines.
#[derive(Debug, Default)]
pub(crate) struct Keeping {
    all: Option<Loss>,
    /// Of those, how many a line that was written has told of.
    told: u64,
    /// Lines lost since the disk began to refuse; `None`: it does not.
    refusing: Option<u64>,
}

impl Keeping {
    pub(crate) fn take(&mut self, account: Account) -> Option<DiskNews> {
        match (account.loss, self.refusing) {
            (Some(loss), before) => {
                let lines = loss.lines;
                self.add(&loss);
                self.refusing = Some(before.unwrap_or(0).saturating_add(lines));
                before.is_none().then_some(DiskNews::Refuses(loss))
            }
            (None, Some(lost)) if account.confirmed > 0 => {
                self.refusing = None;
                Some(DiskNews::TakesAgain { lost })
            }
            (None, _) => None,
        }
    }

    fn add(&mut self, loss: &Loss) {
        let all = self.all.get_or_insert_with(|| Loss { lines: 0, reason: loss.reason.clone() });
        all.lines = all.lines.saturating_add(loss.lines);
    }

    pub(crate) const fn is_refusing(&self) -> bool {
        self.refusing.is_some()
    }

    /// Lines that are missing, and that no line tells of.
    pub(crate) fn untold(&self) -> u64 {
        self.all.as_ref().map_or(0, |all| all.lines).saturating_sub(self.told)
    }

    /// A line that tells of so many was written.
    pub(crate) const fn told(&mut self, lines: u64) {
        self.told = self.told.saturating_add(lines);
    }

    /// Lines that are missing, and why the first of them is.
    pub(crate) fn all(&self) -> (u64, Option<AsText<WriteFailure>>) {
        self.all.as_ref().map_or((0, None), |all| (all.lines, Some(all.reason.clone())))
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::OsError;

    use super::*;

    fn lost(lines: u64) -> Account {
        Account { confirmed: 0, loss: Some(Loss { lines, reason: WriteFailure::Os(OsError(5)).into() }) }
    }

    // lost    2  3  -  -  4
    // written -  -  -  7  -
    //         ^        ^  ^    told
    #[test]
    fn it_is_told_when_the_disk_begins_to_refuse_and_when_it_takes_lines_again() {
        let mut keeping = Keeping::default();
        let Some(DiskNews::Refuses(first)) = keeping.take(lost(2)) else { panic!("{keeping:?}") };
        assert_eq!((first.lines, keeping.take(lost(3))), (2, None));
        assert_eq!(keeping.take(Account::default()), None, "nothing was written");
        assert!(keeping.is_refusing());
        let written = Account { confirmed: 7, loss: None };
        assert_eq!(keeping.take(written.clone()), Some(DiskNews::TakesAgain { lost: 5 }));
        assert_eq!((keeping.is_refusing(), keeping.take(written)), (false, None));
        assert!(matches!(keeping.take(lost(4)), Some(DiskNews::Refuses(_))));
        assert_eq!(keeping.all().0, 9);
    }

    #[test]
    fn what_a_minute_has_told_is_not_told_again() {
        let mut keeping = Keeping::default();
        keeping.take(lost(2));
        assert_eq!(keeping.untold(), 2);
        keeping.told(2);
        keeping.take(lost(1));
        assert_eq!(keeping.untold(), 1);
    }
}
