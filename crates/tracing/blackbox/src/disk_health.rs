//! Whether lines reach the disk. Writing may fail and work again at any time.

use howlate_model::{AsText, WriteFailure};
use howlate_recording::{LostLines, WriteStatus};

/// A change that the user is informed of at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskEvent {
    /// Lines are lost from now on.
    WriteFailed(LostLines),
    /// Lines reach the disk again.
    Recovered {
        /// Lines lost in between.
        lost: u64,
    },
}

#[derive(Debug, Default)]
pub(crate) struct DiskHealth {
    all: Option<LostLines>,
    /// Lost lines that a written line reported.
    reported: u64,
    /// Lines lost since writing failed; `None` while it works.
    failing: Option<u64>,
}

impl DiskHealth {
    pub(crate) fn take(&mut self, account: WriteStatus) -> Option<DiskEvent> {
        match (account.loss, self.failing) {
            (Some(loss), before) => {
                let lines = loss.lines;
                self.add(&loss);
                self.failing = Some(before.unwrap_or(0).saturating_add(lines));
                before.is_none().then_some(DiskEvent::WriteFailed(loss))
            }
            (None, Some(lost)) if account.confirmed > 0 => {
                self.failing = None;
                Some(DiskEvent::Recovered { lost })
            }
            (None, _) => None,
        }
    }

    fn add(&mut self, loss: &LostLines) {
        let all = self.all.get_or_insert_with(|| LostLines { lines: 0, reason: loss.reason.clone() });
        all.lines = all.lines.saturating_add(loss.lines);
    }

    pub(crate) const fn is_failing(&self) -> bool {
        self.failing.is_some()
    }

    /// Lost lines that no line has reported yet.
    pub(crate) fn unreported_lines(&self) -> u64 {
        self.all.as_ref().map_or(0, |all| all.lines).saturating_sub(self.reported)
    }

    /// A line that reports `lines` lost ones was written.
    pub(crate) const fn report(&mut self, lines: u64) {
        self.reported = self.reported.saturating_add(lines);
    }

    /// All lost lines, and the reason for the first.
    pub(crate) fn all(&self) -> (u64, Option<AsText<WriteFailure>>) {
        self.all.as_ref().map_or((0, None), |all| (all.lines, Some(all.reason.clone())))
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::OsError;

    use super::*;

    fn lost(lines: u64) -> WriteStatus {
        WriteStatus {
            confirmed: 0,
            loss: Some(LostLines { lines, reason: WriteFailure::Os(OsError(5)).into() }),
        }
    }

    // lost    2  3  -  -  4
    // written -  -  -  7  -
    //         ^        ^  ^    event
    #[test]
    fn it_is_told_when_the_disk_begins_to_refuse_and_when_it_takes_lines_again() {
        let mut disk = DiskHealth::default();
        let Some(DiskEvent::WriteFailed(first)) = disk.take(lost(2)) else { panic!("{disk:?}") };
        assert_eq!((first.lines, disk.take(lost(3))), (2, None));
        assert_eq!(disk.take(WriteStatus::default()), None, "nothing was written");
        assert!(disk.is_failing());
        let written = WriteStatus { confirmed: 7, loss: None };
        assert_eq!(disk.take(written.clone()), Some(DiskEvent::Recovered { lost: 5 }));
        assert_eq!((disk.is_failing(), disk.take(written)), (false, None));
        assert!(matches!(disk.take(lost(4)), Some(DiskEvent::WriteFailed(_))));
        assert_eq!(disk.all().0, 9);
    }

    #[test]
    fn what_a_minute_has_told_is_not_told_again() {
        let mut disk = DiskHealth::default();
        disk.take(lost(2));
        assert_eq!(disk.unreported_lines(), 2);
        disk.report(2);
        disk.take(lost(1));
        assert_eq!(disk.unreported_lines(), 1);
    }
}
